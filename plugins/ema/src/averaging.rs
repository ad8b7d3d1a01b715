//! What both hooks share; they differ in when the average is updated.

use crate::momentum::momentum;
use hookrack_plugin_api::prelude::*;

/// The settings that both hooks have.
#[derive(Settings)]
pub(crate) struct Averaging {
    /// Initialize the average with the initial weights, as iMIX's `init_ema` does, instead of those of the first
    /// update.
    #[param(default)]
    init_ema: bool,
    /// Start with a lower momentum that grows to `momentum`.
    #[param(default = true)]
    warmup: bool,
    /// Evaluate and predict with the averaged weights; the model's own are restored afterwards.
    #[param(default = true)]
    evaluate: bool,
}

impl Averaging {
    /// Reserves the swap of weights in evaluations, which only one hook of a run may do.
    pub(crate) fn attach(&mut self, t: &mut Trainer) -> Result<()> {
        self.evaluate = self.evaluate && WeightAverage::claim_evaluation(t)?;
        Ok(())
    }

    pub(crate) fn detach(&self, t: &mut Trainer) -> Result<()> {
        if self.evaluate { WeightAverage::release_evaluation(t) } else { Ok(()) }
    }

    /// Starts the average with the initial weights, if that is set. A resumed run has an average already.
    pub(crate) fn begin(&self, average: &mut WeightAverage, t: &Trainer) -> Result<()> {
        if self.init_ema && !average.is_begun() { average.begin(t) } else { Ok(()) }
    }

    /// Moves the average towards the parameters.
    pub(crate) fn update(&self, average: &mut WeightAverage, t: &Trainer, set: f64) -> Result<()> {
        let kept = momentum(average.updates(), set, self.warmup);
        average.update(t, 1.0 - kept)
    }

    /// Swaps the average into the model, if evaluations use it.
    pub(crate) fn swap_in(&self, average: &mut WeightAverage, t: &Trainer) -> Result<()> {
        if self.evaluate { average.swap_in(t) } else { Ok(()) }
    }
}
