//! The results of a fake run: weights, scalars, logs, requests.

use super::world::LogLine;
use super::{FakeTensor, FakeTrainer};
use crate::abi::SLOT_LOSS;
use crate::error::Result;
use crate::phase::Phase;
use crate::point::Point;
use crate::trainer::Trainer;
use crate::value::Value;

/// Results.
impl FakeTrainer {
    /// Calls `body` with a trainer as a hook receives it, to read anything or to act as another hook.
    pub fn with<T>(&mut self, body: impl FnOnce(&mut Trainer) -> T) -> T {
        body(&mut Trainer::of_host(self.own.1))
    }

    /// Sets the progress of the run, for points that are fired one by one.
    pub fn at(&mut self, epoch: u64, iter: u64) -> &mut Self {
        self.world.borrow().advance(|progress| {
            (progress.epoch, progress.iter, progress.inner_iter) = (epoch, iter, iter);
        });
        self
    }

    /// The values of a parameter.
    ///
    /// # Errors
    /// The parameter is unknown.
    pub fn weights(&self, param: &str) -> Result<Vec<f64>> {
        Ok(self.world.borrow().param(param)?.tensor.values())
    }

    /// Sets the values of a parameter.
    ///
    /// # Errors
    /// The parameter is unknown, or its shape differs.
    pub fn set_weights(&mut self, param: &str, values: impl Into<FakeTensor>) -> Result<()> {
        self.world.borrow().param(param)?.tensor.assign(&values.into())
    }

    /// The gradient of a parameter in the current iteration.
    pub fn gradient_of(&self, param: &str) -> Option<Vec<f64>> {
        let world = self.world.borrow();
        world.param(param).ok()?.grad.as_ref().map(FakeTensor::values)
    }

    /// The loss of the current iteration.
    pub fn current_loss(&self) -> Option<f64> {
        self.world.borrow().in_slot(SLOT_LOSS)?.item().ok()
    }

    /// The last value of a scalar: by its full name (`val/Accuracy`, `hook/Ema/norm`), or one of training by its short one.
    pub fn scalar(&self, name: &str) -> Option<f64> {
        self.scalar_values(name).last().copied()
    }

    /// Every value of a scalar.
    pub fn scalar_values(&self, name: &str) -> Vec<f64> {
        let full = if name.contains('/') { name.to_owned() } else { format!("train/{name}") };
        let world = self.world.borrow();
        let found = world.scalars.iter().find(|scalar| scalar.name == full);
        found.map_or_else(Vec::new, |it| it.values.iter().map(|(_, _, value)| *value).collect())
    }

    /// The full names of all scalars that have a value.
    pub fn scalar_names(&self) -> Vec<String> {
        let world = self.world.borrow();
        let known = world.scalars.iter().filter(|scalar| !scalar.values.is_empty());
        known.map(|scalar| scalar.name.clone()).collect()
    }

    /// A metric's value over the last pass of a phase.
    pub fn metric_of(&self, phase: Phase, name: &str) -> Option<f64> {
        let world = self.world.borrow();
        world.metrics.iter().find(|it| it.phase == phase && it.name == name).map(|it| it.epoch)
    }

    /// A value shared between hooks.
    pub fn state(&self, key: &str) -> Option<Value> {
        let world = self.world.borrow();
        world.states.iter().find(|(own, _)| own == key).map(|(_, value)| value.clone())
    }

    /// The reason of a requested stop.
    pub fn stop_reason(&self) -> Option<String> {
        self.world.borrow().stop.clone()
    }

    /// Whether a requested validation is pending.
    pub fn is_validation_requested(&self) -> bool {
        self.world.borrow().wants_validation
    }

    /// Whether a requested checkpoint is pending.
    pub fn is_checkpoint_requested(&self) -> bool {
        self.world.borrow().wants_checkpoint
    }

    /// The tensors of a file that a hook has saved, by name.
    pub fn file(&self, name: &str) -> Option<Vec<(String, FakeTensor)>> {
        self.world.borrow().files.get(name).cloned()
    }

    /// The contents of a file that a hook has written by `write_file`.
    pub fn written_file(&self, name: &str) -> Option<Vec<u8>> {
        self.world.borrow().written.get(name).cloned()
    }

    /// The messages that hooks have logged.
    pub fn logs(&self) -> Vec<LogLine> {
        self.world.borrow().logs.clone()
    }

    /// Calls that have no effect in the fake trainer, such as `set_accumulation(4)`, as text, in
    /// order.
    pub fn calls(&self) -> Vec<String> {
        self.world.borrow().calls.clone()
    }

    /// Every point that was reached, in order.
    pub fn points(&self) -> &[Point] {
        &self.reached
    }

    /// The number of tensors that hooks have not dropped. If it grows with every iteration, there is a leak.
    pub fn tensors_held(&self) -> usize {
        self.world.borrow().kept()
    }
}
