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

/// Collectives over the ranks of a run (extension `hookrack.ranks/1`). Every rank must make the same calls in
/// the same order, at the same points. Each call waits for all ranks, over the network; in a run of one
/// process it returns immediately.
///
/// They are an error in a hook that does not run on all ranks, and in the iterations of an evaluation or a
/// prediction, because ranks may have different numbers of batches there: accumulate in the iterations, and
/// reduce at the end of the pass. At `before_iter`, `after_forward`, `after_iter` and in `on_iter_forward`,
/// which are reached in every phase, call them only if [`phase`](Self::phase) is training. A single process
/// checks none of this: try a hook with `hookrack launch -n 2`.
///
/// Tensors on a GPU are copied to the CPU and back, which waits for the device.
///
/// # Errors
/// The hook or the point is not allowed, or another rank is in a different call. If the hook has failed on
/// another rank under `disable` or `warn`, the message names that rank and the run continues. If a rank has
/// failed, or does not answer within `HOOKRACK_TIMEOUT` seconds (600 by default), the run ends. A host before
/// ABI 1.2 has one process: [`all_gather`](Self::all_gather) is an error there, the others return
/// immediately.
impl Trainer {
    /// Returns whether this is the main rank, which writes the files of the run. Not a collective.
    pub fn is_main(&self) -> bool {
        self.rank() == 0
    }

    /// Replaces each number by its reduction over all ranks:
    /// `t.all_reduce_numbers(&mut [sum, count], Reduction::Sum)?`.
    ///
    /// One exchange for all numbers, which must be as many on every rank. If it fails they are unchanged.
    ///
    /// # Errors
    /// Collectives are not allowed at this point (see above), or a rank has failed.
    pub fn all_reduce_numbers(&self, numbers: &mut [f64], reduction: Reduction) -> Result<()> {
        self.host.all_reduce_numbers(numbers, reduction.code())
    }

    /// Replaces the contents of a tensor by their reduction over all ranks. It must have the same shape and
    /// dtype on all of them.
    ///
    /// # Errors
    /// It is a tensor of the run that `mutates` does not cover, also in a run of one process; or as for the
    /// other collectives.
    pub fn all_reduce(&self, tensor: &Tensor, reduction: Reduction) -> Result<()> {
        self.host.all_reduce(tensor.id(), reduction.code())
    }

    /// Replaces the contents of a tensor by those of rank `root`. Shape and dtype must be the same on all
    /// ranks.
    ///
    /// # Errors
    /// There is no rank `root`, or it is a tensor of the run that `mutates` does not cover, also in a run of
    /// one process; or as for the other collectives.
    pub fn broadcast(&self, tensor: &Tensor, root: u32) -> Result<()> {
        self.host.broadcast(tensor.id(), root)
    }

    /// Returns the tensors of all ranks, stacked along a new first dimension in the order of ranks. They must
    /// have the same shape and dtype.
    ///
    /// A new tensor on the same device, without a graph; in a run of one process a copy with a first
    /// dimension of 1.
    pub fn all_gather(&self, tensor: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.all_gather(tensor.id())?))
    }

    /// Waits until every rank has called it.
    pub fn barrier(&self) -> Result<()> {
        self.host.barrier()
    }
}
