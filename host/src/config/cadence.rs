//! Cadence and phases: when the host lets a hook or a metric run.

use std::fmt;

use hookrack_plugin_api::Phase;

/// How often a hook runs: `every = "100it"` or `"2ep"`; without it, whenever its points are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// At every occurrence of its points.
    Always,
    /// In every n-th iteration.
    Iters(u64),
    /// In every n-th epoch.
    Epochs(u64),
}

/// Why a cadence could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CadenceFault {
    /// A number alone.
    NoUnit,
    /// A unit that is neither `it` nor `ep`.
    UnknownUnit,
    /// No number, or one that is too large.
    NoNumber,
    /// `0it` would never run.
    Zero,
}

impl Every {
    pub(super) fn parse(text: &str) -> Result<Self, CadenceFault> {
        let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = text.split_at(unit_at);
        let count: u64 = digits.parse().map_err(|_| CadenceFault::NoNumber)?;
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

/// What `phase =` may say: the phases, and `eval` for val and test together.
pub(super) const PHASE_NAMES: [&str; 5] = ["train", "val", "test", "pred", "eval"];

/// A set of phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Phases(u8);

impl Phases {
    /// Every phase.
    pub const ALL: Self = Self(0b1111);
    /// Val and test.
    pub const EVAL: Self = Self(0b0110);

    pub(super) fn of_name(name: &str) -> Option<Self> {
        if name == "eval" {
            return Some(Self::EVAL);
        }
        Phase::ALL.into_iter().find(|phase| phase.name() == name).map(Self::from)
    }

    /// Whether the set has no phase.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set has this phase.
    pub fn contains(self, phase: Phase) -> bool {
        self.0 & Self::from(phase).0 != 0
    }

    /// The phases of either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The phases of the set, in order.
    pub fn iter(self) -> impl Iterator<Item = Phase> {
        Phase::ALL.into_iter().filter(move |phase| self.contains(*phase))
    }
}

impl From<Phase> for Phases {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Train => Self(0b0001),
            Phase::Val => Self(0b0010),
            Phase::Test => Self(0b0100),
            Phase::Pred => Self(0b1000),
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
        assert_eq!(Every::parse("99999999999999999999it"), Err(CadenceFault::NoNumber));
        assert_eq!(Every::parse("0ep"), Err(CadenceFault::Zero));
        assert_eq!(Every::parse(""), Err(CadenceFault::NoNumber));
    }

    #[test]
    fn a_cadence_is_written_as_it_is_read() {
        for text in ["1it", "250it", "3ep"] {
            assert_eq!(Every::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn eval_is_val_and_test() {
        let eval: Vec<_> = Phases::of_name("eval").unwrap().iter().collect();
        assert_eq!(eval, [Phase::Val, Phase::Test]);
    }
}
