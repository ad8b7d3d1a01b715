//! Recording what libtorch does.

use super::Trainer;
use crate::abi::{PROFILE_FLOPS, PROFILE_MEMORY, PROFILE_SHAPES};
use crate::error::Result;

/// What a profile records beside names and times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProfileOptions {
    /// The shapes of inputs.
    pub shapes: bool,
    /// Memory that is taken and given back.
    pub memory: bool,
    /// An estimate of floating point operations; needs shapes, and so brings them.
    pub flops: bool,
}

impl ProfileOptions {
    fn flags(self) -> u32 {
        let flag = |wanted: bool, flag: u32| if wanted { flag } else { 0 };
        flag(self.shapes || self.flops, PROFILE_SHAPES)
            | flag(self.memory, PROFILE_MEMORY)
            | flag(self.flops, PROFILE_FLOPS)
    }
}

/// What the calls of one operator cost in a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpCost {
    /// Its name, such as `aten::addmm`.
    pub name: String,
    /// How often it was called.
    pub calls: u64,
    /// Nanoseconds in it, without operators that it called.
    pub self_ns: u64,
    /// Nanoseconds in it.
    pub total_ns: u64,
    /// Floating point operations, where they were estimated; 0 where they are not known.
    pub flops: u64,
}

/// Profiles. One at a time in a process.
impl Trainer {
    /// Gets ready to record, so that the first recorded iteration is like the others.
    ///
    /// # Errors
    /// The host is older than this service, or another profile is under way.
    pub fn prepare_profile(&mut self, options: ProfileOptions) -> Result<()> {
        self.host.profiler_prepare(options.flags())
    }

    /// Records every operator from here on, and a range for every point and every call of a hook.
    ///
    /// # Errors
    /// As [`Self::prepare_profile`].
    pub fn start_profile(&mut self, options: ProfileOptions) -> Result<()> {
        self.host.profiler_start(options.flags())
    }

    /// Records no longer; gives what each operator cost, the costliest first. With a file, such as `trace.json`, the
    /// whole trace is written to the run directory, for `chrome://tracing` or Perfetto.
    ///
    /// # Errors
    /// Nothing was being recorded, or the trace could not be written.
    pub fn stop_profile(&mut self, file: Option<&str>) -> Result<Vec<OpCost>> {
        self.host.profiler_stop(file.unwrap_or_default())?;
        let mut costs = Vec::new();
        while let Some((cost, name)) = self.host.profiler_op(costs.len())? {
            let crate::abi::HrOpCost { calls, self_ns, total_ns, flops, .. } = cost;
            costs.push(OpCost { name, calls, self_ns, total_ns, flops });
        }
        Ok(costs)
    }
}
