//! From a checked job to a trainer: data, engine, hooks, rack.

use super::fit::Trainer;
use super::interrupt::Interrupt;
use super::limits::Limits;
use super::loaders::{Loaders, iters_in_epoch, loaders};
use super::micro_batches::PartResults;
use crate::config::{
    ConfigErrors, Device, ExecutionMode, GroupEntry, Kind, Origin, ParamGroups, ResolvedConfig,
};
use crate::context::{Context, ForwardRole};
use crate::dispatch::{Attached, Rack};
use crate::engine::clip::ClipLimits;
use crate::engine::data::Rank;
use crate::engine::lr::Horizon;
use crate::engine::name_pattern::NamePattern;
use crate::engine::optimizer::{GroupRule, GroupRules};
use crate::engine::registry::ComponentKind;
use crate::engine::{Engine, EngineError, Precision};
use crate::job::{Job, Maker, Member};
use crate::plugins::Instance;
use crate::provenance::provenance;
use crate::ranks::Ranks;
use crate::run::RunDir;
use crate::run::checkpoint::{Background, Stage};
use crate::torch::Op;
use crate::writers::Writers;
use hookrack_plugin_api::{Arithmetic, OnRanks};
use std::rc::Rc;
use std::time::Instant;
use thiserror::Error;

/// Why a job could not start.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The config asks for something that this host cannot do.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
}

/// Data and engine of a run: what can fail before anything is written to disk.
pub struct Parts {
    /// The data.
    pub loaders: Loaders,
    /// The engine.
    pub engine: Engine,
    /// The length of training.
    pub horizon: Horizon,
}

impl Parts {
    /// Reads the data and builds the engine.
    ///
    /// # Errors
    /// An invalid setting, shown at its line.
    pub fn build(config: &ResolvedConfig) -> Result<Self, BuildError> {
        Self::build_on(config, &Ranks::single())
    }

    /// Reads the data and builds the engine of one of several ranks.
    ///
    /// # Errors
    /// As [`build`](Self::build), and a batch that the ranks cannot share.
    pub fn build_on(config: &ResolvedConfig, ranks: &Ranks) -> Result<Self, BuildError> {
        tch::set_num_threads(i32::try_from(threads(config, ranks)).unwrap_or(i32::MAX));
        let loaders = loaders(config, ranks)?;
        let engine = engine(config, &loaders, ranks)?;
        let horizon = horizon(config, &loaders);
        rehearse(config, &engine, &loaders)?;
        if let Some(caution) = engine.caution() {
            tracing::warn!("{caution}");
        }
        let numbers: usize = engine.params().iter().map(|param| param.tensor.numel()).sum();
        tracing::info!(
            "model {} with {numbers} parameters, {} iterations in {} epochs",
            config.model.name,
            horizon.iters,
            horizon.epochs
        );
        Ok(Self { loaders, engine, horizon })
    }

    /// Whether the model takes rows of tokens: a model of text.
    pub fn takes_tokens(&self) -> bool {
        self.loaders.train.spec().has_tokens() && self.engine.model().input_shape().len() == 1
    }

    /// Shortens training to one epoch of this many batches, and every other pass to as many. Schedules still span the
    /// configured length.
    pub fn shorten(&mut self, config: &ResolvedConfig, batches: u64) {
        let Loaders { train, val, test, tests, pred } = &mut self.loaders;
        let named = tests.iter_mut().map(|(_, loader)| loader);
        for loader in [train].into_iter().chain(val).chain(test).chain(named).chain(pred) {
            loader.shorten(batches);
        }
        self.horizon = Horizon { epochs: 1, iters: iters_in_epoch(config, &self.loaders.train) };
    }
}

impl Trainer {
    /// Assembles parts, hooks and writers.
    ///
    /// # Errors
    /// A hook or metric does not accept its settings.
    pub fn assemble(
        parts: Parts,
        job: &Job,
        writers: Writers,
        run: Option<RunDir>,
        interrupt: Interrupt,
    ) -> Result<Self, BuildError> {
        let Parts { loaders, engine, horizon } = parts;
        let run_path = run.as_ref().map(|run| run.path().to_owned());
        let context = Rc::new(Context::new(engine, writers, run_path));
        context.own_pass.replace(loaders.own_pass());
        context.advance(|p| {
            (p.max_epochs, p.max_iters, p.seed) =
                (horizon.epochs, horizon.iters, job.config.train.seed);
        });
        let hooks = job.members.iter().map(|member| attach(member, &job.config, &context));
        let hooks = hooks.collect::<Result<Vec<_>, _>>()?;
        let rack = Rack::new(hooks, &job.plan, Rc::clone(&context.progress));
        context
            .forward_role
            .replace(rack.forward_role().map(|holder| Rc::new(holder) as Rc<dyn ForwardRole>));
        Ok(Self {
            context,
            rack,
            loaders,
            run,
            interrupt,
            agreed: None,
            group: job.config.train.accumulate_grad_batches.max(1),
            batch: None,
            rows: 0,
            micros: Vec::new(),
            parts: PartResults::default(),
            actions: Vec::new(),
            predictions: Vec::new(),
            provenance: provenance(job),
            resume: None,
            rng: None,
            when_started: None,
            watch: None,
            stage: Stage::Done,
            drawn: 0,
            background: Background::default(),
            saved_at: None,
            keeps_checkpoints: true,
            limits: Limits::default(),
            rank_costs: None,
            began: Instant::now(),
        })
    }
}

/// Finds out before any training whether the model's output is one that the loss can take, and whether what the learning
/// rate watches will be there.
fn rehearse(
    config: &ResolvedConfig,
    engine: &Engine,
    loaders: &Loaders,
) -> Result<(), ConfigErrors> {
    if config.computes_loss
        && let Err(why) = engine.rehearse(loaders.train.spec())
    {
        let is_written = !matches!(config.origin_of("model.outputs"), Origin::Default);
        let place = if is_written { "model.outputs" } else { "model" };
        let help = "give the model one output per class, or use another loss";
        return Err(config.refuse(place, why.to_string(), help));
    }
    let Some(name) = engine.lr_schedule().watched() else { return Ok(()) };
    match config.scalars.expect(name) {
        Err(doubt) if doubt.is_sure => {
            let why = format!("nothing logs `{name}`{}", doubt.why);
            Err(config.refuse("lr_scheduler", why, doubt.help))
        }
        _ => Ok(()),
    }
}

fn attach(
    member: &Member,
    config: &ResolvedConfig,
    context: &Rc<Context>,
) -> Result<Attached, BuildError> {
    let spec = member.spec.clone();
    let (kind, made) = match &member.maker {
        Maker::Hook(hook) => {
            (Kind::Hook, Instance::hook(hook, &spec.name, &member.settings, context))
        }
        Maker::Metric(metric, phases) => {
            (Kind::Metric, Instance::metric(metric, &spec.name, *phases, &member.settings, context))
        }
        Maker::Callback(hook) => (Kind::Hook, Ok(Instance::callback(hook, context))),
    };
    let (name, source_name) = (spec.name.clone(), spec.source());
    if let Err(why) = operators(&member.maker) {
        return Err(config.not_made(kind, name, source_name, why).into());
    }
    let instance = made.map_err(|why| config.not_made(kind, name, source_name, why))?;
    if spec.ranks == OnRanks::Main {
        instance.stay_on_main();
    }
    Ok(Attached { spec, instance, disabled: false })
}

/// Looks up the operators that a hook or metric declares, so that a missing one is an error before training.
fn operators(maker: &Maker) -> Result<(), String> {
    let names = match maker {
        Maker::Hook(hook) => &hook.manifest.ops,
        Maker::Metric(metric, _) => &metric.manifest.ops,
        Maker::Callback(_) => return Ok(()),
    };
    names.iter().try_for_each(|name| Op::find(name).map(drop)).map_err(|why| why.to_string())
}

/// Threads for arithmetic: as configured, else the cores of this machine divided among its ranks.
fn threads(config: &ResolvedConfig, ranks: &Ranks) -> usize {
    let is_chosen = !matches!(config.origin_of("train.threads"), Origin::Default);
    let all = *config.train.threads;
    if is_chosen { all } else { (all / ranks.local_world.max(1)).max(1) }
}

/// A device of the config, for libtorch.
pub(super) fn device(device: Device) -> tch::Device {
    match device {
        Device::Cpu => tch::Device::Cpu,
        Device::Cuda(index) => tch::Device::Cuda(index),
    }
}

/// The arithmetic of the config, for the engine.
fn precision(arithmetic: Arithmetic) -> Precision {
    match arithmetic {
        Arithmetic::Fp32 => Precision::Fp32,
        Arithmetic::Bf16 => Precision::Bf16,
        Arithmetic::Fp16 => Precision::Fp16,
    }
}

/// An engine's refusal, shown at the section that it is about.
pub(super) fn refused<'a>(
    config: &'a ResolvedConfig,
    section: &'a str,
) -> impl FnOnce(EngineError) -> ConfigErrors + 'a {
    move |error| {
        let key = match &error {
            EngineError::Settings { key, .. } => key.as_str(),
            EngineError::TooLarge { key, .. } => key,
            _ => "",
        };
        // A key that nobody wrote has no line of its own.
        let place = format!("{section}.{key}");
        let is_written = !key.is_empty() && !matches!(config.origin_of(&place), Origin::Default);
        let place = if is_written { place.as_str() } else { section };
        config.refuse(place, error.reason(), help(&error))
    }
}

/// What to do about an engine's refusal.
fn help(error: &EngineError) -> &'static str {
    match error {
        EngineError::Data(_) => {
            "check the files that this section names; `hookrack config CONFIG` prints every resolved path"
        }
        EngineError::Pattern { .. }
        | EngineError::NoMatch { .. }
        | EngineError::Shadowed { .. }
        | EngineError::AllFrozen { .. } => {
            "`*` matches any characters, including dots; correct the pattern or remove it"
        }
        EngineError::Device { .. } => {
            "write \"cpu\"; docs/config.md explains how to build a host with CUDA"
        }
        EngineError::TooLarge { .. } => "use a smaller number",
        EngineError::Weights(_) => "each tensor needs a unique name in the model",
        _ => "change the setting, or choose another type",
    }
}

fn horizon(config: &ResolvedConfig, loaders: &Loaders) -> Horizon {
    let in_epoch = iters_in_epoch(config, &loaders.train);
    let epochs = config.train.max_epochs.unwrap_or(u64::MAX);
    let iters = config.train.max_iters.unwrap_or(u64::MAX);
    Horizon {
        iters: iters.min(epochs.saturating_mul(in_epoch)),
        epochs: epochs.min(iters.div_ceil(in_epoch)),
    }
}

/// Patterns over names, read.
pub(super) fn patterns(
    config: &ResolvedConfig,
    key: &str,
    written: &[String],
) -> Result<Vec<NamePattern>, ConfigErrors> {
    let read = |(index, text): (usize, &String)| {
        NamePattern::parse(text).map_err(refused(config, &format!("{key}.{index}")))
    };
    written.iter().enumerate().map(read).collect()
}

fn group_rules(config: &ResolvedConfig) -> Result<GroupRules, ConfigErrors> {
    let ParamGroups { groups, no_decay_on_norm_and_bias, .. } = &config.param_groups;
    let read = |(index, group): (usize, &GroupEntry)| {
        let place = format!("optimizer.groups.{index}.match");
        let pattern = NamePattern::parse(&group.pattern).map_err(refused(config, &place))?;
        Ok(GroupRule { pattern, lr_scale: group.lr_scale, weight_decay: group.weight_decay })
    };
    let rules = groups.iter().enumerate().map(read).collect::<Result<_, ConfigErrors>>()?;
    Ok(GroupRules { rules, no_decay_on_norm_and_bias: *no_decay_on_norm_and_bias })
}

/// An invalid pattern, shown at its line.
fn refused_pattern<'a>(
    config: &'a ResolvedConfig,
    pattern: &str,
) -> impl FnOnce(EngineError) -> ConfigErrors + 'a {
    let frozen = config.train.freeze.iter().position(|written| written == pattern);
    let grouped = config.param_groups.groups.iter().position(|group| group.pattern == pattern);
    let place = match (frozen, grouped) {
        (_, Some(index)) => format!("optimizer.groups.{index}.match"),
        (frozen, None) => format!("train.freeze.{}", frozen.unwrap_or_default()),
    };
    move |error| config.refuse(&place, error.to_string(), help(&error))
}

/// The section that a part of the engine is configured in.
fn section(kind: ComponentKind) -> &'static str {
    match kind {
        ComponentKind::Model | ComponentKind::Layer => "model",
        ComponentKind::Loss => "loss",
        ComponentKind::Optimizer => "optimizer",
        ComponentKind::LrScheduler => "lr_scheduler",
        ComponentKind::Schedule => "schedule",
        ComponentKind::Dataset | ComponentKind::Transform => "data",
    }
}

fn engine(
    config: &ResolvedConfig,
    loaders: &Loaders,
    ranks: &Ranks,
) -> Result<Engine, ConfigErrors> {
    let mut builder = Engine::builder()
        .model(config.model.clone())
        .optimizer(config.optimizer.clone())
        .groups(group_rules(config)?)
        .freeze(patterns(config, "train.freeze", &config.train.freeze)?)
        .lr_scheduler(config.lr_scheduler.clone())
        .schedule(config.schedule.clone())
        .accumulation(config.train.accumulation)
        .clip(ClipLimits {
            norm: config.train.clip_grad_norm,
            norm_type: config.train.clip_grad_norm_type,
            value: config.train.clip_grad_value,
        })
        .device(device(config.train.device))
        .precision(precision(config.train.precision))
        .graph(config.train.mode == ExecutionMode::Graph)
        .loss_scaler(config.train.loss_scaler)
        .seed(config.train.seed)
        .horizon(horizon(config, loaders));
    if let Some(loss) = &config.loss {
        builder = builder.loss(loss.clone());
    }
    if config.param_groups.shard {
        builder = builder.shard_optimizer(Rank { rank: ranks.rank, world: ranks.world });
    }
    builder.build(loaders.train.spec()).map_err(|error| {
        let section = match &error {
            EngineError::NoGraph { .. } => "train.mode",
            EngineError::Device { .. } => "train.device",
            EngineError::NoMatch { pattern, .. }
            | EngineError::Shadowed { pattern }
            | EngineError::AllFrozen { pattern } => {
                return refused_pattern(config, pattern)(error);
            }
            EngineError::Settings { kind, .. } | EngineError::UnknownType { kind, .. } => {
                section(*kind)
            }
            EngineError::Layer { path, .. } => &format!("model.{path}"),
            _ => "model",
        };
        refused(config, section)(error.clone())
    })
}
