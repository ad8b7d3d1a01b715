//! Saving a fake run, and resuming one.

use super::{FakeCheckpoint, FakeTrainer, SavedState};
use crate::error::{Error, Result};
use crate::point::Point as P;

/// State. It goes through the same tables as in the host: what cannot be saved there is an error here, except
/// for the limits on depth and size of values.
impl FakeTrainer {
    /// Saves a checkpoint, with the points around it; [`checkpoint`](Self::checkpoint) returns it.
    pub(super) fn save(&mut self) -> Result<()> {
        self.reach(P::BeforeSaveCheckpoint)?;
        self.checkpoint = Some(self.save_state()?);
        self.world.borrow_mut().wants_checkpoint = false;
        self.reach(P::AfterSaveCheckpoint)
    }

    /// Returns the last checkpoint that the run wrote; `None` before the first.
    pub fn checkpoint(&self) -> Option<&FakeCheckpoint> {
        self.checkpoint.as_ref()
    }

    /// Returns a checkpoint of the current state, without the points around it. Tensors are copied.
    ///
    /// # Errors
    /// A hook or metric cannot save its state.
    pub fn save_state(&self) -> Result<FakeCheckpoint> {
        let mut states = std::collections::BTreeMap::new();
        for hook in self.hooks.iter().filter(|hook| hook.has_state) {
            let saved = hook.instance.save(&self.world);
            let saved = saved.map_err(|error| unsaved("hook", hook.name, &error))?;
            states.insert(hook.name.to_owned(), saved);
        }
        for metric in &self.metrics {
            let saved = metric.instance.save(&self.world);
            let saved = saved.map_err(|error| unsaved("metric", metric.name, &error))?;
            states.insert(metric.name.to_owned(), saved);
        }
        let world = self.world.borrow();
        let progress = world.progress.get();
        let params = world.params.iter().map(|it| (it.name.clone(), it.tensor.copy())).collect();
        Ok(FakeCheckpoint { epoch: progress.epoch, iter: progress.iter, params, states })
    }

    /// Resumes from a checkpoint: restores the weights, the progress, and the state of hooks and metrics with
    /// the same names. Hooks are attached and `before_run` is fired before, `after_load_checkpoint` after it;
    /// a [`fit`](Self::fit) that follows continues from there.
    ///
    /// Use a new trainer with the same parameters and hooks, as a resumed run is a new process. State of an
    /// instance that the trainer does not have is ignored, and so is a hook without state in the checkpoint.
    ///
    /// # Errors
    /// A hook cannot load its state, or fails at one of the points. A parameter of the checkpoint is unknown,
    /// or has another shape.
    pub fn resume(&mut self, from: &FakeCheckpoint) -> Result<()> {
        self.attach()?;
        self.reach(P::BeforeRun)?;
        self.has_begun = true;
        for (name, tensor) in &from.params {
            self.set_weights(name, tensor.clone())?;
        }
        self.world.borrow().advance(|p| (p.epoch, p.iter) = (from.epoch, from.iter));
        for hook in &self.hooks {
            if let Some(saved) = from.states.get(hook.name) {
                let loaded = hook.instance.load(&self.world, saved);
                loaded.map_err(|it| it.context(format!("hook `{}` at load_state", hook.name)))?;
            }
        }
        for metric in &self.metrics {
            if let Some(saved) = from.states.get(metric.name) {
                metric.instance.load(&self.world, saved)?;
            }
        }
        self.reach(P::AfterLoadCheckpoint)
    }

    /// Merges the saved state of another instance into a metric, as between ranks:
    /// `checkpoint.states["Accuracy"]` is such a state.
    ///
    /// # Errors
    /// The metric is unknown, or cannot load the state.
    pub fn merge_metric(&mut self, name: &str, saved: &SavedState) -> Result<()> {
        match self.metrics.iter().find(|metric| metric.name == name) {
            Some(metric) => metric.instance.merge(&self.world, saved),
            None => crate::bail!("no metric is named `{name}`"),
        }
    }
}

fn unsaved(what: &str, name: &str, error: &Error) -> Error {
    Error::new(format!("{what} `{name}` could not save its state: {error}"))
}
