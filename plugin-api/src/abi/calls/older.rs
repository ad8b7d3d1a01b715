//! Calls that have an answer on hosts too old for them: a single rank, no weight, no folder, no writer.

use super::Host;
use super::wire::call;
use crate::abi::{ArtifactTable, HrTensor, LossTable, MediaTable, RankTable};
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

    /// Waits for all ranks.
    pub fn barrier(self) -> Result<()> {
        let Some(table) = self.find::<RankTable>() else { return Ok(()) };
        call!(self, table, barrier())
    }

    /// The denominator of the current mean loss; `None` if the host is too old.
    pub fn loss_weight(self) -> Result<Option<f64>> {
        let Some(table) = self.find::<LossTable>() else { return Ok(None) };
        call!(self, table, weight() -> f64).map(Some)
    }

    /// Whether any writer shows images and histograms.
    pub fn is_media_wanted(self) -> bool {
        // SAFETY: a valid handle is all it needs.
        self.find::<MediaTable>().is_some_and(|table| unsafe { (table.is_wanted)(self.raw()) } != 0)
    }

    /// The run directory.
    pub fn run_dir(self) -> Option<std::path::PathBuf> {
        let table = self.find::<ArtifactTable>()?;
        // SAFETY: the text is lent for the run and copied here.
        let dir = unsafe { (table.run_dir)(self.raw()).to_lossy() };
        (!dir.is_empty()).then(|| dir.into_owned().into())
    }
}
