//! The results of a fake run: weights, scalars, logs, requests.

use super::world::LogLine;
use super::{FakeTensor, FakeTrainer};
use crate::abi::SLOT_LOSS;
use crate::error::Result;
use crate::phase::Phase;
use crate::point::Point;
use crate::trainer::Trainer;
use crate::value::Value;

/// Results. Each returns a copy, and may be asked for at any time between calls.
impl FakeTrainer {
    /// Calls `body` with a trainer as a hook receives it, to read anything or to act as another hook.
    ///
    /// It may change whatever `mutates` can declare. It is at no point and in no role: setting the batch, the
    /// output or the loss is refused, as it would be there. Tensors are valid as for a hook.
    pub fn with<T>(&mut self, body: impl FnOnce(&mut Trainer) -> T) -> T {
        body(&mut Trainer::of_host(self.own.1))
    }

    /// Sets the progress of the run, for points that are fired one by one. `iter` is the iteration of the run
    /// and of the epoch; hooks with a cadence are due by these numbers.
    pub fn at(&mut self, epoch: u64, iter: u64) -> &mut Self {
        self.world.borrow().advance(|progress| {
            (progress.epoch, progress.iter, progress.inner_iter) = (epoch, iter, iter);
        });
        self
    }

    /// Returns the values of a parameter, in row-major order.
    ///
    /// # Errors
    /// The parameter is unknown.
    pub fn weights(&self, param: &str) -> Result<Vec<f64>> {
        Ok(self.world.borrow().param(param)?.tensor.values())
    }

    /// Sets the values of a parameter. Handles of hooks stay valid and see them.
    ///
    /// # Errors
    /// The parameter is unknown, or its shape differs.
    pub fn set_weights(&mut self, param: &str, values: impl Into<FakeTensor>) -> Result<()> {
        self.world.borrow().param(param)?.tensor.assign(&values.into())
    }

    /// Returns the gradient of a parameter in the current iteration; `None` if it has none, after the end of
    /// an iteration, or for an unknown parameter.
    pub fn gradient_of(&self, param: &str) -> Option<Vec<f64>> {
        let world = self.world.borrow();
        world.param(param).ok()?.grad.as_ref().map(FakeTensor::values)
    }

    /// Returns the loss of the current iteration; `None` after its end.
    pub fn current_loss(&self) -> Option<f64> {
        self.world.borrow().in_slot(SLOT_LOSS)?.item().ok()
    }

    /// Returns the last value of a scalar: by its full name (`val/Accuracy`, `hook/Ema/norm`), or one of
    /// training by its short one. `None` if it was not logged.
    pub fn scalar(&self, name: &str) -> Option<f64> {
        self.scalar_values(name).last().copied()
    }

    /// Returns every value of a scalar, in the order in which they were logged; none if it was not logged.
    /// All values are kept.
    pub fn scalar_values(&self, name: &str) -> Vec<f64> {
        let full = if name.contains('/') { name.to_owned() } else { format!("train/{name}") };
        let world = self.world.borrow();
        let found = world.scalars.iter().find(|scalar| scalar.name == full);
        found.map_or_else(Vec::new, |it| it.values.iter().map(|(_, _, value)| *value).collect())
    }

    /// Returns the full names of all scalars that have a value, in the order of their first use.
    pub fn scalar_names(&self) -> Vec<String> {
        let world = self.world.borrow();
        let known = world.scalars.iter().filter(|scalar| !scalar.values.is_empty());
        known.map(|scalar| scalar.name.clone()).collect()
    }

    /// Returns a metric's value over the last pass of a phase, with `.suffix` for one of several; `None` if
    /// it is unknown, NaN before the first pass.
    pub fn metric_of(&self, phase: Phase, name: &str) -> Option<f64> {
        let world = self.world.borrow();
        world.metrics.iter().find(|it| it.phase == phase && it.name == name).map(|it| it.epoch)
    }

    /// Returns a value shared between hooks. Tensors that hooks share are read by [`with`](Self::with).
    pub fn state(&self, key: &str) -> Option<Value> {
        let world = self.world.borrow();
        world.states.iter().find(|(own, _)| own == key).map(|(_, value)| value.clone())
    }

    /// Returns the reason of a requested stop, the first one; `None` if there was no request.
    pub fn stop_reason(&self) -> Option<String> {
        self.world.borrow().stop.clone()
    }

    /// Returns whether a requested validation is pending. Any validation serves it.
    pub fn is_validation_requested(&self) -> bool {
        self.world.borrow().wants_validation
    }

    /// Returns whether a requested checkpoint is pending. Any checkpoint serves it.
    pub fn is_checkpoint_requested(&self) -> bool {
        self.world.borrow().wants_checkpoint
    }

    /// Returns the tensors of a file that a hook has saved, by name. Nothing is written to disk.
    pub fn file(&self, name: &str) -> Option<Vec<(String, FakeTensor)>> {
        self.world.borrow().files.get(name).cloned()
    }

    /// Returns the contents of a file that a hook has written by `write_file`. Nothing is written to disk.
    pub fn written_file(&self, name: &str) -> Option<Vec<u8>> {
        self.world.borrow().written.get(name).cloned()
    }

    /// Returns the messages that hooks have logged, at every level. Those of other threads than that of the
    /// test are not kept.
    pub fn logs(&self) -> Vec<LogLine> {
        self.world.borrow().logs.clone()
    }

    /// Returns calls that have no effect in the fake trainer, such as `set_accumulation(4)`, as text, in
    /// order. Refused ones are not among them.
    pub fn calls(&self) -> Vec<String> {
        self.world.borrow().calls.clone()
    }

    /// Returns every point that was reached, in order, roles and points without a hook included. A point that
    /// a cadence skips is reached too.
    pub fn points(&self) -> &[Point] {
        &self.reached
    }

    /// Returns the number of tensors that hooks have not dropped. If it grows with every iteration, there is
    /// a leak.
    pub fn tensors_held(&self) -> usize {
        self.world.borrow().kept()
    }
}
