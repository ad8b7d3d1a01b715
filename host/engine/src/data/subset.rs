//! A subset of a data set: the samples of `skip` and `first`, which hold out some of any data set.

use super::{DataSpec, Dataset, SampleBuffer, Vocabulary};
use crate::error::{EngineError, Result};

/// Some consecutive samples of a data set.
pub struct Subset {
    whole: Box<dyn Dataset>,
    skip: usize,
    len: usize,
}

impl std::fmt::Debug for Subset {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { skip, len, .. } = self;
        out.debug_struct("Subset").field("skip", skip).field("len", len).finish_non_exhaustive()
    }
}

impl Subset {
    /// Skips `skip` samples and keeps the `first` of the rest, or all of it.
    pub fn of(
        whole: Box<dyn Dataset>,
        skip: usize,
        first: Option<usize>,
    ) -> Result<Box<dyn Dataset>> {
        let rest = whole.len().saturating_sub(skip);
        let len = first.unwrap_or(rest);
        if (skip > 0 && rest == 0) || len > rest {
            let all = whole.len();
            let asked = first.map_or(String::new(), |first| format!(" and first = {first}"));
            let why = format!(
                "skip = {skip}{asked} need {} samples or more, but there are {all}",
                skip.saturating_add(first.unwrap_or(1))
            );
            return Err(EngineError::Data(why));
        }
        if len == whole.len() {
            return Ok(whole);
        }
        Ok(Box::new(Self { whole, skip, len }))
    }
}

impl Dataset for Subset {
    fn len(&self) -> usize {
        self.len
    }

    fn spec(&self) -> DataSpec {
        self.whole.spec()
    }

    fn brightest(&self) -> u8 {
        self.whole.brightest()
    }

    fn vocabulary(&self) -> Vocabulary<'_> {
        self.whole.vocabulary()
    }

    fn class_names(&self) -> &[String] {
        self.whole.class_names()
    }

    fn read(&self, index: usize, sample: &mut SampleBuffer<'_>) -> Result<()> {
        self.whole.read(self.skip + index, sample)
    }

    fn has_ignored(&self) -> bool {
        self.whole.has_ignored()
    }

    fn check(&self) -> Result<()> {
        self.whole.check()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Digits, Split};
    use super::*;

    fn part(skip: usize, first: Option<usize>) -> Result<Box<dyn Dataset>> {
        Subset::of(Box::new(Digits::new(Split::All)), skip, first)
    }

    #[test]
    fn two_parts_share_no_sample_and_are_the_whole_together() {
        let whole = Digits::new(Split::All);
        let (head, tail) = (part(0, Some(1500)).unwrap(), part(1500, None).unwrap());
        assert_eq!((head.len(), tail.len()), (1500, 297));
        assert_eq!(tail.batch(&[0]).unwrap().input, whole.batch(&[1500]).unwrap().input);
        assert_eq!(head.batch(&[1499]).unwrap().input, whole.batch(&[1499]).unwrap().input);
        assert!(head.batch(&[1500]).is_err(), "a part ends where it ends");
    }

    #[test]
    fn more_than_there_is_cannot_be_had() {
        let error = |skip, first| part(skip, first).err().unwrap().to_string();
        assert_eq!(
            error(1000, Some(1000)),
            "data: skip = 1000 and first = 1000 need 2000 samples or more, but there are 1797"
        );
        assert_eq!(
            error(1797, None),
            "data: skip = 1797 need 1798 samples or more, but there are 1797"
        );
    }
}
