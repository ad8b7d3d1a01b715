//! `SWAHook`: averages, swaps and exports at the points of a run.

use crate::norms::Norms;
use crate::schedule;
use hookrack_plugin_api::prelude::*;

/// Stochastic weight averaging: averages the weights of the last epochs equally, at a constant learning rate, and evaluates with the average.
#[derive(Settings)]
pub struct SwaHook {
    /// When averaging begins: below 1 a fraction of the epochs, otherwise an epoch.
    #[param(default = 0.75, min = 0, alias = "swa_epoch_start")]
    start: f64,
    /// Learning rate while averaging; by default the schedule continues.
    #[param(alias = "swa_lrs")]
    lr: Option<f64>,
    /// Epochs over which the rate is annealed from the schedule's to `lr`.
    #[param(default = 10)]
    anneal_epochs: u64,
    /// Evaluate and predict with the averaged weights; the model's own are restored afterwards.
    #[param(default = true)]
    evaluate: bool,
    /// Recompute the batch norm statistics of the average with a pass over the training data, for evaluations and for the file at the end.
    #[param(default = true, alias = "update_bn")]
    update_norms: bool,
    /// Number of batches in that pass; 0 for all.
    #[param(default)]
    norm_batches: u64,
    #[param(state)]
    average: WeightAverage,
    #[param(skip)]
    norms: Norms,
    #[param(state)]
    lr_before: Option<f64>,
}
impl SwaHook {
    fn first_epoch(&self, t: &Trainer) -> u64 {
        schedule::first_epoch(self.start, t.max_epochs())
    }

    /// Swaps the average into the model, with recomputed statistics.
    fn swap_in(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.swap_in(t)?;
        let updates = self.average.updates();
        if self.update_norms && updates > 0 {
            self.norms.swap_in(t, updates, self.norm_batches)?;
        }
        Ok(())
    }

    fn swap_out(&mut self, t: &Trainer) -> Result<()> {
        self.norms.swap_out(t)?;
        self.average.swap_out(t)
    }

    /// Writes the average to the run directory, without another pass over the data after a signal or a failure.
    fn export(&mut self, t: &mut Trainer) -> Result<()> {
        if matches!(t.outcome(), Some(Outcome::Completed | Outcome::Stopped))
            && t.run_dir().is_some()
        {
            self.swap_in(t)?;
            self.swap_out(t)?;
        }
        match self.norms.gathered(self.average.updates()) {
            Some(buffers) => self.average.export_with(t, buffers),
            None => self.average.export(t),
        }
    }

    /// Holds the rate, overriding the schedule.
    fn hold_rate(&mut self, t: &mut Trainer) -> Result<()> {
        let (Some(to), first) = (self.lr, self.first_epoch(t)) else { return Ok(()) };
        if t.epoch() < first {
            return Ok(());
        }
        let from = *self.lr_before.get_or_insert(t.lr());
        t.set_lr(schedule::rate(from, to, t.epoch(), first, self.anneal_epochs))
    }
}

#[hook(level = 34, mutates = "params, lr", writes = "nothing")]
impl Hook for SwaHook {
    fn on_attach(&mut self, t: &mut Trainer) -> Result<()> {
        self.evaluate = self.evaluate && WeightAverage::claim_evaluation(t)?;
        Ok(())
    }

    fn after_load_checkpoint(&mut self, t: &mut Trainer) -> Result<()> {
        self.average.check_loaded(t)
    }

    fn before_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.hold_rate(t)
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        if t.epoch() < self.first_epoch(t) {
            return Ok(());
        }
        let weight = schedule::weight(self.average.updates());
        self.average.update(t, weight)
    }

    fn before_eval(&mut self, t: &mut Trainer) -> Result<()> {
        if self.evaluate { self.swap_in(t) } else { Ok(()) }
    }

    fn after_eval(&mut self, t: &mut Trainer) -> Result<()> {
        self.swap_out(t)
    }

    fn before_pred(&mut self, t: &mut Trainer) -> Result<()> {
        if self.evaluate { self.swap_in(t) } else { Ok(()) }
    }

    fn after_pred(&mut self, t: &mut Trainer) -> Result<()> {
        self.swap_out(t)
    }

    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.export(t)
    }

    fn on_detach(&mut self, t: &mut Trainer) -> Result<()> {
        if self.evaluate { WeightAverage::release_evaluation(t) } else { Ok(()) }
    }
}
