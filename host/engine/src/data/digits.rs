//! `Digits`: 1,797 real handwritten digits that come with the host, so that a run needs no download.
//!
//! "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak, CC BY 4.0; see
//! `host/engine/data/digits/NOTICE`.

use hookrack_plugin_api::prelude::Settings;

use super::{DataSpec, Dataset, SampleBuffer, Split, Target};
use crate::error::Result;
use crate::registry::Component;

/// 64 pixels of 0..16, then the label, a byte each.
static SAMPLES: &[u8] = include_bytes!("../../data/digits/digits.bin");
const PIXELS: usize = 64;
const RECORD: usize = PIXELS + 1;
const BRIGHTEST: u8 = 16;
const VAL_EVERY: usize = 5;

/// 1,797 handwritten digits of 8x8 pixels, built in; pixels are scaled to 0..1.
#[derive(Debug, Clone, Settings)]
pub struct DigitsSettings {
    /// Which samples: every fifth of each class is val, the others are train.
    #[param(default = Split::Train)]
    pub split: Split,
}

impl Component<(), dyn Dataset> for DigitsSettings {
    const NAME: &'static str = "Digits";

    fn build(self, _context: &()) -> Result<Box<dyn Dataset>> {
        Ok(Box::new(Digits::new(self.split)))
    }
}

/// The samples of one split.
#[derive(Debug)]
pub struct Digits {
    records: Vec<&'static [u8]>,
}

impl Digits {
    /// Picks the samples of a split.
    pub fn new(split: Split) -> Self {
        let mut seen = [0_usize; 10];
        let mut chosen = |record: &&'static [u8]| {
            let of_class = &mut seen[usize::from(record[PIXELS])];
            *of_class += 1;
            let is_val = *of_class % VAL_EVERY == 0;
            split == Split::All || is_val == (split == Split::Val)
        };
        Self { records: SAMPLES.chunks_exact(RECORD).filter(|record| chosen(record)).collect() }
    }
}

impl Dataset for Digits {
    fn len(&self) -> usize {
        self.records.len()
    }

    fn spec(&self) -> DataSpec {
        DataSpec { input: vec![1, 8, 8], target: Target::Classes(10) }
    }

    fn brightest(&self) -> u8 {
        BRIGHTEST
    }

    fn read(&self, index: usize, sample: &mut SampleBuffer<'_>) -> Result<()> {
        let (pixels, label) = self.records[index].split_at(PIXELS);
        sample.bytes(pixels);
        sample.class(label.first().copied().map_or(0, i64::from));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_class(split: Split) -> Vec<usize> {
        let mut counts = vec![0; 10];
        for record in Digits::new(split).records {
            counts[usize::from(record[PIXELS])] += 1;
        }
        counts
    }

    #[test]
    fn the_samples_are_the_published_ones() {
        assert_eq!(per_class(Split::All), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
        let first = Digits::new(Split::All).batch(&[0]).unwrap();
        assert_eq!(first.label.int64_value(&[0]), 0);
        assert!((first.input.double_value(&[0, 0, 0, 3]) - 13.0 / 16.0).abs() < 1e-9);
    }

    #[test]
    fn a_fifth_of_each_class_is_val_and_none_is_in_both() {
        let (all, train, val) =
            (per_class(Split::All), per_class(Split::Train), per_class(Split::Val));
        for class in 0..10 {
            assert_eq!(val[class], all[class] / 5);
            assert_eq!(train[class] + val[class], all[class]);
        }
    }

    #[test]
    fn a_batch_keeps_the_order_that_was_asked_for() {
        let digits = Digits::new(Split::Train);
        let batch = digits.batch(&[7, 3]).unwrap();
        assert_eq!((batch.input.size(), batch.rows()), (vec![2, 1, 8, 8], 2));
        let single = digits.batch(&[3]).unwrap();
        assert_eq!(batch.narrow(1, 1).unwrap().input, single.input);
        let error = digits.batch(&[99_999]).unwrap_err().to_string();
        assert_eq!(error, "data: sample 99999 does not exist: the data set has 1442");
    }
}
