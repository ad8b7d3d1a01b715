//! `Engine`: the parts of training in one hand, each step of an iteration a method that can fail.

mod learning_rate;

use tch::{Device, Tensor};

use super::builder::{EngineBuilder, Parts};
use super::clip::GradClip;
use super::data::{DataSpec, Rank};
use super::data_parallel::{DataParallel, Pass};
use super::error::{EngineError, Result};
use super::loss::Criterion;
use super::loss_scaler::{Aside, LossScaler, LossScalerSettings, LossScaling, WithoutScaler};
use super::lr::{Horizon, LrSchedule};
use super::model::{Mode, Model};
use super::named_tensor::{self, NamedTensor, tensor_list};
use super::optimizer::Optimizer;
use super::piece::{Piece, SavedTensors};
use super::precision::Precision;
use super::registry::{Build as _, Choice};
use super::schedule::{self, Action, Layout, NoPipeline, SCHEDULES, Schedule, ScheduleContext};
use hookrack_torch::TensorList;
use hookrack_torch::autograd::GradMode;
use hookrack_torch::{foreach, shape};

/// Model, loss, optimizer, learning rate and schedule of one run.
pub struct Engine {
    model: Box<dyn Model>,
    criterion: Option<Box<dyn Criterion>>,
    optimizer: Box<dyn Optimizer>,
    lr_schedule: Box<dyn LrSchedule>,
    lr_choice: Option<(Choice, Horizon)>,
    schedule: Box<Schedule>,
    schedule_choice: Choice,
    clip: GradClip,
    precision: Precision,
    scaling: LossScalerSettings,
    loss_scaler: Option<LossScaler>,
    device: Device,
    data: DataSpec,
    params: TensorList,
    lr_position: u64,
    pub(super) told_at: Option<u64>,
    pub(super) parallel: Option<DataParallel>,
    shard: Rank,
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
    /// Begins an engine: parts are given one by one, then built for a kind of data.
    #[must_use]
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    pub(super) fn assemble(parts: Parts) -> Self {
        let precision = parts.precision;
        let mut engine = Self {
            params: tensor_list(parts.model.params()),
            model: parts.model,
            criterion: parts.criterion,
            optimizer: parts.optimizer,
            lr_schedule: parts.lr_schedule,
            lr_choice: parts.lr_choice,
            schedule: parts.schedule,
            schedule_choice: parts.schedule_choice,
            clip: GradClip::new(parts.clip),
            precision,
            scaling: parts.loss_scaler,
            loss_scaler: None,
            device: parts.device,
            data: parts.data,
            lr_position: 0,
            told_at: None,
            parallel: None,
            shard: parts.shard,
        };
        engine.set_precision(precision);
        engine.set_lr_position(0);
        engine
    }

    /// The model's output. Gradients are recorded in training, whatever the caller's mode is.
    pub fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let _mode = GradMode::set(mode == Mode::Train);
        self.precision.forward(self.device, || self.model.forward(input, mode))
    }

    /// The model's output without gradients being recorded, in either mode.
    pub fn infer(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let _mode = GradMode::set(false);
        self.precision.forward(self.device, || self.model.forward(input, mode))
    }

    /// Chooses the arithmetic of forward and backward passes; loss scaling begins anew where it needs any.
    pub fn set_precision(&mut self, precision: Precision) {
        self.precision = precision;
        let is_scaled = precision == Precision::Fp16;
        self.loss_scaler = is_scaled.then(|| LossScaler::new(self.scaling));
    }

    /// Begins loss scaling anew, by another rule.
    pub fn set_loss_scaling(&mut self, scaling: LossScalerSettings) -> Result<()> {
        let scaler = self.loss_scaler.as_mut().ok_or(EngineError::NotScaled)?;
        (self.scaling, *scaler) = (scaling, LossScaler::new(scaling));
        Ok(())
    }

    /// What the data look like that the parts were built for.
    pub fn data(&self) -> &DataSpec {
        &self.data
    }

    /// The precision of forward and backward passes.
    pub(super) fn precision(&self) -> &Precision {
        &self.precision
    }

    /// Where the model is.
    pub fn device(&self) -> Device {
        self.device
    }

    /// What somebody who chose this precision should know about this machine.
    pub fn caution(&self) -> Option<String> {
        self.precision.caution(self.device)
    }

    /// The loss of an output.
    pub fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        let _mode = GradMode::set(true);
        self.criterion()?.loss(output, label)
    }

    fn criterion(&self) -> Result<&dyn Criterion> {
        self.criterion.as_deref().ok_or(EngineError::NoLoss)
    }

    /// What the mean of the loss is taken over: how many labels count, or what they weigh together; rows where each
    /// counts as one. Losses of parts, weighed by it, make the loss of the whole. See [`Criterion::counted`].
    pub fn loss_weight(&self, label: &Tensor) -> Result<f64> {
        Ok(self.counted(label)?.unwrap_or_else(|| rows_of(shape::side(label, 0).unwrap_or(1))))
    }

    /// What the labels weigh together, where the loss does not count each of them as one.
    pub(super) fn counted(&self, label: &Tensor) -> Result<Option<f64>> {
        self.criterion.as_ref().map_or(Ok(None), |loss| loss.counted(label))
    }

    /// Adds the gradients of `weight * loss` to the parameters. `weight` is the micro-batch's share; one of nothing
    /// adds nothing, also where its loss is NaN because no label counts. In fp16 they are too large by the loss scale until
    /// [`unscale`](Self::unscale).
    pub fn backward(&self, loss: &Tensor, weight: f64, pass: Pass) -> Result<()> {
        if weight == 0.0 {
            return Ok(());
        }
        let _mode = GradMode::set(true);
        if let Some(scaler) = &self.loss_scaler {
            return self.differentiate(&scaler.scaled(loss, weight)?, pass);
        }
        if (weight - 1.0).abs() < f64::EPSILON {
            return self.differentiate(loss, pass);
        }
        self.differentiate(&loss.f_mul_scalar(weight)?, pass)
    }

    /// Takes part in the summing of gradients without adding any: for a rank none of whose labels counts. `output` leads to the
    /// parameters.
    pub fn backward_nothing(&self, output: &Tensor) -> Result<()> {
        let _mode = GradMode::set(true);
        self.differentiate(&output.f_sum(output.kind())?.f_mul_scalar(0.0)?, Pass::Last)
    }

    /// Sets all gradients to none.
    pub fn zero_grad(&mut self) -> Result<()> {
        self.optimizer.zero_grad()
    }

    /// Brings the gradients of a scaled loss back to their size, once all micro-batches have added theirs.
    /// `None` unless the loss is scaled.
    pub fn unscale(&mut self) -> Result<Option<LossScaling>> {
        let scaler = self.loss_scaler.as_mut();
        scaler.map(|scaler| scaler.unscale(&self.params)).transpose()
    }

    /// Adds the gradients of a whole batch's loss to those that [`unscale`](Self::unscale) has brought to their size, and
    /// brings them to the same. `weight` is the share of this rank. `None` unless the loss is scaled.
    pub fn backward_again(&mut self, loss: &Tensor, weight: f64) -> Result<Option<LossScaling>> {
        let Some(scaler) = &self.loss_scaler else {
            return self.backward(loss, weight, Pass::Last).map(|()| None);
        };
        let _mode = GradMode::set(true);
        let product = scaler.scaled(loss, weight)?;
        let aside = Aside::take(&self.params)?;
        let passed = self.differentiate(&product, Pass::Last);
        let scaler = self.loss_scaler.as_mut().ok_or(EngineError::NotScaled)?;
        let scaling = passed.and_then(|()| scaler.unscale_again(&self.params));
        aside.put_back()?;
        scaling.map(Some)
    }

    /// Clips the gradients where the config asks for it, and gives their norm before, as a 0-dim tensor whose
    /// value nobody has waited for. `None` when the norm is not clipped.
    pub fn clip(&mut self) -> Result<Option<Tensor>> {
        if !self.clip.is_on() {
            return Ok(None);
        }
        self.clip.clip(&self.params)
    }

    /// The norm over all gradients, as a 0-dim tensor.
    pub fn grad_norm(&mut self) -> Result<Tensor> {
        self.clip.norm(&self.params)
    }

    /// Changes every parameter that has a gradient. Does nothing where loss scaling found that a gradient is
    /// not finite.
    pub fn optimizer_step(&mut self) -> Result<()> {
        if self.is_step_skipped() {
            return Ok(());
        }
        self.optimizer.step()?;
        self.gather_params()
    }

    /// Whose share of the optimizer's state this process keeps; one process has all of it.
    pub fn shard(&self) -> Rank {
        self.shard
    }

    fn is_step_skipped(&self) -> bool {
        self.loss_scaler.as_ref().is_some_and(LossScaler::skipped)
    }

    /// The parameters, in a fixed order.
    pub fn params(&self) -> &[NamedTensor] {
        self.model.params()
    }

    /// Whether every number of every parameter is finite. Waits for the device.
    pub fn has_finite_params(&self) -> Result<bool> {
        let _mode = GradMode::set(false);
        Ok(foreach::norm(&self.params, f64::INFINITY)?.f_double_value(&[])?.is_finite())
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

    /// Cuts batches into so many micro-batches from here on.
    pub fn set_accumulation(&mut self, parts: usize) -> Result<()> {
        let context = ScheduleContext { accumulation: parts };
        self.schedule = self.schedule_choice.build(SCHEDULES, &context)?;
        Ok(())
    }

    /// Micro-batches of each batch.
    pub fn accumulation(&self) -> usize {
        self.schedule.parts()
    }

    /// What this process, which has the whole model, does in an iteration of so many micro-batches.
    pub fn actions(&self, micros: usize) -> Vec<Action> {
        let micros = u32::try_from(micros).unwrap_or(u32::MAX);
        let is_one_stage = self.schedule.stages() == 1;
        let order = if is_one_stage { self.schedule.order() } else { NoPipeline::ORDER };
        schedule::actions(order, Layout::alone(micros), 0)
    }

    /// How a batch is cut into micro-batches.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// What this process saves of the state of the optimizer and of loss scaling. Where it is sharded, the ranks together save all.
    pub fn optimizer_state(&self) -> Vec<Piece> {
        let scaler = self.loss_scaler.iter().filter(|_| self.shard.rank == 0);
        let scaler = scaler.flat_map(LossScaler::state).map(Piece::from);
        self.optimizer.state().into_iter().chain(scaler).collect()
    }

    /// Puts back what [`optimizer_state`](Self::optimizer_state) gave, in a run of whatever precision and number of ranks.
    pub fn load_optimizer_state(&mut self, state: &dyn SavedTensors) -> Result<()> {
        self.optimizer.load_state(&WithoutScaler(state))?;
        self.loss_scaler.as_mut().map_or(Ok(()), |own| own.load_state(state))
    }

    /// Parameters and buffers, to save; handles to the live tensors.
    pub fn model_state(&self) -> Vec<NamedTensor> {
        self.params().iter().chain(self.buffers()).cloned().collect()
    }

    /// Puts parameters and buffers back. Nothing changes unless all of it fits.
    pub fn load_model_state(&mut self, state: &dyn SavedTensors) -> Result<()> {
        let own: Vec<_> = self.model_state().into_iter().map(Piece::from).collect();
        named_tensor::load("model", &own, state)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a batch has far fewer rows than 2^53")]
pub(super) fn rows_of(rows: i64) -> f64 {
    rows as f64
}

#[cfg(test)]
mod tests;
