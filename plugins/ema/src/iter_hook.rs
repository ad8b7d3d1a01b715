//! `EMAIterHook`: the average moves at every iteration.

use crate::average::Average;
use hookrack_plugin_api::prelude::*;

/// Averages the parameters at every iteration and evaluates with the average.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmaIter {
    /// How much of the average stays at each update.
    #[serde(default = "momentum")]
    #[param(min = 0.0, max = 1.0)]
    momentum: f64,
    /// The iteration at which the average begins.
    #[serde(default)]
    begin_iter: u64,
    /// Starts with a lower momentum that grows to the one that is set.
    #[serde(default = "yes")]
    warmup: bool,
    /// Evaluates and predicts with the averaged weights; the model's own come back afterwards.
    #[serde(default = "yes")]
    evaluate: bool,
    #[serde(skip)]
    average: Average,
}
fn momentum() -> f64 {
    0.999
}
fn yes() -> bool {
    true
}

#[hook(level = NORMAL, mutates = "params")]
impl Hook for EmaIter {
    fn on_attach(&mut self, t: &mut Trainer) -> Result<()> {
        self.evaluate = self.evaluate && Average::claim_evaluation(t)?;
        Ok(())
    }

    fn after_load_checkpoint(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.check_loaded(t)
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        if t.iter() < self.begin_iter {
            return Ok(());
        }
        let momentum = self.average.momentum(self.momentum, self.warmup);
        self.average.update(t, momentum)
    }

    fn before_eval(&mut self, t: &mut Trainer) -> Result<()> {
        if self.evaluate { self.average.lend(t) } else { Ok(()) }
    }

    fn after_eval(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.take_back(t)
    }

    // What was evaluated is what predicts.
    fn before_pred(&mut self, t: &mut Trainer) -> Result<()> {
        if self.evaluate { self.average.lend(t) } else { Ok(()) }
    }

    fn after_pred(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.take_back(t)
    }

    // An evaluation that fails or is cut short never reaches `after_eval`. Whatever comes next finds the model's own
    // weights: a checkpoint, the end of training, or whoever looks after a failure.
    fn before_save_checkpoint(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.take_back(t)
    }

    fn on_exception(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.take_back(t)
    }

    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.take_back(t)?;
        self.average.export(t)
    }

    fn on_detach(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.take_back(t)?;
        if self.evaluate { Average::release_evaluation(t) } else { Ok(()) }
    }

    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        self.average.save(state)
    }

    fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> {
        self.average.load(state)
    }
}
