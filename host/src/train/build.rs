//! From a checked job to a trainer: data, engine, hooks, rack.

use super::build_engine::{device, engine};
use super::fit::{EpochState, Results, Trainer};
use super::grid::{Grid, schedule};
use super::interrupt::Interrupt;
use super::join::check_norms;
use super::length;
use super::limits::Limits;
use super::loaders::{Loaders, Shared, iters_in_epoch, loaders};
use super::micro_batches::Iteration;
use super::on_request::Saving;
use super::stage_clock::StageClock;
use super::stages::{Stages, measure_together};
use super::start::Starting;
use crate::config::{ConfigErrors, Kernels, Kind, Origin, ResolvedConfig};
use crate::context::{Context, ForwardRole};
use crate::dispatch::{Attached, Rack};
use crate::engine::data::Rank;
use crate::engine::lr::Horizon;
use crate::engine::{Engine, Stage};
use crate::job::{Job, Member, MemberSource};
use crate::plugins::Instance;
use crate::provenance::provenance;
use crate::ranks::Ranks;
use crate::run::RunDir;
use crate::run::checkpoint::{EpochStage, Provenance};
use crate::torch::{Op, allocator, kernels};
use crate::world::World;
use crate::writers::Writers;
use hookrack_plugin_api::OnRanks;
use std::rc::Rc;

/// Data and engine of a run: what can fail before anything is written to disk.
pub struct Parts {
    /// The data.
    pub loaders: Loaders,
    /// The engine.
    pub engine: Engine,
    /// The length of training.
    pub horizon: Horizon,
    /// The division of the model, in a pipeline.
    pub(crate) stages: Option<Stages>,
}

impl Parts {
    /// Reads the data and builds the engine.
    pub fn build(config: &ResolvedConfig) -> Result<Self, ConfigErrors> {
        Self::build_whole(config, &Ranks::single(), Grid::whole(1), true)
    }

    /// Reads the data and builds the engine of one of several ranks. The stages of a pipeline have met before: those that divide the
    /// model by measured times agree on them.
    ///
    /// # Errors
    /// As [`build`](Self::build), and a batch or a model that the ranks cannot divide.
    pub fn build_on(
        config: &ResolvedConfig,
        ranks: &Ranks,
        world: Option<&World>,
    ) -> Result<Self, ConfigErrors> {
        Self::build_with(config, ranks, Grid::new(config, ranks.world)?, world)
    }

    /// Reads the data and builds the engine of one of several ranks that evaluate and do not train: each has the whole model.
    pub fn build_to_evaluate(config: &ResolvedConfig, ranks: &Ranks) -> Result<Self, ConfigErrors> {
        Self::build_whole(config, ranks, Grid::whole(ranks.world), false)
    }

    /// Checks that the ranks of a layout can train a config as a pipeline. Reads the data, whose shape the model depends on, and creates no
    /// model. Does nothing without a pipeline.
    pub fn check_stages(config: &ResolvedConfig, grid: Grid) -> Result<(), ConfigErrors> {
        if grid.stages == 1 {
            return Ok(());
        }
        let loaders = Self::loaders(config, &Ranks::single(), grid, true)?;
        Stages::check(config, loaders.train.spec(), grid)
    }

    fn build_whole(
        config: &ResolvedConfig,
        ranks: &Ranks,
        grid: Grid,
        trains: bool,
    ) -> Result<Self, ConfigErrors> {
        let loaders = Self::loaders(config, ranks, grid, trains)?;
        let engine = engine(config, &loaders, grid.copy_of(ranks.rank), None)?;
        dry_run(config, &engine, &loaders)?;
        Self::finish(config, loaders, engine, None)
    }

    fn build_with(
        config: &ResolvedConfig,
        ranks: &Ranks,
        grid: Grid,
        world: Option<&World>,
    ) -> Result<Self, ConfigErrors> {
        if grid.stages == 1 {
            return Self::build_whole(config, ranks, grid, true);
        }
        let loaders = Self::loaders(config, ranks, grid, true)?;
        let measured = |stages: &Stages| {
            let whole = || engine(config, &loaders, Rank::ONLY, None);
            measure_together(config, stages, ranks, world, whole)
        };
        let spec = loaders.train.spec();
        let stages = Stages::of_config(config, spec, grid, measured)?;
        let stage = stages.stage(grid.stage_of(ranks.rank));
        let engine = engine(config, &loaders, grid.copy_of(ranks.rank), Some(stage))?;
        dry_run(config, &engine, &loaders)?;
        if ranks.is_main() {
            stages.warn_of_norms(engine.model().info());
        }
        Self::finish(config, loaders, engine, Some(stages))
    }

    fn loaders(
        config: &ResolvedConfig,
        ranks: &Ranks,
        grid: Grid,
        trains: bool,
    ) -> Result<Loaders, ConfigErrors> {
        // First of all: MKL decides when it is first called.
        if config.train.kernels == Kernels::Native && !kernels::use_native() {
            tracing::warn!(
                "train.kernels: MKL was in use before this run, and keeps the kernels that it chose"
            );
        }
        tch::set_num_threads(i32::try_from(threads(config, ranks)).unwrap_or(i32::MAX));
        if config.train.keep_memory && !allocator::keep_freed_memory() {
            tracing::debug!("the allocator keeps its own thresholds");
        }
        let (rank, parts) = (grid.copy_of(ranks.rank), schedule(config)?.parts());
        let part = Shared { rank, parts, device: device(config.train.device, ranks) };
        loaders(config, part, trains)
    }

    fn finish(
        config: &ResolvedConfig,
        loaders: Loaders,
        engine: Engine,
        stages: Option<Stages>,
    ) -> Result<Self, ConfigErrors> {
        check_norms(config, &engine)?;
        let horizon = length::of_new(config, &loaders);
        if let Some(caution) = engine.caution() {
            tracing::warn!("{caution}");
        }
        let numbers: usize = engine.params().iter().map(|param| param.tensor.numel()).sum();
        let place = engine.stage().map_or_else(String::new, |stage| {
            format!(" of stage {} of {}", stage.number, stage.layout.stages)
        });
        tracing::info!(
            "model {} with {numbers} parameters{place}, {} iterations in {} epochs",
            config.model.name,
            horizon.iters,
            horizon.epochs
        );
        Ok(Self { loaders, engine, horizon, stages })
    }

    /// A line for each stage of a pipeline, with its ranks and layers; none without a pipeline.
    pub(crate) fn stage_lines(&self) -> Vec<String> {
        let units = &self.engine.model().info().units;
        self.stages.as_ref().map_or_else(Vec::new, |stages| stages.lines(units))
    }

    /// Whether the output of the model is in this process: it has the whole model, or its last stage.
    pub fn has_output(&self) -> bool {
        self.engine.stage().is_none_or(Stage::is_last)
    }

    /// Whether the model takes rows of tokens: a model of text.
    pub fn takes_tokens(&self) -> bool {
        self.loaders.train.spec().has_tokens() && self.engine.model().input_shape().len() == 1
    }

    /// Shortens training to one epoch of this many batches, and every other pass to as many. Schedules still span the
    /// configured length.
    pub fn shorten(&mut self, config: &ResolvedConfig, batches: u64) {
        let Loaders { train, val, test, tests, pred, .. } = &mut self.loaders;
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
    ) -> Result<Self, ConfigErrors> {
        let Parts { loaders, engine, horizon, .. } = parts;
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
        let provenance = Provenance { samples: Some(loaders.samples()), ..provenance(job) };
        Ok(Self {
            context,
            rack,
            loaders,
            run,
            interrupt,
            agreed: None,
            configured: length::limits(&job.config),
            limits: Limits::default(),
            starting: Starting::default(),
            epoch: EpochState { stage: EpochStage::Done, drawn: 0 },
            iteration: Iteration::new(job.config.train.accumulate_grad_batches),
            saving: Saving::new(provenance),
            clock: StageClock::default(),
            state_recorder: None,
            results: Results::default(),
        })
    }
}

/// Checks before training that the loss accepts the model's output, and that the scalar monitored by the learning rate schedule will be
/// logged.
fn dry_run(
    config: &ResolvedConfig,
    engine: &Engine,
    loaders: &Loaders,
) -> Result<(), ConfigErrors> {
    if config.computes_loss
        && let Err(why) = engine.dry_run(loaders.train.spec())
    {
        let is_written = !matches!(config.origin_of("model.outputs"), Origin::Default);
        let place = if is_written { "model.outputs" } else { "model" };
        let help = "give the model one output per class, or use another loss";
        return Err(config.refuse(place, why.to_string(), help));
    }
    let Some(name) = engine.lr_schedule().watched() else { return Ok(()) };
    match config.scalars.expect(name) {
        Err(unknown) if unknown.is_sure => {
            let why = format!("nothing logs `{name}`{}", unknown.why);
            Err(config.refuse("lr_scheduler", why, unknown.help))
        }
        _ => Ok(()),
    }
}

fn attach(
    member: &Member,
    config: &ResolvedConfig,
    context: &Rc<Context>,
) -> Result<Attached, ConfigErrors> {
    let spec = member.spec.clone();
    let (kind, made) = match &member.source {
        MemberSource::Hook(hook) => {
            (Kind::Hook, Instance::hook(hook, &spec.name, &member.settings, context))
        }
        MemberSource::Metric(metric, phases) => {
            (Kind::Metric, Instance::metric(metric, &spec.name, *phases, &member.settings, context))
        }
        MemberSource::Callback(hook) => (Kind::Hook, Ok(Instance::callback(hook, context))),
    };
    let (name, source_name) = (spec.name.clone(), spec.source());
    if let Err(why) = operators(&member.source) {
        return Err(config.not_made(kind, name, source_name, why));
    }
    let instance = made.map_err(|why| config.not_made(kind, name, source_name, why))?;
    if spec.ranks != OnRanks::All {
        instance.stay_on_some_ranks();
    }
    Ok(Attached { spec, instance, disabled: false })
}

/// Looks up the operators that a hook or metric declares, so that a missing one is an error before training.
fn operators(source: &MemberSource) -> Result<(), String> {
    let names = match source {
        MemberSource::Hook(hook) => &hook.manifest.ops,
        MemberSource::Metric(metric, _) => &metric.manifest.ops,
        MemberSource::Callback(_) => return Ok(()),
    };
    names.iter().try_for_each(|name| Op::find(name).map(drop)).map_err(|why| why.to_string())
}

/// Threads for arithmetic: as configured, else the cores of this machine divided among its ranks.
fn threads(config: &ResolvedConfig, ranks: &Ranks) -> usize {
    let is_chosen = !matches!(config.origin_of("train.threads"), Origin::Default);
    let all = *config.train.threads;
    if is_chosen { all } else { (all / ranks.local_world.max(1)).max(1) }
}
