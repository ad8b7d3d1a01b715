//! `Engine::builder()`: an engine from parts that have a name in configs, or that the caller makes.

use tch::Device;

use super::clip::ClipLimits;
use super::data::{DataSpec, Rank};
use super::device;
use super::engine::Engine;
use super::error::{EngineError, Result};
use super::loss::{Criterion, LOSSES};
use super::loss_scaler::LossScalerSettings;
use super::lr::{Horizon, LR_SCHEDULES, LrSchedule};
use super::memory_format::MemoryFormat;
use super::model::{BuiltUnits, MODELS, Model, ModelContext, Traced, widen};
use super::name_pattern::NamePattern;
use super::optimizer::{GroupRules, OPTIMIZERS, Optimizer, ParamSet};
use super::precision::Precision;
use super::registry::{Build as _, Built, Choice, ComponentKind, Entry};
use super::schedule::{SCHEDULES, Schedule, ScheduleContext};
use super::stage::Stage;
use super::trainable;
use hookrack_torch::rng;

/// What an engine is built from. Model and optimizer have to be given, all else has a default.
///
/// A part is a [`Choice`], as a config makes it, or the caller's `own`.
pub struct EngineBuilder {
    model: Option<PartSource<ModelContext, dyn Model>>,
    loss: Option<PartSource<DataSpec, dyn Criterion>>,
    optimizer: Option<PartSource<ParamSet, dyn Optimizer>>,
    lr_scheduler: PartSource<Horizon, dyn LrSchedule>,
    schedule: Choice,
    groups: GroupRules,
    freeze: Vec<NamePattern>,
    accumulation: usize,
    clip: ClipLimits,
    precision: Precision,
    memory_format: MemoryFormat,
    device: Device,
    graph: bool,
    loss_scaler: LossScalerSettings,
    seed: u64,
    horizon: Horizon,
    shard: Rank,
    stage: Option<Stage>,
}

/// How a part is made: by a name that configs know, or by the caller.
enum PartSource<C: ?Sized, B: ?Sized> {
    /// A `type =` and its settings.
    Named(Choice),
    /// The caller's own.
    Own(Own<C, B>),
}

/// Code that makes a part.
type Own<C, B> = Box<dyn FnOnce(&C) -> Result<Box<B>>>;

impl<C: ?Sized, B: ?Sized + Built> PartSource<C, B> {
    /// The name and settings, where it has any.
    fn choice(&self) -> Option<&Choice> {
        match self {
            Self::Named(choice) => Some(choice),
            Self::Own(_) => None,
        }
    }

    /// Makes the part.
    fn build(self, entries: &[Entry<C, B>], context: &C) -> Result<Box<B>> {
        match self {
            Self::Named(choice) => choice.build(entries, context),
            Self::Own(make) => make(context),
        }
    }
}

impl<C: ?Sized, B: ?Sized> std::fmt::Debug for PartSource<C, B> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(choice) => choice.fmt(out),
            Self::Own(_) => out.write_str("Own"),
        }
    }
}

/// The parts of an engine, built.
pub(super) struct Parts {
    pub model: Box<dyn Model>,
    pub criterion: Option<Box<dyn Criterion>>,
    pub optimizer: Box<dyn Optimizer>,
    pub lr_schedule: Box<dyn LrSchedule>,
    pub lr_choice: Option<(Choice, Horizon)>,
    pub schedule: Box<Schedule>,
    pub schedule_choice: Choice,
    pub clip: ClipLimits,
    pub precision: Precision,
    pub memory_format: MemoryFormat,
    pub loss_scaler: LossScalerSettings,
    pub device: Device,
    pub data: DataSpec,
    pub shard: Rank,
    pub stage: Option<Stage>,
}

impl Default for EngineBuilder {
    fn default() -> Self {
        Self {
            model: None,
            loss: None,
            optimizer: None,
            lr_scheduler: PartSource::Named(Choice::new("ConstantLR", &[])),
            schedule: Choice::new("NoPipeline", &[]),
            groups: GroupRules::default(),
            freeze: Vec::new(),
            accumulation: 1,
            clip: ClipLimits::default(),
            precision: Precision::Fp32,
            memory_format: MemoryFormat::Contiguous,
            device: Device::Cpu,
            graph: false,
            loss_scaler: LossScalerSettings::default(),
            seed: 0,
            horizon: Horizon { iters: 1, epochs: 1 },
            shard: Rank::ONLY,
            stage: None,
        }
    }
}

impl std::fmt::Debug for EngineBuilder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("EngineBuilder")
            .field("model", &self.model)
            .field("loss", &self.loss)
            .field("optimizer", &self.optimizer)
            .field("lr_scheduler", &self.lr_scheduler)
            .finish_non_exhaustive()
    }
}

impl EngineBuilder {
    /// `[model]`
    #[must_use]
    pub fn model(mut self, model: Choice) -> Self {
        self.model = Some(PartSource::Named(model));
        self
    }

    /// A model of the caller's own, made once libtorch is seeded.
    #[must_use]
    pub fn own_model<T: Model + 'static>(
        mut self,
        make: impl FnOnce(&ModelContext) -> Result<T> + 'static,
    ) -> Self {
        self.model = Some(PartSource::Own(Box::new(|context| Ok(Box::new(make(context)?)))));
        self
    }

    /// `[loss]`; omitted if the hook that runs the model computes the loss too.
    #[must_use]
    pub fn loss(mut self, loss: Choice) -> Self {
        self.loss = Some(PartSource::Named(loss));
        self
    }

    /// A loss of the caller's own.
    #[must_use]
    pub fn own_loss<T: Criterion + 'static>(
        mut self,
        make: impl FnOnce(&DataSpec) -> Result<T> + 'static,
    ) -> Self {
        self.loss = Some(PartSource::Own(Box::new(|context| Ok(Box::new(make(context)?)))));
        self
    }

    /// `[optimizer]`
    #[must_use]
    pub fn optimizer(mut self, optimizer: Choice) -> Self {
        self.optimizer = Some(PartSource::Named(optimizer));
        self
    }

    /// An optimizer of the caller's own.
    #[must_use]
    pub fn own_optimizer<T: Optimizer + 'static>(
        mut self,
        make: impl FnOnce(&ParamSet) -> Result<T> + 'static,
    ) -> Self {
        self.optimizer = Some(PartSource::Own(Box::new(|context| Ok(Box::new(make(context)?)))));
        self
    }

    /// `[lr_scheduler]`; the learning rate stays the same without it.
    #[must_use]
    pub fn lr_scheduler(mut self, lr_scheduler: Choice) -> Self {
        self.lr_scheduler = PartSource::Named(lr_scheduler);
        self
    }

    /// A learning rate schedule of the caller's own.
    #[must_use]
    pub fn own_lr_scheduler<T: LrSchedule + 'static>(
        mut self,
        make: impl FnOnce(&Horizon) -> Result<T> + 'static,
    ) -> Self {
        self.lr_scheduler = PartSource::Own(Box::new(|context| Ok(Box::new(make(context)?))));
        self
    }

    /// `[schedule]`
    #[must_use]
    pub fn schedule(mut self, schedule: Choice) -> Self {
        self.schedule = schedule;
        self
    }

    /// How parameters are put into groups.
    #[must_use]
    pub fn groups(mut self, groups: GroupRules) -> Self {
        self.groups = groups;
        self
    }

    /// The names of parameters that are not trained.
    #[must_use]
    pub fn freeze(mut self, names: Vec<NamePattern>) -> Self {
        self.freeze = names;
        self
    }

    /// Micro-batches per optimizer step.
    #[must_use]
    pub fn accumulation(mut self, parts: usize) -> Self {
        self.accumulation = parts;
        self
    }

    /// How far gradients may go.
    #[must_use]
    pub fn clip(mut self, limits: ClipLimits) -> Self {
        self.clip = limits;
        self
    }

    /// Arithmetic of the forward and backward pass.
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// How images are laid out in memory while the model computes.
    #[must_use]
    pub fn memory_format(mut self, format: MemoryFormat) -> Self {
        self.memory_format = format;
        self
    }

    /// Where the model is; its batches come from a loader that puts them there too.
    #[must_use]
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// How the loss is scaled in fp16.
    #[must_use]
    pub fn loss_scaler(mut self, settings: LossScalerSettings) -> Self {
        self.loss_scaler = settings;
        self
    }

    /// Whether the model runs as TorchScript graphs.
    #[must_use]
    pub fn graph(mut self, graph: bool) -> Self {
        self.graph = graph;
        self
    }

    /// Seeds libtorch's random numbers before the model is made.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How long the run is: what learning rate schedules are stretched over.
    #[must_use]
    pub fn horizon(mut self, horizon: Horizon) -> Self {
        self.horizon = horizon;
        self
    }

    /// Keeps only this rank's share of the optimizer's state. The engine must then [`join`](Engine::join) the others: each steps its
    /// share of the parameters.
    #[must_use]
    pub fn shard_optimizer(mut self, rank: Rank) -> Self {
        self.shard = rank;
        self
    }

    /// Makes one stage of the model only. The engine must then [`join_pipeline`](Engine::join_pipeline) the others.
    #[must_use]
    pub fn stage(mut self, stage: Option<Stage>) -> Self {
        self.stage = stage;
        self
    }

    /// Seeds libtorch and builds every part for data of this kind.
    ///
    /// # Errors
    /// A part is missing, rejects its settings or does not match the others, or the device is not available.
    pub fn build(self, data: &DataSpec) -> Result<Engine> {
        hookrack_torch::start();
        device::check(self.device)?;
        rng::seed(self.seed);
        let made = self.stage.as_ref().map_or(BuiltUnits::All, Stage::made);
        let kind = self.precision.kind();
        let context = ModelContext { made, kind, ..ModelContext::new(data.clone(), self.device) };
        let model = self.model.ok_or(EngineError::NoPart { kind: ComponentKind::Model })?;
        let model = model.build(MODELS, &context)?;
        widen(model.as_ref(), kind)?;
        let model = if self.graph && !model.is_graph() {
            Box::new(Traced::new(model, &context)?)
        } else {
            model
        };
        let criterion = self.loss.map(|loss| loss.build(LOSSES, data)).transpose()?;
        let is_staged = self.stage.is_some();
        trainable::freeze(model.params(), &self.freeze, is_staged)?;
        let grouped = if is_staged {
            ParamSet::of_stage(model.params(), self.groups)
        } else {
            ParamSet::new(model.params(), self.groups)?
        };
        let grouped = grouped.sharded(self.shard);
        let optimizer =
            self.optimizer.ok_or(EngineError::NoPart { kind: ComponentKind::Optimizer })?;
        let optimizer = optimizer.build(OPTIMIZERS, &grouped)?;
        let lr_choice = self.lr_scheduler.choice().map(|choice| (choice.clone(), self.horizon));
        let lr_schedule = self.lr_scheduler.build(LR_SCHEDULES, &self.horizon)?;
        let context = ScheduleContext { accumulation: self.accumulation };
        let schedule = self.schedule.build(SCHEDULES, &context)?;
        Ok(Engine::assemble(Parts {
            model,
            criterion,
            optimizer,
            lr_schedule,
            lr_choice,
            schedule,
            schedule_choice: self.schedule,
            clip: self.clip,
            precision: self.precision,
            memory_format: self.memory_format,
            loss_scaler: self.loss_scaler,
            device: self.device,
            data: data.clone(),
            shard: self.shard,
            stage: self.stage,
        }))
    }
}
