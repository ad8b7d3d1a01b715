//! `EMAEpochHook`: the average moves once per epoch.

use crate::averaging::Averaging;
use hookrack_plugin_api::prelude::*;

/// Averages the parameters once per epoch and evaluates with the average.
#[derive(Settings)]
pub struct EmaEpoch {
    /// Decay of the average: the fraction of it that is kept at each update.
    #[param(default = 0.9, min = 0.0, max = 1.0)]
    momentum: f64,
    /// Epoch in which averaging begins.
    #[param(default)]
    begin_epoch: u64,
    #[param(flatten)]
    averaging: Averaging,
    #[param(state)]
    average: WeightAverage,
}

#[hook(level = LOW, mutates = "params", writes = "nothing")]
impl Hook for EmaEpoch {
    fn on_attach(&mut self, t: &mut Trainer) -> Result<()> {
        self.averaging.attach(t)
    }

    fn after_load_checkpoint(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.check_loaded(t)
    }

    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.averaging.begin(&mut self.average, t)
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        if t.epoch() < self.begin_epoch {
            return Ok(());
        }
        self.averaging.update(&mut self.average, t, self.momentum)
    }

    fn before_eval(&mut self, t: &mut Trainer) -> Result<()> {
        self.averaging.swap_in(&mut self.average, t)
    }

    fn after_eval(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.swap_out(t)
    }

    fn before_pred(&mut self, t: &mut Trainer) -> Result<()> {
        self.averaging.swap_in(&mut self.average, t)
    }

    fn after_pred(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.swap_out(t)
    }

    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.export(t)
    }

    fn on_detach(&mut self, t: &mut Trainer) -> Result<()> {
        self.averaging.detach(t)
    }
}
