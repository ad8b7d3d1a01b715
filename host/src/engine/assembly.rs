//! `Engine`: the parts of training in one hand, each step of an iteration a method that can fail.

use tch::{Device, Tensor};

use super::clip::GradClip;
use super::data::DataSpec;
use super::error::{EngineError, Result};
use super::loss::{Criterion, LOSSES};
use super::lr::{Horizon, LR_SCHEDULES, LrSchedule};
use super::model::{MODELS, Mode, Model, ModelContext};
use super::named_tensor::{self, NamedTensor, tensor_list};
use super::optimizer::{OPTIMIZERS, Optimizer};
use super::registry::Choice;
use super::schedule::{SCHEDULES, Schedule, ScheduleContext};
use crate::torch::autograd::{self, GradMode};
use crate::torch::{self, TensorList, rng};

/// What an engine is built from.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineSpec {
    /// `[model]`
    pub model: Choice,
    /// `[loss]`
    pub loss: Choice,
    /// `[optimizer]`
    pub optimizer: Choice,
    /// `[lr_scheduler]`
    pub lr_scheduler: Choice,
    /// `[schedule]`
    pub schedule: Choice,
    /// Micro-batches per optimizer step.
    pub accumulation: usize,
    /// The largest gradient norm; 0 does not clip.
    pub clip_grad_norm: f64,
    /// Seeds libtorch's random numbers before the model is made.
    pub seed: u64,
    /// How long the run is.
    pub horizon: Horizon,
}

/// Model, loss, optimizer, learning rate and schedule of one run.
pub struct Engine {
    model: Box<dyn Model>,
    criterion: Box<dyn Criterion>,
    optimizer: Box<dyn Optimizer>,
    lr_schedule: Box<dyn LrSchedule>,
    schedule: Box<dyn Schedule>,
    clip: GradClip,
    params: TensorList,
    lr_position: u64,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine")
            .field("params", &self.params.len())
            .field("lr_position", &self.lr_position)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Seeds libtorch and builds every part for data of this kind.
    pub fn build(spec: &EngineSpec, data: &DataSpec) -> Result<Self> {
        torch::start();
        rng::seed(spec.seed);
        let context = ModelContext { data: data.clone(), device: Device::Cpu };
        let model = spec.model.build("model", MODELS, &context)?;
        let criterion = spec.loss.build("loss", LOSSES, data)?;
        let optimizer = spec.optimizer.build("optimizer", OPTIMIZERS, model.params())?;
        let lr_schedule = spec.lr_scheduler.build("lr scheduler", LR_SCHEDULES, &spec.horizon)?;
        let context = ScheduleContext { accumulation: spec.accumulation };
        let schedule = spec.schedule.build("schedule", SCHEDULES, &context)?;
        let params = tensor_list(model.params());
        let clip = GradClip::new(spec.clip_grad_norm);
        let mut engine = Self {
            model,
            criterion,
            optimizer,
            lr_schedule,
            schedule,
            clip,
            params,
            lr_position: 0,
        };
        engine.set_lr_position(0);
        Ok(engine)
    }

    /// The model's output. Gradients are recorded in training, whatever the caller's mode is.
    pub fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let _mode = GradMode::set(mode == Mode::Train);
        self.model.forward(input, mode)
    }

    /// The loss of an output.
    pub fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        let _mode = GradMode::set(true);
        self.criterion.loss(output, label)
    }

    /// Adds the gradients of `weight * loss` to the parameters. `weight` is the micro-batch's share.
    pub fn backward(&self, loss: &Tensor, weight: f64) -> Result<()> {
        let _mode = GradMode::set(true);
        if (weight - 1.0).abs() < f64::EPSILON {
            return Ok(autograd::backward(loss)?);
        }
        Ok(autograd::backward(&loss.f_mul_scalar(weight)?)?)
    }

    /// Sets all gradients to none.
    pub fn zero_grad(&mut self) -> Result<()> {
        self.optimizer.zero_grad()
    }

    /// Clips the gradients where the config asks for it, and gives their norm before, as a 0-dim tensor whose
    /// value nobody has waited for. `None` when clipping is off.
    pub fn clip(&mut self) -> Result<Option<Tensor>> {
        if !self.clip.is_on() {
            return Ok(None);
        }
        self.clip.clip(&self.params).map(Some)
    }

    /// The norm over all gradients, as a 0-dim tensor.
    pub fn grad_norm(&mut self) -> Result<Tensor> {
        self.clip.norm(&self.params)
    }

    /// Changes every parameter that has a gradient.
    pub fn optimizer_step(&mut self) -> Result<()> {
        self.optimizer.step()
    }

    /// Goes to the next step of the learning rate schedule.
    pub fn lr_step(&mut self) {
        self.set_lr_position(self.lr_position + 1);
    }

    /// How many steps the learning rate schedule has made.
    pub fn lr_position(&self) -> u64 {
        self.lr_position
    }

    /// Puts the learning rate schedule at a step, as a resumed run does.
    pub fn set_lr_position(&mut self, position: u64) {
        self.lr_position = position;
        for group in self.optimizer.groups_mut() {
            group.lr = self.lr_schedule.lr(group.base_lr, position);
        }
    }

    /// What the schedule says at the current position for a group that began at `base`.
    pub fn scheduled_lr(&self, base: f64) -> f64 {
        self.lr_schedule.lr(base, self.lr_position)
    }

    /// Whether the learning rate schedule steps by epoch; else by iteration.
    pub fn lr_by_epoch(&self) -> bool {
        self.lr_schedule.by_epoch()
    }

    /// The learning rate of the first parameter group.
    pub fn lr(&self) -> f64 {
        self.optimizer.groups().first().map_or(0.0, |group| group.lr)
    }

    /// How many parameter groups there are.
    pub fn group_count(&self) -> usize {
        self.optimizer.groups().len()
    }

    /// The learning rate of a parameter group.
    pub fn group_lr(&self, group: usize) -> Result<f64> {
        let found = self.optimizer.groups().get(group).map(|group| group.lr);
        found.ok_or(EngineError::NoGroup { group, count: self.group_count() })
    }

    /// Sets the learning rate of a parameter group, until the schedule's next step.
    pub fn set_group_lr(&mut self, group: usize, lr: f64) -> Result<()> {
        let count = self.group_count();
        let found = self.optimizer.groups_mut().get_mut(group);
        found.ok_or(EngineError::NoGroup { group, count })?.lr = lr;
        Ok(())
    }

    /// Sets the learning rate of every parameter group, until the schedule's next step.
    pub fn set_lr(&mut self, lr: f64) {
        for group in self.optimizer.groups_mut() {
            group.lr = lr;
        }
    }

    /// The parameters, in a fixed order.
    pub fn params(&self) -> &[NamedTensor] {
        self.model.params()
    }

    /// The parameters as a list for list operators.
    pub fn param_list(&self) -> &TensorList {
        &self.params
    }

    /// What the model keeps beside its parameters.
    pub fn buffers(&self) -> &[NamedTensor] {
        self.model.buffers()
    }

    /// The model.
    pub fn model(&self) -> &dyn Model {
        self.model.as_ref()
    }

    /// The optimizer.
    pub fn optimizer(&self) -> &dyn Optimizer {
        self.optimizer.as_ref()
    }

    /// The optimizer, to change it.
    pub fn optimizer_mut(&mut self) -> &mut dyn Optimizer {
        self.optimizer.as_mut()
    }

    /// How a batch is cut into micro-batches.
    pub fn schedule(&self) -> &dyn Schedule {
        self.schedule.as_ref()
    }

    /// Parameters and buffers, to save; handles to the live tensors.
    pub fn model_state(&self) -> Vec<NamedTensor> {
        self.params().iter().chain(self.buffers()).cloned().collect()
    }

    /// Puts parameters and buffers back. Nothing changes unless all of it fits.
    pub fn load_model_state(&mut self, state: &[NamedTensor]) -> Result<()> {
        named_tensor::load("model", &self.model_state(), state)
    }
}

#[cfg(test)]
mod tests;
