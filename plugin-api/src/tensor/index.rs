//! Parts of a tensor by position: `x.i((.., 0, 2..5))`, as `x[:, 0, 2:5]` in Python.

use super::Tensor;
use crate::error::Result;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo};

/// What is taken of one dimension by [`Tensor::i`].
///
/// | index | takes | the dimension |
/// |---|---|---|
/// | `..`, `2..5`, `2..`, `..5`, `2..=4` | a range | stays |
/// | `3` | one entry | is removed |
/// | `&index` | the entries that a tensor of int64 lists | has its length; a copy |
///
/// Ranges may be borrowed, to use one twice. Negative numbers count from the end: `..-1` is all but the last entry.
pub enum Index<'a> {
    /// One entry.
    Select(i64),
    /// The entries from a start to an end, which is not included; none for the rest.
    Slice(i64, Option<i64>),
    /// The entries at these positions.
    Take(&'a Tensor),
}

impl Index<'_> {
    /// Applies it to a dimension; returns the result, and the dimension that follows.
    fn apply(&self, of: &Tensor, dim: i64) -> Result<(Tensor, i64)> {
        Ok(match self {
            Self::Select(index) => (of.select(dim, *index)?, dim),
            Self::Slice(start, end) => {
                (of.slice(dim, *start, end.unwrap_or(i64::MAX), 1)?, dim + 1)
            }
            Self::Take(positions) => (of.index_select(dim, positions)?, dim + 1),
        })
    }

    fn is_all(&self) -> bool {
        matches!(self, Self::Slice(0, None))
    }
}

impl From<i64> for Index<'_> {
    fn from(index: i64) -> Self {
        Self::Select(index)
    }
}

impl From<i32> for Index<'_> {
    fn from(index: i32) -> Self {
        Self::Select(index.into())
    }
}

impl<'a> From<&'a Tensor> for Index<'a> {
    fn from(positions: &'a Tensor) -> Self {
        Self::Take(positions)
    }
}

macro_rules! ranges {
    ($($range:ty: $own:ident => $start:expr, $end:expr;)*) => {
        $(impl From<$range> for Index<'_> {
            fn from($own: $range) -> Self {
                Self::Slice($start, $end)
            }
        }
        impl From<&$range> for Index<'_> {
            fn from($own: &$range) -> Self {
                Self::Slice($start, $end)
            }
        })*
    };
}
ranges! {
    RangeFull: _own => 0, None;
    Range<i64>: own => own.start, Some(own.end);
    RangeFrom<i64>: own => own.start, None;
    RangeTo<i64>: own => 0, Some(own.end);
    // One past -1 is the end, not the beginning.
    RangeInclusive<i64>: own => *own.start(), own.end().checked_add(1).filter(|end| *end != 0);
}

/// The index of one dimension, or a tuple with one for each of the first dimensions, at most five.
pub trait Indices<'a> {
    /// Returns them in order.
    fn indices(self) -> Vec<Index<'a>>;
}

impl<'a, T: Into<Index<'a>>> Indices<'a> for T {
    fn indices(self) -> Vec<Index<'a>> {
        vec![self.into()]
    }
}

macro_rules! tuples {
    ($($($name:ident)+;)*) => {
        $(impl<'a, $($name: Into<Index<'a>>),+> Indices<'a> for ($($name,)+) {
            #[expect(non_snake_case, reason = "one name for a type and its value")]
            fn indices(self) -> Vec<Index<'a>> {
                let ($($name,)+) = self;
                vec![$($name.into()),+]
            }
        })*
    };
}
tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
}

impl Tensor {
    /// Returns a part of the tensor: `x.i((.., 0, 2..5))` is `x[:, 0, 2:5]` in PyTorch.
    ///
    /// Not a copy, unless an [index](Index) is a tensor: `image.i((.., 2..5))?.copy_(&patch)?` changes the
    /// image. Dimensions that are not mentioned stay whole. One operator for each index that is not `..`. In
    /// libtorch's names: `select`, `slice`, `index_select`.
    ///
    /// # Errors
    /// A dimension or an entry is out of range. A range is cut at the ends instead, as in PyTorch.
    pub fn i<'a>(&self, indices: impl Indices<'a>) -> Result<Tensor> {
        let (mut part, mut dim) = (None, 0);
        for index in indices.indices() {
            if index.is_all() {
                dim += 1;
                continue;
            }
            let (next, after) = index.apply(part.as_ref().unwrap_or(self), dim)?;
            (part, dim) = (Some(next), after);
        }
        part.map_or_else(|| self.slice(0, 0, i64::MAX, 1), Ok)
    }
}
