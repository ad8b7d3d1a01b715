//! The part of a checkpoint that one of several ranks writes.

use super::{HOOKS, MODEL, OPTIMIZER};
use crate::engine::TensorShard;
use tch::Kind;

/// A kind of tensors, which a checkpoint has in one file or in several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Parameters and buffers.
    Model,
    /// The optimizer's state.
    Optimizer,
    /// Tensors of hooks and metrics.
    Hooks,
}

/// The tensors that one rank owns, whole or in flat ranges; the `of` portions together have each element once. Written as one file.
#[derive(Debug)]
pub struct Portion {
    /// What they are.
    pub contents: Contents,
    /// Which portion, from 0.
    pub index: usize,
    /// How many there are.
    pub of: usize,
    /// The tensors.
    pub tensors: Vec<TensorShard>,
}

impl Contents {
    /// The file name if one file has all of them.
    pub(super) fn file(self) -> &'static str {
        match self {
            Self::Model => MODEL,
            Self::Optimizer => OPTIMIZER,
            Self::Hooks => HOOKS,
        }
    }

    fn stem(self) -> &'static str {
        self.file().trim_end_matches(END)
    }

    /// Whether a file contains them, all or a portion.
    pub(super) fn is_in(self, file: &str) -> bool {
        file == self.file() || self.portion(file).is_some()
    }

    /// The number of a file's portion, from 1, and of all portions.
    pub(super) fn portion(self, file: &str) -> Option<(usize, usize)> {
        let numbers = file.strip_prefix(self.stem())?.strip_prefix('-')?.strip_suffix(END)?;
        let (number, of) = numbers.split_once("-of-")?;
        Some((number.parse().ok()?, of.parse().ok()?))
    }
}

const END: &str = ".safetensors";

impl Portion {
    /// All tensors of a kind.
    pub fn all(contents: Contents, tensors: Vec<TensorShard>) -> Self {
        Self { contents, index: 0, of: 1, tensors }
    }

    /// The bytes of its tensors.
    pub(super) fn bytes(&self) -> u64 {
        let width = |piece: &TensorShard| piece.tensor.f_kind().map_or(0, Kind::elt_size_in_bytes);
        self.tensors.iter().map(|piece| (piece.tensor.numel() * width(piece)) as u64).sum()
    }

    /// Its file: `model.safetensors`, or `model-00001-of-00002.safetensors`, in the naming scheme of Hugging Face.
    pub(super) fn file(&self) -> String {
        if self.of <= 1 {
            return self.contents.file().to_owned();
        }
        format!("{}-{:05}-of-{:05}{END}", self.contents.stem(), self.index + 1, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_as_hugging_face_names_shards() {
        let portion = |of| {
            Portion { contents: Contents::Optimizer, index: 0, of, tensors: Vec::new() }.file()
        };
        assert_eq!(portion(1), "optimizer.safetensors");
        assert_eq!(portion(2), "optimizer-00001-of-00002.safetensors");
        assert!(Contents::Optimizer.is_in(&portion(1)) && Contents::Optimizer.is_in(&portion(2)));
        assert!(!Contents::Model.is_in(&portion(2)));
        assert_eq!(
            Contents::Optimizer.portion("optimizer-00003-of-00012.safetensors"),
            Some((3, 12))
        );
        assert!(!Contents::Model.is_in("model.safetensors.index.json"));
    }
}
