//! Cadence and phases: when the host lets a hook or a metric run.

use hookrack_plugin_api::Phase;
pub use hookrack_plugin_api::every::{CadenceFault, Every};

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
    fn eval_is_val_and_test() {
        let eval: Vec<_> = Phases::of_name("eval").unwrap().iter().collect();
        assert_eq!(eval, [Phase::Val, Phase::Test]);
    }
}
