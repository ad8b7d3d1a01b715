//! The trainer as a hook sees it.

use crate::abi::{
    Host, LIST_BUFFERS, LIST_GRADS, LIST_PARAMS, METRIC_LATEST_EPOCH, METRIC_LATEST_STEP,
    REQUEST_SAVE, REQUEST_STOP, REQUEST_VALIDATE, SLOT_GRAD_NORM, SLOT_INPUT, SLOT_LABEL,
    SLOT_LOSS, SLOT_OUTPUT,
};
use crate::error::{Error, Result};
use crate::op::{Arg, CachedOp, Op, Returned};
use crate::phase::{Outcome, Phase};
use crate::tensor::{AsTensors, Tensor, Tensors};
use crate::value::Value;
use std::path::PathBuf;

/// What a hook receives at every point: where the run is, its tensors, and what may be asked of it.
pub struct Trainer {
    host: Host,
}

/// Where the run is.
impl Trainer {
    pub(crate) fn new(host: Host) -> Self {
        Self { host }
    }

    /// This hook's name in the config.
    pub fn instance(&self) -> &'static str {
        self.host.instance()
    }

    /// What the run is doing.
    pub fn phase(&self) -> Phase {
        Phase::from_code(self.host.progress().phase)
    }

    /// The epoch in progress; the first is 1. Between epochs, how many were begun.
    pub fn epoch(&self) -> u64 {
        self.host.progress().epoch
    }

    /// The training iteration in progress; the first is 1. Between iterations, how many were begun.
    pub fn iter(&self) -> u64 {
        self.host.progress().iter
    }

    /// The iteration in progress within the current pass; the first is 1.
    pub fn inner_iter(&self) -> u64 {
        self.host.progress().inner_iter
    }

    /// Iterations of one pass over the current phase's data.
    pub fn inner_len(&self) -> u64 {
        self.host.progress().inner_len
    }

    /// The epoch after which training ends.
    pub fn max_epochs(&self) -> u64 {
        self.host.progress().max_epochs
    }

    /// The iteration after which training ends.
    pub fn max_iters(&self) -> u64 {
        self.host.progress().max_iters
    }

    /// The micro-batch in progress (the first is 0) and how many an iteration has.
    pub fn micro_batch(&self) -> (u32, u32) {
        let progress = self.host.progress();
        (progress.micro, progress.micros)
    }

    /// Samples in the current batch.
    pub fn batch_size(&self) -> u64 {
        self.host.progress().batch_size
    }

    /// Training samples consumed so far.
    pub fn samples(&self) -> u64 {
        self.host.progress().samples
    }

    /// This process among [`Self::world_size`].
    pub fn rank(&self) -> u32 {
        self.host.progress().rank
    }

    /// How many processes train together.
    pub fn world_size(&self) -> u32 {
        self.host.progress().world
    }

    /// The run's seed.
    pub fn seed(&self) -> u64 {
        self.host.progress().seed
    }

    /// The first group's learning rate.
    pub fn lr(&self) -> f64 {
        self.host.progress().lr
    }

    /// Seconds that fetching the current batch took.
    pub fn data_time(&self) -> f64 {
        self.host.progress().data_time
    }

    /// Seconds that the current iteration took, from the start of its fetch to the end of its last role.
    pub fn iter_time(&self) -> f64 {
        self.host.progress().iter_time
    }

    /// How the run ended; `None` while it goes on.
    pub fn outcome(&self) -> Option<Outcome> {
        Outcome::from_code(self.host.progress().outcome)
    }

    /// What failed, at `on_exception` and after it.
    pub fn failure(&self) -> Option<String> {
        self.host.failure()
    }
}

/// What may be asked for.
impl Trainer {
    /// Asks the run to end at the next boundary; the first reason is kept.
    pub fn request_stop(&mut self, why: &str) -> Result<()> {
        self.host.request(REQUEST_STOP, why)
    }

    /// Asks for a validation in the next slot.
    pub fn request_validation(&mut self) -> Result<()> {
        self.host.request(REQUEST_VALIDATE, "")
    }

    /// Asks for a checkpoint in the next slot.
    pub fn request_checkpoint(&mut self) -> Result<()> {
        self.host.request(REQUEST_SAVE, "")
    }
}

/// Tensors.
impl Trainer {
    fn slot(&self, slot: u32, name: &str) -> Result<Tensor> {
        match self.host.slot(slot)? {
            Some(id) => Ok(Tensor::borrowed(self.host, id)),
            None => Err(Error::new(format!("there is no {name} at this point"))),
        }
    }

    fn list(&self, list: u32) -> Tensors<'_> {
        Tensors::new(self.host, self.host.list(list).unwrap_or(&[]))
    }

    fn names(&self, list: u32) -> Result<Vec<String>> {
        (0..self.list(list).len()).map(|index| self.host.name(list, index)).collect()
    }

    /// The current batch's input.
    pub fn input(&self) -> Result<Tensor> {
        self.slot(SLOT_INPUT, "input")
    }

    /// The current batch's label.
    pub fn label(&self) -> Result<Tensor> {
        self.slot(SLOT_LABEL, "label")
    }

    /// What the model made of the input.
    pub fn output(&self) -> Result<Tensor> {
        self.slot(SLOT_OUTPUT, "output")
    }

    /// The loss.
    pub fn loss(&self) -> Result<Tensor> {
        self.slot(SLOT_LOSS, "loss")
    }

    /// The norm of all gradients together, before clipping.
    pub fn grad_norm(&self) -> Result<Tensor> {
        self.slot(SLOT_GRAD_NORM, "gradient norm")
    }

    /// The model's parameters.
    pub fn params(&self) -> Tensors<'_> {
        self.list(LIST_PARAMS)
    }

    /// Their gradients, in the same order.
    pub fn grads(&self) -> Tensors<'_> {
        self.list(LIST_GRADS)
    }

    /// What the model keeps beside its parameters.
    pub fn buffers(&self) -> Tensors<'_> {
        self.list(LIST_BUFFERS)
    }

    /// The parameters' names, in their order.
    pub fn param_names(&self) -> Result<Vec<String>> {
        self.names(LIST_PARAMS)
    }

    /// The buffers' names, in their order.
    pub fn buffer_names(&self) -> Result<Vec<String>> {
        self.names(LIST_BUFFERS)
    }

    /// An operator of libtorch by name, such as `aten::lerp_.Scalar`. Find once, call often.
    pub fn op(&self, name: &str) -> Result<Op> {
        Op::find(self.host, name)
    }

    /// Calls an operator with a fixed name, which is looked up at the first call of the process.
    pub fn call(&self, op: &CachedOp, args: &[Arg<'_>]) -> Result<Returned> {
        op.call(self.host, args)
    }

    /// A new tensor from rows of numbers; `shape` multiplied is their count.
    pub fn tensor<T: crate::view::Element>(&self, elements: &[T], shape: &[i64]) -> Result<Tensor> {
        let view = crate::abi::DLTensor::lend(elements, shape)?;
        Ok(Tensor::owned(self.host, self.host.from_view(&view)?))
    }
}

/// What roles do.
impl Trainer {
    /// Runs the model on the current input; its result is the output.
    pub fn forward(&mut self) -> Result<()> {
        self.host.forward()
    }

    /// Runs the model on a tensor of your own.
    pub fn model(&mut self, input: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.model(input.id())?))
    }

    /// Computes the configured loss of output and label.
    pub fn criterion(&mut self) -> Result<()> {
        self.host.criterion()
    }

    /// Differentiates the loss.
    pub fn backward(&mut self) -> Result<()> {
        self.host.backward()
    }

    /// Changes the parameters by their gradients, which stay until the iteration ends.
    pub fn optimizer_step(&mut self) -> Result<()> {
        self.host.optimizer_step()
    }

    /// Sets the learning rate by the configured schedule.
    pub fn lr_step(&mut self) -> Result<()> {
        self.host.lr_step()
    }

    /// Gives the output.
    pub fn set_output(&mut self, output: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_OUTPUT, output.id())
    }

    /// Gives the loss.
    pub fn set_loss(&mut self, loss: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_LOSS, loss.id())
    }

    /// How many groups of parameters the optimizer has.
    pub fn group_count(&self) -> usize {
        self.host.group_count()
    }

    /// A group's learning rate.
    pub fn group_lr(&self, group: usize) -> Result<f64> {
        self.host.lr(group)
    }

    /// Sets a group's learning rate.
    pub fn set_group_lr(&mut self, group: usize, lr: f64) -> Result<()> {
        self.host.set_lr(group, lr)
    }

    /// Sets the learning rate of every group.
    pub fn set_lr(&mut self, lr: f64) -> Result<()> {
        (0..self.group_count()).try_for_each(|group| self.host.set_lr(group, lr))
    }
}

/// Scalars, metrics and shared values.
impl Trainer {
    /// Puts a scalar for the current iteration. `name` is scoped by the phase: `loss` is `train/loss` in training;
    /// `@norm` is this hook's own, `hook/<instance>/norm`.
    pub fn put_scalar(&mut self, name: &str, value: f64) -> Result<()> {
        let key = self.host.scalar_key(name, true)?;
        self.host.put_scalar(key, value)
    }

    /// A scalar's key, for one that is put at every iteration. `smooth` says whether writers show a median.
    pub fn scalar_key(&self, name: &str, smooth: bool) -> Result<ScalarKey> {
        Ok(ScalarKey(self.host.scalar_key(name, smooth)?))
    }

    /// Puts a scalar by its key. Allocates nothing, looks nothing up.
    pub fn put(&mut self, key: ScalarKey, value: f64) -> Result<()> {
        self.host.put_scalar(key.0, value)
    }

    /// The last value of a scalar.
    pub fn latest(&self, key: ScalarKey) -> Result<Option<f64>> {
        self.host.latest(key.0)
    }

    /// The median of the last values of a scalar.
    pub fn median(&self, key: ScalarKey, window: usize) -> Result<Option<f64>> {
        self.host.median(key.0, window)
    }

    /// Has the writers write what was put since they last did.
    pub fn write_events(&mut self) -> Result<()> {
        self.host.write_events()
    }

    /// A metric's value over the last finished pass of a phase; `None` before there was one.
    pub fn metric(&self, phase: Phase, name: &str) -> Result<Option<f64>> {
        self.host.metric(phase.code(), name, METRIC_LATEST_EPOCH)
    }

    /// A metric's value of the last batch of a phase; `None` where it has none.
    pub fn step_metric(&self, phase: Phase, name: &str) -> Result<Option<f64>> {
        self.host.metric(phase.code(), name, METRIC_LATEST_STEP)
    }

    /// A value that some hook shares under `key`.
    pub fn state(&self, key: &str) -> Option<Value> {
        self.host.state(key)
    }

    /// Shares a value under `key`, in place of what was there.
    pub fn put_state(&mut self, key: &str, value: impl Into<Value>) -> Result<()> {
        self.host.put_state(key, &value.into())
    }

    /// Withdraws a shared value; false where there was none.
    pub fn remove_state(&mut self, key: &str) -> Result<bool> {
        self.host.remove_state(key)
    }
}

/// Files.
impl Trainer {
    /// The run directory; `None` where the run leaves none.
    pub fn run_dir(&self) -> Option<PathBuf> {
        self.host.run_dir()
    }

    /// Writes tensors to a file of the run directory, such as `ema.safetensors`: whole or not at all.
    pub fn save_tensors(
        &mut self,
        file: &str,
        names: &[String],
        tensors: &impl AsTensors,
    ) -> Result<()> {
        self.host.save_tensors(file, names, tensors.ids())
    }
}

/// A scalar's name, looked up once.
#[derive(Clone, Copy, Debug)]
pub struct ScalarKey(u32);
