//! Profiles of libtorch and of hooks.

use super::Trainer;
use crate::abi::{PROFILE_FLOPS, PROFILE_MEMORY, PROFILE_SHAPES};
use crate::error::Result;

/// What a profile records in addition to names and times. Each makes the recorded iterations slower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProfileOptions {
    /// The shapes of inputs.
    pub shapes: bool,
    /// Allocations and deallocations.
    pub memory: bool,
    /// Estimated floating point operations; also records shapes.
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

/// The cost of one operator in a profile. Times are those of the CPU: of a kernel on a GPU, that of its
/// launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpCost {
    /// Its name, such as `aten::addmm`.
    pub name: String,
    /// The number of calls.
    pub calls: u64,
    /// Self time in nanoseconds: without the operators that it called.
    pub self_ns: u64,
    /// Total time in nanoseconds: including the operators that it called.
    pub total_ns: u64,
    /// Floating point operations, if they were estimated; 0 if they are unknown.
    pub flops: u64,
}

/// Profiles (extension `hookrack.profiler/1`). Only one can be recorded at a time in a process.
///
/// The run is slower while it is recorded, and every event takes memory until the profile ends: record a few
/// iterations.
impl Trainer {
    /// Initializes the profiler without recording, so that the first recorded iteration is not slower than
    /// the others.
    ///
    /// # Errors
    /// A profile is already being recorded in this process, or the host does not have this extension.
    pub fn prepare_profile(&mut self, options: ProfileOptions) -> Result<()> {
        self.host.profiler_prepare(options.flags())
    }

    /// Starts recording every operator, every point and every hook call.
    ///
    /// It is recorded until [`stop_profile`](Self::stop_profile), over any number of points and iterations:
    /// stop it at the latest in `after_train`.
    ///
    /// # Errors
    /// As for [`Self::prepare_profile`].
    pub fn start_profile(&mut self, options: ProfileOptions) -> Result<()> {
        self.host.profiler_start(options.flags())
    }

    /// Stops recording and returns the cost of each operator, the most expensive first.
    ///
    /// If `file` is given, such as `trace.json`, also writes a trace for `chrome://tracing` or Perfetto; a
    /// relative path is inside the run directory. An absolute path may be anywhere; its folder is created.
    /// Adding up the events and writing the trace can take seconds after a long profile.
    ///
    /// # Errors
    /// Nothing is being recorded, or the trace cannot be written: its name does not end in `.json`, it is a
    /// file of the run itself, or a relative path is given in a run without a directory. The profile ends in
    /// any case.
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
