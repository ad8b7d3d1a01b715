//! `MaxstepsCallback`: ends a run after a number of iterations.

use hookrack_plugin_api::prelude::*;

/// Stops training after `max_step` iterations and saves a checkpoint to resume from; schedules still span the
/// configured length.
#[derive(Settings)]
pub(super) struct MaxStepsCallback {
    /// Last iteration.
    #[param(min = 1)]
    max_step: u64,
}

impl MaxStepsCallback {
    // The run's own end needs no request.
    fn stop_if_reached(&self, t: &mut Trainer) -> Result<()> {
        if t.iter() >= self.max_step && t.iter() < t.max_iters() {
            return t.request_stop(&format!("max_step = {} is reached", self.max_step));
        }
        Ok(())
    }
}

#[hook(level = 57, aliases = "MaxStepsCallback", on_error = "abort")]
impl Hook for MaxStepsCallback {
    // A resumed run may already have reached it.
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.stop_if_reached(t)
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.stop_if_reached(t)
    }
}
