//! The order of the hooks at a point: lower levels run first.

use std::fmt;

/// The order of a hook among those at the same point: lower levels run first. Seven levels have names; any
/// other integer is allowed.
///
/// `#[hook(level = …)]` sets the default, `level` of a config entry overrides it. Among equal levels the
/// default hooks run first, then the others in the order of the config. Only `on_detach` runs in reverse
/// order. A hook that reads what another one writes at the same point needs a higher level than that one;
/// `hookrack plan` prints the order. Built-in ones are at:
///
/// | level | |
/// |---|---|
/// | 5 | metrics, unless they set a level |
/// | 12, 14, 16 | `LossHook`, `LearningRateMonitor`, `IterationTimerHook`: scalars of the iteration |
/// | 32 | `EvaluateHook`: requests validations |
/// | 42 | `CheckPointHook`: requests checkpoints |
/// | 52 | `PeriodicLogger`: writes scalars; what is logged at a higher level is written the next time |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Level(pub i64);

impl Level {
    /// 0: before all other named levels.
    pub const HIGHEST: Self = Self(0);
    /// Runs after HIGHEST.
    pub const HIGHER: Self = Self(10);
    /// Runs after HIGHER.
    pub const HIGH: Self = Self(20);
    /// 30: the default.
    pub const NORMAL: Self = Self(30);
    /// Runs after NORMAL.
    pub const LOW: Self = Self(40);
    /// Runs after LOW.
    pub const LOWER: Self = Self(50);
    /// 60: after all other named levels.
    pub const LOWEST: Self = Self(60);

    /// The named levels, in the order in which they run.
    pub const NAMED: [(&'static str, Self); 7] = [
        ("HIGHEST", Self::HIGHEST),
        ("HIGHER", Self::HIGHER),
        ("HIGH", Self::HIGH),
        ("NORMAL", Self::NORMAL),
        ("LOW", Self::LOW),
        ("LOWER", Self::LOWER),
        ("LOWEST", Self::LOWEST),
    ];

    /// Returns the level of a name, in upper or lower case; `None` for any other text, also a number.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, level)| *level)
    }

    /// Returns its name, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Self::NAMED.iter().find(|(_, level)| *level == self).map(|(name, _)| *name)
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::NORMAL
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{} {name}", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}
