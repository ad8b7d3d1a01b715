//! The averaged weights of a model, and the swap that lends them to an evaluation.

use hookrack_plugin_api::prelude::*;

/// Where the hook that swaps weights for evaluations leaves its name, for any other that would.
const CLAIM: &str = "evaluation_weights";

/// An average of the parameters.
///
/// Buffers (a batch norm's statistics) are not averaged: they are averages already, and some are counters. The
/// model's own serve the evaluation and are copied into the exported file.
#[derive(Default)]
pub struct Average {
    /// The averaged weights; while `lent`, the model's own.
    shadow: TensorList,
    /// The parameters' names, in the order of `shadow`.
    names: Vec<String>,
    updates: u64,
    lent: bool,
}

impl Average {
    /// Moves the average towards the parameters. The first time it becomes a copy of them: an average that began
    /// at the random initial weights would carry them along for the rest of a short run.
    pub fn update(&mut self, t: &Trainer, momentum: f64) -> Result<()> {
        if self.updates == 0 {
            self.names = t.param_names()?;
            self.shadow = t.params().clone_detached()?;
        } else {
            self.shadow.lerp_(&t.params(), 1.0 - momentum)?;
        }
        self.updates += 1;
        Ok(())
    }

    /// The momentum for the next update. With `warmup` it starts low and grows to the one that is set, so that the
    /// average does not lag behind while the model still learns fast.
    pub fn momentum(&self, set: f64, warmup: bool) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "updates stay far below 2^53")]
        let updates = self.updates as f64;
        if warmup { set.min((1.0 + updates) / (10.0 + updates)) } else { set }
    }

    /// Says that this hook swaps weights for evaluations; false where another one already does. Two would put
    /// averages back where the model's own weights belong, since points run in the same order before and after an
    /// evaluation.
    pub fn claim_evaluation(t: &mut Trainer) -> Result<bool> {
        if let Some(other) = t.state(CLAIM) {
            let other = other.as_str().unwrap_or("another hook");
            info!(
                "`{other}` evaluates with its weights: this average is kept and saved, but not evaluated"
            );
            return Ok(false);
        }
        t.put_state(CLAIM, t.instance()).map(|()| true)
    }

    /// Takes that back, as the hook leaves.
    pub fn release_evaluation(t: &mut Trainer) -> Result<()> {
        t.remove_state(CLAIM).map(drop)
    }

    /// Puts the average into the model, and the model's own weights where the average was.
    pub fn lend(&mut self, t: &Trainer) -> Result<()> {
        if self.updates == 0 {
            info!("no average yet: evaluating with the model's own weights");
        } else if !self.lent {
            self.shadow.swap_(&t.params())?;
            self.lent = true;
        }
        Ok(())
    }

    /// Puts the model's own weights back, if the average is in their place.
    pub fn take_back(&mut self, t: &Trainer) -> Result<()> {
        if self.lent {
            self.shadow.swap_(&t.params())?;
            self.lent = false;
        }
        Ok(())
    }

    /// Leaves the averaged model in the run directory, as `<instance>.safetensors`.
    pub fn export(&self, t: &mut Trainer) -> Result<()> {
        // A failed run may have failed on the weights themselves; its last checkpoint has the average.
        let failed = t.outcome() == Some(Outcome::Failed);
        if self.updates == 0 || failed || t.rank() != 0 || t.run_dir().is_none() {
            return Ok(());
        }
        let mut names = self.names.clone();
        let mut tensors = TensorList::default();
        names.extend(t.buffer_names()?);
        for tensor in self.shadow.iter().chain(t.buffers().iter()) {
            tensors.push(tensor)?;
        }
        let file = format!("{}.safetensors", t.instance());
        t.save_tensors(&file, &names, &tensors)?;
        info!("wrote the average of {} updates to {file}", self.updates);
        Ok(())
    }

    /// Puts the average into a checkpoint, each tensor under its parameter's name.
    pub fn save(&self, state: &mut StateWriter<'_>) -> Result<()> {
        ensure!(
            !self.lent,
            "the average is lent to the model: nothing is saved during an evaluation"
        );
        state.put("updates", self.updates)?;
        state.put("names", self.names.clone())?;
        for (name, tensor) in self.names.iter().zip(self.shadow.iter()) {
            state.put_tensor(&format!("average.{name}"), &tensor)?;
        }
        Ok(())
    }

    /// Takes it back out of a checkpoint.
    pub fn load(&mut self, state: &StateReader<'_>) -> Result<()> {
        let mut loaded = Self {
            updates: state.value("updates")?,
            names: state.value("names")?,
            ..Self::default()
        };
        for name in &loaded.names {
            loaded.shadow.push(state.tensor(&format!("average.{name}"))?)?;
        }
        *self = loaded;
        Ok(())
    }

    /// Makes sure that what was loaded is the average of this model.
    pub fn check_loaded(&self, t: &Trainer) -> Result<()> {
        if self.updates > 0 {
            let names = t.param_names()?;
            let other = self.names.iter().find(|name| !names.contains(name));
            if let Some(name) = other {
                bail!("the checkpoint's average has `{name}`, which is no parameter of this model");
            }
            ensure!(
                self.names == names,
                "the checkpoint's average has {} parameters, this model {}",
                self.names.len(),
                names.len()
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Average;

    fn momentum_after(updates: u64, set: f64, warmup: bool) -> f64 {
        Average { updates, ..Average::default() }.momentum(set, warmup)
    }

    #[test]
    fn warm_up_lets_the_average_follow_at_first() {
        let close = |found: f64, wanted: f64| (found - wanted).abs() < 1e-12;
        assert!(close(momentum_after(1, 0.999, true), 2.0 / 11.0));
        assert!(close(momentum_after(90, 0.999, true), 0.91));
    }

    #[test]
    fn warm_up_never_passes_the_momentum_that_is_set() {
        assert!(momentum_after(1_000_000, 0.999, true) <= 0.999);
        assert!(momentum_after(1_000_000, 0.5, true) <= 0.5);
    }

    #[test]
    fn without_warm_up_the_momentum_is_the_one_that_is_set() {
        assert!((momentum_after(0, 0.999, false) - 0.999).abs() < 1e-12);
    }
}
