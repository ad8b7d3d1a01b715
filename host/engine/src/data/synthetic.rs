//! `Synthetic`: seeded random images and labels of any shape, for benches and dry runs.

use hookrack_plugin_api::prelude::Settings;

use super::prng::Prng;
use super::spec::elements;
use super::{DataSpec, Dataset, SampleBuffer, Target, size};
use crate::error::Result;
use crate::memory;
use crate::registry::Component;

/// Random inputs in 0..1 with random classes or regression targets; a sample depends only on the seed and its index.
#[derive(Debug, Clone, Settings)]
pub struct SyntheticSettings {
    /// Number of samples.
    #[param(default = 1024)]
    pub samples: usize,
    /// Shape of one input.
    #[param(default = [1, 28, 28])]
    pub shape: Vec<i64>,
    /// Number of classes.
    #[param(default = 10, min = 1)]
    pub classes: i64,
    /// Size of a regression target, whose element j is the mean of the inputs j, j + values, …; 0 for random classes.
    #[param(default)]
    pub values: usize,
    /// Seed of the samples.
    #[param(default)]
    pub seed: u64,
    /// Generate all samples once and keep them in memory; otherwise each one is generated every time it is loaded.
    #[param(default)]
    pub in_memory: bool,
}

/// The maximum number of dimensions of an input.
const MOST_SIDES: usize = 7;

impl Component<(), dyn Dataset> for SyntheticSettings {
    const NAME: &'static str = "Synthetic";

    fn build(self, _context: &()) -> Result<Box<dyn Dataset>> {
        if let Some(side) = self.shape.iter().find(|side| **side < 1) {
            return Err(Self::refuse(format!(
                "shape has a dimension of {side}: must be at least 1"
            )));
        }
        if self.shape.len() > MOST_SIDES {
            return Err(Self::refuse(format!("shape has more than {MOST_SIDES} dimensions")));
        }
        let numbers = elements(&self.shape);
        let what = format!("a sample of shape {:?}", self.shape);
        memory::check("shape", what, 4 * numbers as u128)?;
        if self.values > 1 && self.values > numbers {
            return Err(Self::refuse(format!("values = {}, more than an input has", self.values)));
        }
        if self.in_memory {
            let sample = size_of::<Sample>() as u128 + 4 * (numbers as u128 + self.values as u128);
            let what = format!("{} samples in memory", self.samples);
            memory::check("samples", what, sample * self.samples as u128)?;
        }
        Ok(Box::new(Synthetic::new(self)))
    }
}

/// The data set itself.
#[derive(Debug)]
pub struct Synthetic {
    settings: SyntheticSettings,
    input_len: usize,
    // All samples, if they are kept.
    kept: Option<Vec<Sample>>,
}

/// One sample.
#[derive(Debug)]
struct Sample {
    input: Vec<f32>,
    class: i64,
    values: Vec<f32>,
}

impl Synthetic {
    /// Samples as the settings say.
    pub fn new(settings: SyntheticSettings) -> Self {
        let input_len = elements(&settings.shape);
        let mut data = Self { settings, input_len, kept: None };
        if data.settings.in_memory {
            data.kept = Some((0..data.len()).map(|index| data.keep(index)).collect());
        }
        data
    }

    fn keep(&self, index: usize) -> Sample {
        let (class, input) = self.draw(index);
        let input: Vec<f32> = input.collect();
        let mut values = vec![0.0; self.settings.values];
        self.means(&input, &mut values);
        Sample { input, class, values }
    }

    /// Draws a sample again: its class, then its input, element by element.
    fn draw(&self, index: usize) -> (i64, impl Iterator<Item = f32>) {
        let mut prng = Prng::new(&[self.settings.seed, index as u64]);
        let classes = usize::try_from(self.settings.classes).unwrap_or(1);
        let class = size(prng.below(classes));
        (class, (0..self.input_len).map(move |_| prng.unit_f32()))
    }

    /// A target that a linear layer can learn.
    #[expect(clippy::cast_precision_loss, reason = "an input has far fewer numbers than 2^23")]
    fn means(&self, input: &[f32], label: &mut [f32]) {
        let values = label.len();
        label.fill(0.0);
        for (i, number) in input.iter().enumerate().filter(|_| values > 0) {
            let place = i % values;
            // How many inputs contribute to this element.
            let sharing = (self.input_len - place).div_ceil(values);
            label[place] += number / sharing as f32;
        }
    }
}

impl Dataset for Synthetic {
    fn len(&self) -> usize {
        self.settings.samples
    }

    fn spec(&self) -> DataSpec {
        let target = match self.settings.values {
            0 => Target::Classes(self.settings.classes),
            values => Target::Values(vec![size(values)]),
        };
        DataSpec { input: self.settings.shape.clone(), target }
    }

    fn read(&self, index: usize, sample: &mut SampleBuffer<'_>) -> Result<()> {
        if let Some(kept) = &self.kept {
            let Sample { input, class, values } = &kept[index];
            sample.floats(input.iter().copied());
            if values.is_empty() {
                sample.class(*class);
            } else {
                sample.values(values.iter().copied());
            }
            return Ok(());
        }
        if self.settings.values > 0 {
            let drawn = self.keep(index);
            sample.floats(drawn.input);
            sample.values(drawn.values);
            return Ok(());
        }
        let (class, input) = self.draw(index);
        sample.floats(input);
        sample.class(class);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_torch::rounding;

    fn data(seed: u64) -> Synthetic {
        let (samples, shape, classes, in_memory) = (50, vec![2, 3], 4, false);
        let settings = SyntheticSettings { samples, shape, classes, values: 0, seed, in_memory };
        Synthetic::new(settings)
    }

    #[test]
    fn what_is_kept_in_memory_is_what_would_be_drawn() {
        let drawn = data(1);
        let kept = Synthetic::new(SyntheticSettings { in_memory: true, ..drawn.settings.clone() });
        let [drawn, kept] = [drawn, kept].map(|data| data.batch(&[7, 0, 49, 7]).unwrap());
        assert_eq!((drawn.input, drawn.label), (kept.input, kept.label));
    }

    #[test]
    fn labels_to_be_learnt_are_means_of_the_inputs() {
        let settings = SyntheticSettings { values: 2, ..data(3).settings };
        let batch = Synthetic::new(settings).batch(&[5, 8]).unwrap();
        let columns = batch.input.view([2, 3, 2]).mean_dim(&[1_i64][..], false, tch::Kind::Float);
        // Three terms and a division, here and there; all below 8.
        let off = (columns - batch.label).abs().max().double_value(&[]);
        assert!(off <= 8.0 * rounding::gamma(8), "{off:e}");
    }

    #[test]
    fn a_sample_depends_on_seed_and_number_alone() {
        let (pair, single) = (data(1).batch(&[4, 9]).unwrap(), data(1).batch(&[9]).unwrap());
        assert_eq!(pair.input.size(), [2, 2, 3]);
        assert_eq!(pair.narrow(1, 1).unwrap().input, single.input);
        assert_ne!(data(2).batch(&[9]).unwrap().input, single.input);
    }

    #[test]
    fn values_are_in_range_and_every_class_occurs() {
        let all = data(0).batch(&(0..50).collect::<Vec<_>>()).unwrap();
        let labels: Vec<i64> = Vec::try_from(all.label).unwrap();
        assert!((0..4).all(|class| labels.contains(&class)));
        assert!(
            all.input.min().double_value(&[]) >= 0.0 && all.input.max().double_value(&[]) < 1.0
        );
        assert!(data(0).batch(&[50]).is_err());
    }
}
