//! A named tensor, or the flat range of it that this process keeps; and where saved ones are read from.

use std::collections::HashMap;
use std::ops::Range;

use tch::Tensor;

use super::named_tensor::NamedTensor;
use hookrack_torch::shape::number;

/// A whole tensor, or a flat range of one whose other elements are kept elsewhere.
#[derive(Debug)]
pub struct TensorShard {
    /// The name of the whole tensor.
    pub name: String,
    /// Its elements; those of a range in one dimension.
    pub tensor: Tensor,
    /// The range; `None` for the whole tensor.
    pub part: Option<FlatRange>,
}

/// A flat range of a tensor: elements in row-major order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlatRange {
    /// The shape of the whole.
    pub shape: Vec<i64>,
    /// First element and the one after the last.
    pub range: Range<usize>,
}

impl TensorShard {
    /// A whole tensor.
    pub fn whole(name: impl Into<String>, tensor: Tensor) -> Self {
        Self { name: name.into(), tensor, part: None }
    }

    /// The shape of the whole tensor.
    pub fn shape(&self) -> Vec<i64> {
        self.part.as_ref().map_or_else(|| self.tensor.size(), |part| part.shape.clone())
    }

    /// Which elements of the whole tensor these are.
    pub fn range(&self) -> Range<usize> {
        self.part.as_ref().map_or(0..self.tensor.numel(), |part| part.range.clone())
    }
}

impl Clone for TensorShard {
    fn clone(&self) -> Self {
        let (name, part) = (self.name.clone(), self.part.clone());
        Self { name, tensor: self.tensor.shallow_clone(), part }
    }
}

impl From<NamedTensor> for TensorShard {
    fn from(NamedTensor { name, tensor }: NamedTensor) -> Self {
        Self::whole(name, tensor)
    }
}

/// Saved tensors by name. Any flat range of one can be read without the rest.
pub trait SavedTensors {
    /// The names of all.
    fn names(&self) -> Vec<&str>;

    /// The shape of a tensor; `None` if it does not exist.
    fn shape(&self, name: &str) -> Option<Vec<i64>>;

    /// The elements of a range, in one dimension.
    ///
    /// # Errors
    /// Why they cannot be read.
    fn elements(&self, name: &str, range: Range<usize>) -> Result<Tensor, String>;
}

/// Those saved tensors whose names a test accepts.
pub(super) struct Accepted<'a, F> {
    /// All that are saved.
    pub(super) all: &'a dyn SavedTensors,
    /// Which of them count.
    pub(super) accepts: F,
}

impl<F: Fn(&str) -> bool> SavedTensors for Accepted<'_, F> {
    fn names(&self) -> Vec<&str> {
        self.all.names().into_iter().filter(|name| (self.accepts)(name)).collect()
    }

    fn shape(&self, name: &str) -> Option<Vec<i64>> {
        self.all.shape(name)
    }

    fn elements(&self, name: &str, range: Range<usize>) -> Result<Tensor, String> {
        self.all.elements(name, range)
    }
}

/// Whole tensors in memory, to load from.
#[derive(Debug)]
pub struct InMemory<'a>(HashMap<&'a str, &'a Tensor>);

impl<'a> InMemory<'a> {
    /// These tensors.
    pub fn new(tensors: &'a [NamedTensor]) -> Self {
        Self(tensors.iter().map(|named| (named.name.as_str(), &named.tensor)).collect())
    }

    /// These whole tensors.
    pub fn pieces(pieces: &'a [TensorShard]) -> Self {
        Self(pieces.iter().map(|piece| (piece.name.as_str(), &piece.tensor)).collect())
    }
}

impl SavedTensors for InMemory<'_> {
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.0.keys().copied().collect();
        names.sort_unstable();
        names
    }

    fn shape(&self, name: &str) -> Option<Vec<i64>> {
        self.0.get(name).map(|tensor| tensor.size())
    }

    fn elements(&self, name: &str, range: Range<usize>) -> Result<Tensor, String> {
        let tensor = self.0.get(name).ok_or("it does not exist")?;
        let (start, length) = (number(range.start), number(range.len()));
        let cut = tensor.f_reshape([-1]).and_then(|flat| flat.f_narrow(0, start, length));
        cut.map_err(|error| error.to_string())
    }
}
