//! `Engine`: model, loss, optimizer and schedule; each step of an iteration is a fallible method.

mod arithmetic;
mod learning_rate;

use std::collections::HashSet;

use tch::{Device, Tensor};

use super::builder::{EngineBuilder, Parts};
use super::clip::GradClip;
use super::data::{DataSpec, Rank};
use super::data_parallel::{DataParallel, Pass};
use super::error::{EngineError, Result};
use super::loss::Criterion;
use super::loss_scaler::{LossScaler, LossScalerSettings, LossScaling, StashedGrads};
use super::lr::{Horizon, LrSchedule};
use super::memory_format::MemoryFormat;
use super::model::Model;
use super::named_tensor::{self, NamedTensor, tensor_list};
use super::optimizer::Optimizer;
use super::pipeline::Pipeline;
use super::precision::Precision;
use super::registry::{Build as _, Choice};
use super::schedule::{self, Action, Layout, SCHEDULES, Schedule, ScheduleContext, Table};
use super::stage::Stage;
use super::tensor_shard::{Accepted, SavedTensors, TensorShard};
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
    memory_format: MemoryFormat,
    scaling: LossScalerSettings,
    loss_scaler: Option<LossScaler>,
    device: Device,
    data: DataSpec,
    params: TensorList,
    lr_position: u64,
    pub(super) told_at: Option<u64>,
    pub(super) parallel: Option<DataParallel>,
    pub(super) stage: Option<Stage>,
    pub(super) pipeline: Option<Pipeline>,
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
            precision: parts.precision,
            memory_format: parts.memory_format,
            scaling: parts.loss_scaler,
            loss_scaler: None,
            device: parts.device,
            data: parts.data,
            lr_position: 0,
            told_at: None,
            parallel: None,
            stage: parts.stage,
            pipeline: None,
            shard: parts.shard,
        };
        engine.begin_scaling();
        engine.set_lr_position(0);
        engine
    }

    /// An error in a process that has a stage of the model only.
    fn refuse_stage(&self, what: &'static str) -> Result<()> {
        let staged =
            |it: &Stage| EngineError::Staged { what, stage: it.number, stages: it.layout.stages };
        self.stage.as_ref().map_or(Ok(()), |stage| Err(staged(stage)))
    }

    /// How images are laid out in memory while the model computes.
    pub fn memory_format(&self) -> MemoryFormat {
        self.memory_format
    }

    /// Changes the layout of images, from the next forward pass on.
    pub fn set_memory_format(&mut self, format: MemoryFormat) {
        self.memory_format = format;
    }

    /// What the data look like that the parts were built for.
    pub fn data(&self) -> &DataSpec {
        &self.data
    }

    /// Where the model is.
    pub fn device(&self) -> Device {
        self.device
    }

    fn criterion(&self) -> Result<&dyn Criterion> {
        self.criterion.as_deref().ok_or(EngineError::NoLoss)
    }

    /// The denominator of the mean loss: the number of labels that count, or their total weight; the number of rows where each
    /// counts as one. The losses of parts, weighted by it, add up to the loss of the whole. See [`Criterion::counted`].
    pub fn loss_weight(&self, label: &Tensor) -> Result<f64> {
        let counted = self.criterion.as_ref().map_or(Ok(None), |loss| loss.counted(label))?;
        Ok(counted.unwrap_or_else(|| rows_of(shape::side(label, 0).unwrap_or(1))))
    }

    /// Whether labels do not count as one each in the loss.
    pub(super) fn weighs_labels(&self) -> bool {
        self.criterion.as_ref().is_some_and(|loss| loss.label_weights().is_some())
    }

    /// Adds the gradients of `weight * loss` to the parameters. `weight` is the micro-batch's share; one of nothing
    /// adds nothing, also where its loss is NaN because no label counts. In fp16 they are too large by the loss scale until
    /// [`unscale`](Self::unscale).
    pub fn backward(&self, loss: &Tensor, weight: f64, pass: Pass) -> Result<()> {
        if weight == 0.0 {
            return Ok(());
        }
        self.differentiate(&self.product(loss, weight)?, pass)
    }

    /// What a backward pass differentiates: the loss times its weight, and times the loss scale.
    pub fn product(&self, loss: &Tensor, weight: f64) -> Result<Tensor> {
        let _mode = GradMode::set(true);
        if let Some(scaler) = &self.loss_scaler {
            return scaler.scaled(loss, weight);
        }
        if (weight - 1.0).abs() < f64::EPSILON {
            return Ok(loss.shallow_clone());
        }
        Ok(loss.f_mul_scalar(weight)?)
    }

    /// Takes part in a backward pass of all ranks without adding any gradient: for a rank whose labels are all ignored. `output`
    /// leads to the parameters.
    pub fn backward_nothing(&self, output: &Tensor, pass: Pass) -> Result<()> {
        self.differentiate(&Self::product_of_nothing(output)?, pass)
    }

    /// What a backward pass differentiates that adds nothing to any gradient.
    pub fn product_of_nothing(output: &Tensor) -> Result<Tensor> {
        let _mode = GradMode::set(true);
        Ok(output.f_sum(output.kind())?.f_mul_scalar(0.0)?)
    }

    /// Sets all gradients to none.
    pub fn zero_grad(&mut self) -> Result<()> {
        self.optimizer.zero_grad()
    }

    /// Brings the gradients of a scaled loss back to their size, once all micro-batches have added theirs.
    /// `None` unless the loss is scaled.
    pub fn unscale(&mut self) -> Result<Option<LossScaling>> {
        let Some(scaler) = self.loss_scaler.as_mut() else { return Ok(None) };
        let on_any_stage = |own| self.pipeline.as_ref().map_or(Ok(own), |it| it.any(own));
        scaler.unscale(&self.params, on_any_stage).map(Some)
    }

    /// Adds the gradients of a whole batch's loss to those that [`unscale`](Self::unscale) has brought to their size, and
    /// brings them to the same. `weight` is the share of this rank. `None` unless the loss is scaled.
    pub fn backward_again(&mut self, loss: &Tensor, weight: f64) -> Result<Option<LossScaling>> {
        self.refuse_stage("a second backward pass")?;
        let Some(scaler) = &self.loss_scaler else {
            return self.backward(loss, weight, Pass::Last).map(|()| None);
        };
        let _mode = GradMode::set(true);
        let product = scaler.scaled(loss, weight)?;
        let stashed = StashedGrads::take(&self.params)?;
        let passed = self.differentiate(&product, Pass::Last);
        let scaler = self.loss_scaler.as_mut().ok_or(EngineError::NotScaled)?;
        let scaling = passed.and_then(|()| scaler.unscale_again(&self.params));
        stashed.restore()?;
        scaling.map(Some)
    }

    /// Clips the gradients if configured, and returns their norm before clipping, as a 0-dim tensor whose
    /// value has not been read. `None` if the norm is not clipped.
    pub fn clip(&mut self) -> Result<Option<Tensor>> {
        if !self.clip.is_on() {
            return Ok(None);
        }
        self.clip.clip(&self.params, self.pipeline.as_ref())
    }

    /// The norm over all gradients, as a 0-dim tensor. Every stage of a pipeline must ask for it.
    pub fn grad_norm(&mut self) -> Result<Tensor> {
        self.clip.norm(&self.params, self.pipeline.as_ref())
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

    /// The rank whose share of the optimizer's state this process keeps; a single process has all of it.
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

    /// Splits batches into this many micro-batches from now on.
    pub fn set_accumulation(&mut self, parts: usize) -> Result<()> {
        let context = ScheduleContext { accumulation: parts };
        self.schedule = self.schedule_choice.build(SCHEDULES, &context)?;
        Ok(())
    }

    /// Micro-batches of each batch.
    pub fn accumulation(&self) -> usize {
        self.schedule.parts()
    }

    /// The actions of this process in an iteration of this many micro-batches. The table of a pipeline is checked for all stages: a short batch
    /// has fewer micro-batches than the one that was checked at the start.
    ///
    /// # Errors
    /// The table cannot be run.
    pub fn actions(&self, micros: usize) -> Result<Vec<Action>> {
        let micros = u32::try_from(micros).unwrap_or(u32::MAX);
        let order = self.schedule.order();
        let Some(stage) = &self.stage else {
            return Ok(schedule::actions(order, Layout::alone(micros), 0));
        };
        let table = Table::new(order, Layout { micros, ..stage.layout });
        schedule::check(&table).map_err(|why| EngineError::Schedule(why.to_string()))?;
        Ok(table.into_stage(stage.number))
    }

    /// How a batch is cut into micro-batches.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// What this process saves of the state of the optimizer and of loss scaling. If it is sharded, the ranks together save all of it.
    pub fn optimizer_state(&self) -> Vec<TensorShard> {
        let is_first = self.stage.as_ref().is_none_or(|stage| stage.number == 0);
        let scaler = self.loss_scaler.iter().filter(|_| self.shard.rank == 0 && is_first);
        let scaler = scaler.flat_map(LossScaler::state).map(TensorShard::from);
        self.optimizer.state().into_iter().chain(scaler).collect()
    }

    /// Restores what [`optimizer_state`](Self::optimizer_state) returned, in a run of any precision and number of ranks.
    pub fn load_optimizer_state(&mut self, state: &dyn SavedTensors) -> Result<()> {
        let own: HashSet<_> = self.model.params().iter().map(|it| it.name.as_str()).collect();
        let is_staged = self.stage.is_some();
        // The state of a parameter has its name, and what it is after a dot.
        let is_own = |name: &str| name.rsplit_once('.').is_some_and(|(it, _)| own.contains(it));
        let accepts = |name: &str| !LossScaler::owns(name) && (!is_staged || is_own(name));
        self.optimizer.load_state(&Accepted { all: state, accepts })?;
        self.loss_scaler.as_mut().map_or(Ok(()), |own| own.load_state(state))
    }

    /// Parameters and buffers, to save; handles to the live tensors.
    pub fn model_state(&self) -> Vec<NamedTensor> {
        self.params().iter().chain(self.buffers()).cloned().collect()
    }

    /// Restores parameters and buffers. Nothing changes unless all of them match.
    pub fn load_model_state(&mut self, state: &dyn SavedTensors) -> Result<()> {
        let own: Vec<_> = self.model_state().into_iter().map(TensorShard::from).collect();
        let names: HashSet<_> = own.iter().map(|piece| piece.name.as_str()).collect();
        let is_staged = self.stage.is_some();
        // Other stages load the rest.
        let accepts = |name: &str| !is_staged || names.contains(name);
        named_tensor::load("model", &own, &Accepted { all: state, accepts })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a batch has far fewer rows than 2^53")]
pub(super) fn rows_of(rows: i64) -> f64 {
    rows as f64
}

#[cfg(test)]
mod tests;
