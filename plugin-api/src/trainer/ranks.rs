//! Collectives over the ranks of a run.

use super::Trainer;
use crate::abi::{REDUCE_MAX, REDUCE_MIN, REDUCE_SUM};
use crate::error::Result;
use crate::tensor::Tensor;

/// How the values of all ranks are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their maximum.
    Max,
    /// Their minimum.
    Min,
}

impl Reduction {
    fn code(self) -> u32 {
        match self {
            Self::Sum => REDUCE_SUM,
            Self::Max => REDUCE_MAX,
            Self::Min => REDUCE_MIN,
        }
    }
}

/// Collectives over the ranks of a run (extension `hookrack.ranks/1`). Every rank must make the same calls in the same order, at the same points. Each call waits
/// for all ranks; in a run of one process it returns immediately.
///
/// They are an error in a hook that runs on the main rank only, and in the iterations of an evaluation, because ranks may have different numbers of
/// batches there: accumulate in the iterations, and reduce at the end of the pass. If another rank fails they return an error, and the run ends.
impl Trainer {
    /// Whether this is the main rank, which writes the files of the run.
    pub fn is_main(&self) -> bool {
        self.rank() == 0
    }

    /// Replaces each number by its reduction over all ranks: `t.all_reduce_numbers(&mut [sum, count], Reduction::Sum)?`.
    ///
    /// # Errors
    /// Collectives are not allowed at this point (see above), or a rank has failed.
    pub fn all_reduce_numbers(&self, numbers: &mut [f64], reduction: Reduction) -> Result<()> {
        self.host.all_reduce_numbers(numbers, reduction.code())
    }

    /// Replaces the contents of a tensor by their reduction over all ranks. It must have the same shape and dtype on all of them.
    pub fn all_reduce(&self, tensor: &Tensor, reduction: Reduction) -> Result<()> {
        self.host.all_reduce(tensor.id(), reduction.code())
    }

    /// Replaces the contents of a tensor by those of rank `root`.
    pub fn broadcast(&self, tensor: &Tensor, root: u32) -> Result<()> {
        self.host.broadcast(tensor.id(), root)
    }

    /// The tensors of all ranks, stacked along a new first dimension in the order of ranks. They must have the same shape and dtype.
    pub fn all_gather(&self, tensor: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.all_gather(tensor.id())?))
    }

    /// Waits until every rank has called it.
    pub fn barrier(&self) -> Result<()> {
        self.host.barrier()
    }
}
