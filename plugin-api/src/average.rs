//! Averaged weights of a model and their use in evaluations: what EMA and SWA have in common.

use crate::prelude::*;

/// The shared value with the name of the hook that swaps weights in evaluations.
const CLAIM: &str = "evaluation_weights";

/// An average of the parameters, as for EMA and SWA, and the swap that uses it in evaluations.
///
/// It holds one copy of the parameters; an update is one call for all of them. Buffers, such as the
/// statistics of batch norms, are not averaged: the model's own are used in evaluations and copied into the
/// exported file. As a field with `#[param(state)]` it is saved in checkpoints.
///
/// A hook that [swaps](Self::swap_in) declares `mutates = "params"`; updating needs nothing, since it only
/// reads the parameters. In a pipeline it holds the parameters of this rank's stage. Checkpoints have it
/// under fixed keys, so a hook can have only one.
#[derive(Default)]
pub struct WeightAverage {
    /// The averaged weights; while `is_swapped_in`, the model's own.
    shadow: TensorList,
    /// The parameters' names, in the order of `shadow`.
    names: Vec<String>,
    updates: u64,
    is_swapped_in: bool,
    /// Whether `shadow` was restored and not used since: it is on the CPU.
    is_restored: bool,
}

impl WeightAverage {
    /// Returns the number of updates so far, those before a resume included.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Returns whether there is an average.
    pub fn is_begun(&self) -> bool {
        !self.names.is_empty()
    }

    /// Starts the average with a copy of the current parameters, the only one that it keeps. Without this,
    /// the first [`update`](Self::update) does so.
    ///
    /// Allocates as much memory as the parameters have. An average that had begun is replaced.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn begin(&mut self, t: &Trainer) -> Result<()> {
        self.names = t.param_names()?;
        self.shadow = t.params().clone_detached()?;
        self.is_restored = false;
        Ok(())
    }

    /// Moves a restored average to the device of the parameters.
    fn settle(&mut self, t: &Trainer) -> Result<()> {
        if self.is_restored {
            self.shadow.move_to(&t.params())?;
            self.is_restored = false;
        }
        Ok(())
    }

    /// Moves the average towards the parameters: `average + weight * (params - average)`. One call for all of
    /// them, in place; it does not wait for the device.
    ///
    /// The first update copies the parameters, unless the average was [started](Self::begin) before: an
    /// average that starts with the random initial weights would keep a part of them for the rest of a short
    /// run.
    ///
    /// While the average is [swapped in](Self::swap_in), do not call it: it would change the model's own
    /// weights.
    ///
    /// # Errors
    /// The parameters have other shapes than the average.
    pub fn update(&mut self, t: &Trainer, weight: f64) -> Result<()> {
        if self.is_begun() {
            self.settle(t)?;
            self.shadow.lerp_(&t.params(), weight)?;
        } else {
            self.begin(t)?;
        }
        self.updates += 1;
        Ok(())
    }

    /// Reserves the swap of weights in evaluations for this hook; false if another hook has it. Call it in
    /// `on_attach`.
    ///
    /// Two hooks that swap would restore the wrong weights, since the points before and after an evaluation
    /// run in the same order.
    ///
    /// The reservation is a [shared value](Trainer::put_state), `evaluation_weights`, with the name of the
    /// hook. If another hook has it, the log says so.
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

    /// Releases the reservation; call it in `on_detach`, if [`claim_evaluation`](Self::claim_evaluation)
    /// returned true.
    pub fn release_evaluation(t: &mut Trainer) -> Result<()> {
        t.remove_state(CLAIM).map(drop)
    }

    /// Swaps the average into the model; call it in `before_eval` and `before_pred`. Does nothing if there is
    /// no average yet, or if it is in use.
    ///
    /// Needs a temporary copy of the parameters. [`Trainer::params`] has the same handles as before. Call
    /// [`swap_out`](Self::swap_out) in `after_eval` and `after_pred`, which follow also if the evaluation
    /// fails.
    ///
    /// # Errors
    /// The hook does not declare `mutates = "params"`, or there is not enough memory.
    pub fn swap_in(&mut self, t: &Trainer) -> Result<()> {
        if !self.is_begun() {
            info!("no average yet: evaluating with the model's own weights");
        } else if !self.is_swapped_in {
            self.settle(t)?;
            self.shadow.swap_(&t.params())?;
            self.is_swapped_in = true;
        }
        Ok(())
    }

    /// Swaps the model's own weights back; call it in `after_eval` and `after_pred`. Does nothing if they are
    /// in place.
    ///
    /// Needs a temporary copy of the parameters. The weights are those of before, bit for bit.
    ///
    /// # Errors
    /// As for [`swap_in`](Self::swap_in).
    pub fn swap_out(&mut self, t: &Trainer) -> Result<()> {
        if self.is_swapped_in {
            self.shadow.swap_(&t.params())?;
            self.is_swapped_in = false;
        }
        Ok(())
    }

    /// Former name of [`swap_in`](Self::swap_in).
    #[deprecated(since = "1.2.0", note = "renamed to `swap_in`")]
    pub fn lend(&mut self, t: &Trainer) -> Result<()> {
        self.swap_in(t)
    }

    /// Former name of [`swap_out`](Self::swap_out).
    #[deprecated(since = "1.2.0", note = "renamed to `swap_out`")]
    pub fn take_back(&mut self, t: &Trainer) -> Result<()> {
        self.swap_out(t)
    }

    /// Writes the averaged model to `<instance>.safetensors` in the run directory; on rank 0, unless the run
    /// has failed. In a pipeline rank 0 has the parameters of the first stage only: the host warns, and
    /// `hookrack export --what ema` writes all of them.
    ///
    /// Call it in `after_train`, after the average was swapped out. Does nothing if there is no average or no
    /// run directory. Copies everything to the CPU and waits for the disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn export(&self, t: &mut Trainer) -> Result<()> {
        let mut buffers = TensorList::default();
        t.buffers().iter().try_for_each(|buffer| buffers.push(buffer))?;
        self.export_with(t, &buffers)
    }

    /// As [`export`](Self::export), with other buffers, such as statistics recomputed for the average. They
    /// are in the order of [`Trainer::buffers`].
    ///
    /// # Errors
    /// The file cannot be written, or there is another number of buffers than in the model.
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

    /// Saves the average in a checkpoint, each tensor under its parameter's name.
    ///
    /// For a hook with a `save_state` of its own; `#[param(state)]` calls it.
    ///
    /// # Errors
    /// The average is swapped into the model: checkpoints are not taken in evaluations.
    pub fn save(&self, state: &mut StateWriter<'_>) -> Result<()> {
        ensure!(
            !self.is_swapped_in,
            "the average is in use by the model: it cannot be saved during an evaluation"
        );
        state.put("updates", self.updates)?;
        state.put("names", self.names.clone())?;
        for (name, tensor) in self.names.iter().zip(self.shadow.iter()) {
            state.put_tensor(&format!("average.{name}"), &tensor)?;
        }
        Ok(())
    }

    /// Restores the average from a checkpoint, on the CPU; its next use moves it to the device of the
    /// parameters. If it fails, the average is unchanged.
    ///
    /// # Errors
    /// The checkpoint has no average, or not all of its tensors.
    pub fn load(&mut self, state: &StateReader<'_>) -> Result<()> {
        let mut loaded = Self {
            updates: state.value("updates")?,
            names: state.value("names")?,
            is_restored: true,
            ..Self::default()
        };
        for name in &loaded.names {
            loaded.shadow.push(state.tensor(&format!("average.{name}"))?)?;
        }
        *self = loaded;
        Ok(())
    }

    /// Checks that the restored average belongs to this model; call it in `after_load_checkpoint`.
    ///
    /// Compares names, not shapes. An average that has not begun is fine.
    ///
    /// # Errors
    /// The names of the parameters differ.
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
