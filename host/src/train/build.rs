//! From a checked job to a trainer: data, engine, hooks, rack.

use super::context::Context;
use super::fit::Trainer;
use super::interrupt::Interrupt;
use super::limits::Limits;
use crate::config::{Component, ConfigErrors, DataSplit, Limit, Mode, ResolvedConfig};
use crate::dispatch::{Attached, Rack};
use crate::engine::data::transform::Chain;
use crate::engine::data::{DATASETS, Loader, LoaderSettings, Part, Remainder, Shard};
use crate::engine::lr::Horizon;
use crate::engine::{Choice, Engine, EngineError, EngineSpec};
use crate::job::{Job, Maker, Member};
use crate::plugins::Instance;
use crate::provenance::provenance;
use crate::run::RunDir;
use crate::run::checkpoint::{Background, Stage};
use crate::writers::Writers;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use thiserror::Error;

/// The data of a run.
pub struct Loaders {
    /// What is trained on.
    pub train: Loader,
    /// What is validated on.
    pub val: Option<Loader>,
    /// What is tested on.
    pub test: Option<Loader>,
    /// What is predicted.
    pub pred: Option<Loader>,
}

/// Why a job could not begin.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The config asks for something that this host cannot do.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// A hook or metric did not accept its settings.
    #[error("{what} `{name}` ({source_name}) could not be made: {why}")]
    Member {
        /// Hook or metric.
        what: &'static str,
        /// The instance.
        name: String,
        /// Where it comes from.
        source_name: String,
        /// Its own words.
        why: String,
    },
}

/// Data and engine of a run: what can be refused before anything is left on disk.
pub struct Parts {
    /// The data.
    pub loaders: Loaders,
    /// The engine.
    pub engine: Engine,
    /// How long training goes on.
    pub horizon: Horizon,
}

impl Parts {
    /// Reads the data and builds the engine.
    ///
    /// # Errors
    /// A setting that they cannot take, shown where it stands.
    pub fn build(config: &ResolvedConfig) -> Result<Self, BuildError> {
        tch::set_num_threads(i32::try_from(config.train.threads).unwrap_or(i32::MAX));
        let loaders = loaders(config)?;
        let engine = engine(config, &loaders)?;
        let horizon = horizon(config, &loaders);
        if let Some(caution) = engine.caution() {
            tracing::warn!("{caution}");
        }
        Ok(Self { loaders, engine, horizon })
    }
}

impl Trainer {
    /// Puts parts, hooks and writers together.
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
        context.advance(|p| {
            (p.max_epochs, p.max_iters, p.seed) =
                (horizon.epochs, horizon.iters, job.config.train.seed);
        });
        let hooks = job.members.iter().map(|member| attach(member, &context));
        let hooks = hooks.collect::<Result<Vec<_>, _>>()?;
        let rack = Rack::new(hooks, &job.plan, Rc::clone(&context.progress));
        Ok(Self {
            context,
            rack,
            loaders,
            run,
            interrupt,
            batch: None,
            micros: Vec::new(),
            outputs: Vec::new(),
            provenance: provenance(job),
            resume: None,
            rng: None,
            stage: Stage::Done,
            background: Background::default(),
            saved_at: None,
            limits: Limits::default(),
            began: Instant::now(),
        })
    }
}

fn attach(member: &Member, context: &Rc<Context>) -> Result<Attached, BuildError> {
    let seat = member.seat.clone();
    let (what, made) = match &member.maker {
        Maker::Hook(hook) => ("hook", Instance::hook(hook, &seat.name, &member.settings, context)),
        Maker::Metric(metric) => {
            ("metric", Instance::metric(metric, &seat.name, &member.settings, context))
        }
    };
    let (name, source_name) = (seat.name.clone(), seat.source());
    let instance = made.map_err(|why| BuildError::Member { what, name, source_name, why })?;
    Ok(Attached { seat, instance, disabled: false })
}

fn choice(component: &Component) -> Choice {
    Choice { name: component.type_name.clone(), settings: component.settings.clone() }
}

/// An engine's refusal, shown at the section that it is about.
fn refused<'a>(
    config: &'a ResolvedConfig,
    section: &'a str,
) -> impl FnOnce(EngineError) -> ConfigErrors + 'a {
    move |error| {
        config.refuse(section, error.to_string(), "change the setting, or choose another type")
    }
}

fn loader(config: &ResolvedConfig, key: &str, split: &DataSplit) -> Result<Loader, ConfigErrors> {
    let dataset = choice(&split.component)
        .build("data set", DATASETS, &())
        .and_then(|whole| Part::of(whole, split.skip, split.first))
        .map_err(refused(config, key))?;
    let transforms: Vec<_> = split.transforms.iter().map(choice).collect();
    let chain = Chain::build(&transforms, &dataset.spec(), dataset.brightest())
        .map_err(|(number, error)| refused(config, &format!("{key}.transforms.{number}"))(error))?;
    let settings = LoaderSettings {
        batch_size: split.batch_size,
        shuffle: split.shuffle,
        drop_last: split.drop_last,
        seed: config.train.seed,
        shard: Shard::WHOLE,
        remainder: Remainder::Keep,
        workers: split.workers,
        prefetch: split.prefetch,
    };
    Loader::transformed(Arc::from(dataset), chain, &settings).map_err(refused(config, key))
}

/// A loader of a split whose samples look like those of training.
fn beside(
    config: &ResolvedConfig,
    key: &str,
    split: Option<&DataSplit>,
    train: &Loader,
) -> Result<Option<Loader>, ConfigErrors> {
    let Some(split) = split else { return Ok(None) };
    let loader = loader(config, key, split)?;
    match loader.spec().unlike(train.spec()) {
        None => Ok(Some(loader)),
        Some(why) => Err(refused(config, key)(EngineError::Data(why))),
    }
}

fn loaders(config: &ResolvedConfig) -> Result<Loaders, ConfigErrors> {
    let data = &config.data;
    let train = loader(config, "data.train", &data.train)?;
    let (wanted, found) = (data.train.batch_size, train.dataset().len());
    if wanted > found {
        let why = format!("batch_size = {wanted} is more than the {found} samples there are");
        let help = format!("write batch_size = {found} or less");
        return Err(config.refuse("data.train.batch_size", why, help));
    }
    let other = |key, split: &Option<DataSplit>| beside(config, key, split.as_ref(), &train);
    let (val, test) = (other("data.val", &data.val)?, other("data.test", &data.test)?);
    let pred = other("data.pred", &data.pred)?;
    Ok(Loaders { train, val, test, pred })
}

fn horizon(config: &ResolvedConfig, loaders: &Loaders) -> Horizon {
    let batches = loaders.train.batches();
    match config.train.limit {
        Limit::Epochs(epochs) => Horizon { epochs, iters: epochs.saturating_mul(batches) },
        Limit::Iters(iters) => Horizon { iters, epochs: iters.div_ceil(batches) },
    }
}

fn engine(config: &ResolvedConfig, loaders: &Loaders) -> Result<Engine, ConfigErrors> {
    let spec = EngineSpec {
        model: choice(&config.model),
        loss: choice(&config.loss),
        optimizer: choice(&config.optimizer),
        lr_scheduler: choice(&config.lr_scheduler),
        schedule: choice(&config.schedule),
        accumulation: config.train.accumulation,
        clip_grad_norm: config.train.clip_grad_norm,
        precision: config.train.precision,
        graph: config.train.mode == Mode::Graph,
        loss_scaler: config.train.loss_scaler,
        seed: config.train.seed,
        horizon: horizon(config, loaders),
    };
    Engine::build(&spec, loaders.train.spec()).map_err(|error| {
        let section = match &error {
            EngineError::NoGraph { .. } => "train.mode",
            EngineError::Settings { kind: "loss", .. } => "loss",
            EngineError::Settings { kind: "optimizer", .. } => "optimizer",
            EngineError::Settings { kind: "lr scheduler", .. } => "lr_scheduler",
            EngineError::Settings { kind: "schedule", .. } => "schedule",
            EngineError::Layer { path, .. } => &format!("model.{path}"),
            _ => "model",
        };
        refused(config, section)(error.clone())
    })
}
