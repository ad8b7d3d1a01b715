//! Units: the layers of a model between which it can be split.

use std::ops::Range;

/// One or more layers of a model that stay together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The name in front of those of its tensors.
    pub name: String,
    /// The number of elements of its parameters.
    pub params: usize,
    /// The number of its parameters.
    pub tensors: usize,
    /// The number of elements of its buffers.
    pub buffers: usize,
}

/// A parameter that a later unit uses too, such as an embedding that is also the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// Its name.
    pub param: String,
    /// The unit that uses it beside its own.
    pub unit: usize,
}

/// Which units of a model are made. Initial values are drawn for all of them, in order, so that a unit has the same ones wherever
/// it is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum BuiltUnits {
    /// All.
    #[default]
    All,
    /// Those of these ranges.
    Some(Vec<Range<usize>>),
    /// None, and nothing is drawn: to find out what a model consists of.
    None,
}

impl BuiltUnits {
    pub(super) fn has(&self, unit: usize) -> bool {
        match self {
            Self::All => true,
            Self::Some(ranges) => ranges.iter().any(|range| range.contains(&unit)),
            Self::None => false,
        }
    }
}
