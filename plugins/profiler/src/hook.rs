//! `AutogradProfilerHook`: records a window of iterations, then writes a trace and a table.

use crate::table::table;
use crate::window::{Part, Window};
use hookrack_plugin_api::prelude::*;

/// Profiles libtorch, autograd and every hook for a few iterations: writes a trace to `output_dir` and logs a table
/// of the most expensive operators.
#[derive(Settings)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct AutogradProfilerHook {
    /// Iterations to wait before each recording.
    #[param(default = 10)]
    wait: u64,
    /// Warm-up iterations before each recording, which the profiler discards.
    #[param(default = 1)]
    warmup: u64,
    /// Iterations to record; a trace needs about 300 bytes per operator call.
    #[param(default = 3, min = 1)]
    active: u64,
    /// Number of repetitions; 0 repeats until the run ends.
    #[param(default = 1)]
    repeat: u64,
    /// Record the shapes of operator inputs.
    #[param(default)]
    record_shapes: bool,
    /// Record allocations and deallocations.
    #[param(default)]
    profile_memory: bool,
    /// Estimate floating point operations.
    #[param(default)]
    with_flops: bool,
    /// Folder of the traces, absolute or relative to the run directory.
    #[param(default = "profile")]
    output_dir: String,
    /// Maximum number of rows in the table.
    #[param(default = 20)]
    row_limit: usize,
    #[param(skip)]
    seen: u64,
    #[param(skip)]
    is_recording: bool,
}
impl AutogradProfilerHook {
    fn window(&self) -> Window {
        let Self { wait, warmup, active, repeat, .. } = *self;
        Window { wait, warmup, active, repeat }
    }

    fn options(&self) -> ProfileOptions {
        ProfileOptions {
            shapes: self.record_shapes,
            memory: self.profile_memory,
            flops: self.with_flops,
        }
    }

    fn finish(&mut self, t: &mut Trainer) -> Result<()> {
        self.is_recording = false;
        let folder = self.output_dir.trim_start_matches("./").trim_end_matches('/');
        let name = format!("{}-iter_{:07}.json", t.instance(), t.iter());
        let file = if matches!(folder, "" | ".") { name } else { format!("{folder}/{name}") };
        let file = t.run_dir().is_some().then_some(file);
        let costs = t.stop_profile(file.as_deref())?;
        let table = table(&costs, self.row_limit);
        match file {
            Some(file) => {
                info!("{} iterations up to {} are in {file}\n{table}", self.active, t.iter());
            }
            None => info!("{} iterations up to {}\n{table}", self.active, t.iter()),
        }
        Ok(())
    }
}

#[hook(level = HIGHEST, writes = "nothing")]
impl Hook for AutogradProfilerHook {
    fn before_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        match self.window().part(self.seen) {
            Part::Warmup => t.prepare_profile(self.options()),
            Part::Active if !self.is_recording => {
                t.start_profile(self.options())?;
                self.is_recording = true;
                Ok(())
            }
            Part::Active | Part::Wait => Ok(()),
        }
    }

    // After the last point of an iteration, so that what hooks do there is in the trace.
    fn after_iter(&mut self, t: &mut Trainer) -> Result<()> {
        if t.phase() != Phase::Train {
            return Ok(());
        }
        let ends = self.window().ends_after(self.seen);
        self.seen += 1;
        if ends && self.is_recording { self.finish(t) } else { Ok(()) }
    }

    // A run that ends within the window leaves what was recorded.
    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        if self.is_recording { self.finish(t) } else { Ok(()) }
    }
}
