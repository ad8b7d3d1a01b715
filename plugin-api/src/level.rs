//! Where a hook stands among the others at a point: lower levels run first.

use std::fmt;

/// A hook's place in the order. Seven have names; any other integer is as good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Level(pub i64);

impl Level {
    /// Runs before everything that has a named level.
    pub const HIGHEST: Self = Self(0);
    /// Runs after HIGHEST.
    pub const HIGHER: Self = Self(10);
    /// Runs after HIGHER.
    pub const HIGH: Self = Self(20);
    /// Where a hook stands that says nothing.
    pub const NORMAL: Self = Self(30);
    /// Runs after NORMAL.
    pub const LOW: Self = Self(40);
    /// Runs after LOW.
    pub const LOWER: Self = Self(50);
    /// Runs after everything that has a named level.
    pub const LOWEST: Self = Self(60);

    /// The named levels, first to run first.
    pub const NAMED: [(&'static str, Self); 7] = [
        ("HIGHEST", Self::HIGHEST),
        ("HIGHER", Self::HIGHER),
        ("HIGH", Self::HIGH),
        ("NORMAL", Self::NORMAL),
        ("LOW", Self::LOW),
        ("LOWER", Self::LOWER),
        ("LOWEST", Self::LOWEST),
    ];

    /// The level of a name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, level)| *level)
    }

    /// The name of a named level.
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
