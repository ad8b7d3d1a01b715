//! Which checkpoints stay, and which one is loaded.

use super::Host;
use crate::abi::{CHECKPOINTS, CheckpointTable, HrStr};
use crate::error::{Error, Result};
use crate::trainer::{Keep, Load};

impl Host {
    fn checkpoints(self) -> Result<&'static CheckpointTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        let table = unsafe { self.extension(CHECKPOINTS).cast::<CheckpointTable>().as_ref() };
        table.ok_or_else(|| {
            Error::new(format!("this host is older than `{CHECKPOINTS}`: every checkpoint stays"))
        })
    }

    /// Says what stays of the checkpoints that this hook asks for.
    pub fn keep_checkpoints(self, keep: &Keep<'_>) -> Result<()> {
        let table = self.checkpoints()?;
        let last = keep.last.map_or(-1, |last| i64::try_from(last).unwrap_or(i64::MAX));
        let metric = HrStr::new(keep.metric);
        // SAFETY: the name is lent until the call returns.
        self.check(unsafe {
            (table.keep)(
                self.raw(),
                last,
                keep.every_epochs,
                keep.every_iters,
                metric,
                keep.higher_is_better.into(),
                keep.top,
            )
        })
    }

    /// Has a checkpoint loaded.
    pub fn load_checkpoint(self, load: &Load<'_>) -> Result<()> {
        let table = self.checkpoints()?;
        let epoch = load.epoch.map_or(-1, |epoch| i64::try_from(epoch).unwrap_or(i64::MAX));
        let path = HrStr::new(load.path);
        // SAFETY: the path is lent until the call returns.
        self.check(unsafe {
            (table.load)(self.raw(), path, epoch, load.weights_only.into(), load.strict.into())
        })
    }
}
