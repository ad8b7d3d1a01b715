//! Profiles.

use super::Host;
use crate::abi::{HrOpCost, HrStr, PROFILER, ProfilerTable};
use crate::error::{Error, Result};

impl Host {
    fn profiler(self) -> Result<&'static ProfilerTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        unsafe { self.extension(PROFILER).cast::<ProfilerTable>().as_ref() }
            .ok_or_else(|| Error::new(format!("this host is older than `{PROFILER}`")))
    }

    /// Gets ready to record.
    pub fn profiler_prepare(self, flags: u32) -> Result<()> {
        // SAFETY: plain numbers.
        self.check(unsafe { (self.profiler()?.prepare)(self.raw(), flags) })
    }

    /// Records from here on.
    pub fn profiler_start(self, flags: u32) -> Result<()> {
        // SAFETY: plain numbers.
        self.check(unsafe { (self.profiler()?.start)(self.raw(), flags) })
    }

    /// Records no longer.
    pub fn profiler_stop(self, file: &str) -> Result<()> {
        // SAFETY: the name is lent until the call returns.
        self.check(unsafe { (self.profiler()?.stop)(self.raw(), HrStr::new(file)) })
    }

    /// An operator of the last profile, with its name.
    pub fn profiler_op(self, index: usize) -> Result<Option<(HrOpCost, String)>> {
        let mut out = HrOpCost { name: HrStr::EMPTY, calls: 0, self_ns: 0, total_ns: 0, flops: 0 };
        // SAFETY: the host writes one cost; its name is copied at once.
        let status = unsafe { (self.profiler()?.op_at)(self.raw(), index, &raw mut out) };
        // SAFETY: as above.
        Ok(self
            .present(status, out)?
            .map(|cost| (cost, unsafe { cost.name.to_lossy() }.into_owned())))
    }
}
