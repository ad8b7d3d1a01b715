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
    lr_scheduler: Option<PartSource<Horizon, dyn LrSchedule>>,
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
            lr_scheduler: Some(PartSource::Named(Choice::new("ConstantLR", &[]))),
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
        out.debug_struct("EngineBuilder").finish_non_exhaustive()
    }
}

/// Setters: `field: type => value` for what is given, `own field: trait, context` for code that makes it.
macro_rules! setters {
    ($($(#[$doc:meta])+ $field:ident: $ty:ty => $value:expr;)+) => {
        impl EngineBuilder { $(
            $(#[$doc])+
            #[must_use]
            pub fn $field(mut self, $field: $ty) -> Self {
                self.$field = $value;
                self
            }
        )+ }
    };
    ($($(#[$doc:meta])+ $own:ident $field:ident: $part:ident, $context:ty;)+) => {
        impl EngineBuilder { $(
            $(#[$doc])+
            #[must_use]
            pub fn $own<T: $part + 'static>(
                mut self,
                make: impl FnOnce(&$context) -> Result<T> + 'static,
            ) -> Self {
                self.$field = Some(PartSource::Own(Box::new(|context| Ok(Box::new(make(context)?)))));
                self
            }
        )+ }
    };
}

setters! {
    /// `[model]`
    model: Choice => Some(PartSource::Named(model));
    /// `[loss]`; omitted if the hook that runs the model computes the loss too.
    loss: Choice => Some(PartSource::Named(loss));
    /// `[optimizer]`
    optimizer: Choice => Some(PartSource::Named(optimizer));
    /// `[lr_scheduler]`; the learning rate stays the same without it.
    lr_scheduler: Choice => Some(PartSource::Named(lr_scheduler));
    /// `[schedule]`
    schedule: Choice => schedule;
    /// How parameters are put into groups.
    groups: GroupRules => groups;
    /// The names of parameters that are not trained.
    freeze: Vec<NamePattern> => freeze;
    /// Micro-batches per optimizer step.
    accumulation: usize => accumulation;
    /// How far gradients may go.
    clip: ClipLimits => clip;
    /// Arithmetic of the forward and backward pass.
    precision: Precision => precision;
    /// How images are laid out in memory while the model computes.
    memory_format: MemoryFormat => memory_format;
    /// Where the model is; its batches come from a loader that puts them there too.
    device: Device => device;
    /// How the loss is scaled in fp16.
    loss_scaler: LossScalerSettings => loss_scaler;
    /// Whether the model runs as TorchScript graphs.
    graph: bool => graph;
    /// Seeds libtorch's random numbers before the model is made.
    seed: u64 => seed;
    /// How long the run is: what learning rate schedules are stretched over.
    horizon: Horizon => horizon;
    /// Makes one stage of the model only. The engine must then [`join_pipeline`](Engine::join_pipeline) the others.
    stage: Option<Stage> => stage;
}

setters! {
    /// A model of the caller's own, made once libtorch is seeded.
    own_model model: Model, ModelContext;
    /// A loss of the caller's own.
    own_loss loss: Criterion, DataSpec;
    /// An optimizer of the caller's own.
    own_optimizer optimizer: Optimizer, ParamSet;
    /// A learning rate schedule of the caller's own.
    own_lr_scheduler lr_scheduler: LrSchedule, Horizon;
}

impl EngineBuilder {
    /// Keeps only this rank's share of the optimizer's state. The engine must then [`join`](Engine::join) the others: each steps its
    /// share of the parameters.
    #[must_use]
    pub fn shard_optimizer(mut self, rank: Rank) -> Self {
        self.shard = rank;
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
        let lr_scheduler =
            self.lr_scheduler.ok_or(EngineError::NoPart { kind: ComponentKind::LrScheduler })?;
        let lr_choice = lr_scheduler.choice().map(|choice| (choice.clone(), self.horizon));
        let lr_schedule = lr_scheduler.build(LR_SCHEDULES, &self.horizon)?;
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
