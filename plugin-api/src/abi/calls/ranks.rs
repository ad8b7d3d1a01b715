//! Collectives.

use super::Host;
use super::wire::call;
use crate::abi::{HrTensor, RankTable};
use crate::error::Result;

impl Host {
    /// Reduces numbers over all ranks, in place. A host without this extension has a single rank.
    pub fn all_reduce_numbers(self, numbers: &mut [f64], reduction: u32) -> Result<()> {
        let Some(table) = self.find::<RankTable>() else { return Ok(()) };
        let (start, count) = (numbers.as_mut_ptr(), numbers.len());
        // SAFETY: the numbers are lent until the call returns.
        let status = unsafe { (table.all_reduce_numbers)(self.raw(), start, count, reduction) };
        self.check(status)
    }

    /// Reduces a tensor over all ranks, in place.
    pub fn all_reduce(self, tensor: HrTensor, reduction: u32) -> Result<()> {
        let Some(table) = self.find::<RankTable>() else { return Ok(()) };
        call!(self, table, all_reduce(tensor, reduction))
    }

    /// Copies the tensor of one rank to all others, in place.
    pub fn broadcast(self, tensor: HrTensor, root: u32) -> Result<()> {
        let Some(table) = self.find::<RankTable>() else { return Ok(()) };
        call!(self, table, broadcast(tensor, root))
    }

    /// The tensors of all ranks.
    pub fn all_gather(self, tensor: HrTensor) -> Result<HrTensor> {
        call!(self, self.require::<RankTable>()?, all_gather(tensor) -> HrTensor::NONE)
    }

    /// Waits for all ranks.
    pub fn barrier(self) -> Result<()> {
        let Some(table) = self.find::<RankTable>() else { return Ok(()) };
        call!(self, table, barrier())
    }
}
