//! How often a hook is called.

use crate::point::Pace;
use std::fmt;

/// The cadence of a hook: `every = "100it"` or `"2ep"`; without it the hook runs whenever its points are
/// reached.
///
/// The host counts: a hook that is not due is not called, which costs a comparison. Counts are those of the
/// run, from 1, so that they continue after a resume. Roles have no cadence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// At every occurrence of its points.
    Always,
    /// In every n-th iteration: of training, or of the pass in an evaluation. Points of an epoch are always
    /// due.
    Iters(u64),
    /// In every n-th epoch, at points of epochs and of iterations.
    Epochs(u64),
}

/// Why a cadence is invalid. A library whose manifest has such a default is refused, a config with it an
/// error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CadenceFault {
    /// A number alone: `100` could be iterations or epochs.
    NoUnit,
    /// A unit that is neither `it` nor `ep`.
    UnknownUnit,
    /// No number.
    NoNumber,
    /// A number above 2^64 - 1.
    TooLarge,
    /// `0it` would never run.
    Zero,
}

impl Every {
    /// The same unit with another count; `Always` is unchanged.
    #[must_use]
    pub fn with_count(self, count: u64) -> Self {
        match self {
            Self::Always => Self::Always,
            Self::Iters(_) => Self::Iters(count),
            Self::Epochs(_) => Self::Epochs(count),
        }
    }

    /// Returns whether a hook is called at a point of this pace. `iter` is the run's iteration in training,
    /// and that of the pass in other phases. Points of a run, such as `before_train`, are always due; those
    /// of an epoch are not affected by `Iters`.
    pub fn is_due(self, pace: Pace, epoch: u64, iter: u64) -> bool {
        match self {
            Self::Always => true,
            Self::Iters(n) => pace != Pace::Iter || iter.is_multiple_of(n),
            Self::Epochs(n) => pace == Pace::Run || epoch.is_multiple_of(n),
        }
    }

    /// Returns whether every occurrence of a point is due.
    pub fn is_each(self) -> bool {
        matches!(self, Self::Always | Self::Iters(1) | Self::Epochs(1))
    }

    /// Parses a cadence: a number above 0 and `it` or `ep`, without blanks.
    ///
    /// # Errors
    /// A [`CadenceFault`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, CadenceFault> {
        let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = text.split_at(unit_at);
        let fault = if digits.is_empty() { CadenceFault::NoNumber } else { CadenceFault::TooLarge };
        let count: u64 = digits.parse().map_err(|_| fault)?;
        match (count, unit) {
            (_, "") => Err(CadenceFault::NoUnit),
            (0, "it" | "ep") => Err(CadenceFault::Zero),
            (_, "it") => Ok(Self::Iters(count)),
            (_, "ep") => Ok(Self::Epochs(count)),
            _ => Err(CadenceFault::UnknownUnit),
        }
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Iters(count) => write!(f, "{count}it"),
            Self::Epochs(count) => write!(f, "{count}ep"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cadence_is_a_number_and_a_unit() {
        assert_eq!(Every::parse("100it"), Ok(Every::Iters(100)));
        assert_eq!(Every::parse("2ep"), Ok(Every::Epochs(2)));
        assert_eq!(Every::parse("100"), Err(CadenceFault::NoUnit));
        assert_eq!(Every::parse("100ba"), Err(CadenceFault::UnknownUnit));
        assert_eq!(Every::parse("-1it"), Err(CadenceFault::NoNumber));
        assert_eq!(Every::parse("99999999999999999999it"), Err(CadenceFault::TooLarge));
        assert_eq!(Every::parse("0ep"), Err(CadenceFault::Zero));
        assert_eq!(Every::parse(""), Err(CadenceFault::NoNumber));
    }

    #[test]
    fn a_cadence_is_written_as_it_is_read() {
        for text in ["1it", "250it", "3ep"] {
            assert_eq!(Every::parse(text).unwrap().to_string(), text);
        }
    }
}
