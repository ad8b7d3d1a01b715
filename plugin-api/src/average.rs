//! The averaged weights of a model, and the swap that lends them to an evaluation: what EMA and SWA have in common.

use crate::prelude::*;

/// Where the hook that swaps weights for evaluations leaves its name, for any other that would.
const CLAIM: &str = "evaluation_weights";

/// An average of the parameters.
///
/// Buffers (a batch norm's statistics) are not averaged: they are averages already, and some are counters. The
/// model's own serve the evaluation and are copied into the exported file.
#[derive(Default)]
pub struct WeightAverage {
    /// The averaged weights; while `lent`, the model's own.
    shadow: TensorList,
    /// The parameters' names, in the order of `shadow`.
    names: Vec<String>,
    updates: u64,
    lent: bool,
}

impl WeightAverage {
    /// How often the average has moved.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Whether there is an average: it was begun, or has moved.
    pub fn is_begun(&self) -> bool {
        !self.names.is_empty()
    }

    /// Begins the average with the parameters as they are, before any update. Without it, it begins with those of the
    /// first update.
    pub fn begin(&mut self, t: &Trainer) -> Result<()> {
        self.names = t.param_names()?;
        self.shadow = t.params().clone_detached()?;
        Ok(())
    }

    /// Moves the average a part of the way towards the parameters: `average + weight * (params - average)`. The first
    /// time, unless it was [begun](Self::begin) before, it becomes a copy of them: an average that began at the random
    /// initial weights would carry them along for the rest of a short run.
    pub fn update(&mut self, t: &Trainer, weight: f64) -> Result<()> {
        if self.is_begun() {
            self.shadow.lerp_(&t.params(), weight)?;
        } else {
            self.begin(t)?;
        }
        self.updates += 1;
        Ok(())
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
        if !self.is_begun() {
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
        let mut buffers = TensorList::default();
        t.buffers().iter().try_for_each(|buffer| buffers.push(buffer))?;
        self.export_with(t, &buffers)
    }

    /// As [`export`](Self::export), with buffers of its own: statistics that were gathered for the average.
    pub fn export_with(&self, t: &mut Trainer, buffers: &TensorList) -> Result<()> {
        // A failed run may have failed on the weights themselves; its last checkpoint has the average.
        let failed = t.outcome() == Some(Outcome::Failed);
        if !self.is_begun() || failed || t.rank() != 0 || t.run_dir().is_none() {
            return Ok(());
        }
        let mut names = self.names.clone();
        let mut tensors = TensorList::default();
        names.extend(t.buffer_names()?);
        for tensor in self.shadow.iter().chain(buffers.iter()) {
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
        if self.is_begun() {
            let names = t.param_names()?;
            let other = self.names.iter().find(|name| !names.contains(name));
            if let Some(name) = other {
                bail!(
                    "the checkpoint's average has `{name}`, which is not a parameter of this model"
                );
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
