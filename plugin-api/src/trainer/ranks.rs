//! Collectives: what the ranks of a run do together.

use super::Trainer;
use crate::abi::{REDUCE_MAX, REDUCE_MIN, REDUCE_SUM};
use crate::error::Result;
use crate::tensor::Tensor;

/// How the values of all ranks become one.
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

/// Every rank must make the same calls in the same order, at the same points. In a run of one process they return at once.
///
/// They fail where not all ranks are: in a hook that runs on the main rank only, and in the iterations of an evaluation, of which
/// a rank may have one less than another; gather what an iteration gave at the end of the epoch. They also fail when
/// another rank has, and the run ends.
impl Trainer {
    /// Whether this is the main rank, which writes the files of the run.
    pub fn is_main(&self) -> bool {
        self.rank() == 0
    }

    /// Replaces numbers by their reduction over all ranks: `t.all_reduce_numbers(&mut [sum, count], Reduction::Sum)?`.
    pub fn all_reduce_numbers(&self, numbers: &mut [f64], reduction: Reduction) -> Result<()> {
        self.host.all_reduce_numbers(numbers, reduction.code())
    }

    /// Replaces a tensor, which has the same shape on all ranks, by its reduction over them.
    pub fn all_reduce(&self, tensor: &Tensor, reduction: Reduction) -> Result<()> {
        self.host.all_reduce(tensor.id(), reduction.code())
    }

    /// Replaces a tensor by that of rank `root`.
    pub fn broadcast(&self, tensor: &Tensor, root: u32) -> Result<()> {
        self.host.broadcast(tensor.id(), root)
    }

    /// The tensors of all ranks, which have the same shape, stacked in a new first dimension in the order of ranks.
    pub fn all_gather(&self, tensor: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.all_gather(tensor.id())?))
    }

    /// Waits until every rank is here.
    pub fn barrier(&self) -> Result<()> {
        self.host.barrier()
    }
}
