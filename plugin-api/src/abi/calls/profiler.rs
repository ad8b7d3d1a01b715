//! Profiling.

use super::Host;
use super::wire::call;
use crate::abi::{HrOpCost, HrStr, ProfilerTable};
use crate::error::Result;

impl Host {
    /// Initializes the profiler.
    pub fn profiler_prepare(self, flags: u32) -> Result<()> {
        call!(self, self.require::<ProfilerTable>()?, prepare(flags))
    }

    /// Starts recording.
    pub fn profiler_start(self, flags: u32) -> Result<()> {
        call!(self, self.require::<ProfilerTable>()?, start(flags))
    }

    /// Stops recording.
    pub fn profiler_stop(self, file: &str) -> Result<()> {
        call!(self, self.require::<ProfilerTable>()?, stop(file))
    }

    /// An operator of the last profile, with its name.
    pub fn profiler_op(self, index: usize) -> Result<Option<(HrOpCost, String)>> {
        let empty = HrOpCost { name: HrStr::EMPTY, calls: 0, self_ns: 0, total_ns: 0, flops: 0 };
        let found = call!(self, self.require::<ProfilerTable>()?, op_at(index) -> Option(empty))?;
        // SAFETY: the name is lent until the next profile ends and copied here.
        Ok(found.map(|cost| (cost, unsafe { cost.name.to_lossy() }.into_owned())))
    }
}
