//! Which checkpoints stay, and which one is loaded.

use super::Host;
use crate::abi::{CHECKPOINT_NAMES, CHECKPOINTS, CheckpointNameTable, CheckpointTable, HrStr};
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

    fn checkpoint_names(self) -> Result<&'static CheckpointNameTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        let table =
            unsafe { self.extension(CHECKPOINT_NAMES).cast::<CheckpointNameTable>().as_ref() };
        table.ok_or_else(|| {
            Error::new(format!(
                "this host is older than `{CHECKPOINT_NAMES}`: checkpoints have their own names alone"
            ))
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
        let epoch = epoch_code(load.epoch);
        let path = HrStr::new(load.path);
        // SAFETY: the path is lent until the call returns.
        self.check(unsafe {
            (table.load)(self.raw(), path, epoch, load.weights_only.into(), load.strict.into())
        })
    }

    /// Gives the checkpoints that this hook asks for a second name.
    pub fn name_checkpoints(self, pattern: &str) -> Result<()> {
        let table = self.checkpoint_names()?;
        // SAFETY: the pattern is lent until the call returns.
        self.check(unsafe { (table.give)(self.raw(), HrStr::new(pattern)) })
    }

    /// Has a checkpoint loaded that is called so.
    pub fn load_checkpoint_named(self, load: &Load<'_>, suffix: &str) -> Result<()> {
        let table = self.checkpoint_names()?;
        let (path, suffix) = (HrStr::new(load.path), HrStr::new(suffix));
        let (weights, strict) = (load.weights_only.into(), load.strict.into());
        // SAFETY: path and suffix are lent until the call returns.
        self.check(unsafe {
            (table.load)(self.raw(), path, epoch_code(load.epoch), suffix, weights, strict)
        })
    }
}

fn epoch_code(epoch: Option<u64>) -> i64 {
    epoch.map_or(-1, |epoch| i64::try_from(epoch).unwrap_or(i64::MAX))
}
