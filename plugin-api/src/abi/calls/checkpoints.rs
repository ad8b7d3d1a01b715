//! Which checkpoints are kept, and which one is loaded.

use super::Host;
use super::wire::call;
use crate::abi::{CheckpointNameTable, CheckpointTable};
use crate::error::Result;
use crate::trainer::{Keep, Load};

impl Host {
    /// Sets which of the checkpoints that this hook requests are kept.
    pub fn keep_checkpoints(self, keep: &Keep<'_>) -> Result<()> {
        let (epochs, iters) = (keep.every_epochs, keep.every_iters);
        let (last, metric) = (code(keep.last), keep.metric);
        call!(
            self,
            self.table::<CheckpointTable>()?,
            keep(last, epochs, iters, metric, keep.higher_is_better, keep.top)
        )
    }

    /// Loads a checkpoint.
    pub fn load_checkpoint(self, load: &Load<'_>) -> Result<()> {
        let (path, epoch) = (load.path, code(load.epoch));
        call!(
            self,
            self.table::<CheckpointTable>()?,
            load(path, epoch, load.weights_only, load.strict)
        )
    }

    /// Loads a checkpoint by its name.
    pub fn load_checkpoint_named(self, load: &Load<'_>, suffix: &str) -> Result<()> {
        let (path, epoch) = (load.path, code(load.epoch));
        call!(
            self,
            self.table::<CheckpointNameTable>()?,
            load(path, epoch, suffix, load.weights_only, load.strict)
        )
    }
}

/// An optional number, encoded for the host.
fn code(number: Option<u64>) -> i64 {
    number.map_or(-1, |number| i64::try_from(number).unwrap_or(i64::MAX))
}
