//! From a config file to everything that a run needs, before a single tensor exists.

use crate::config::{ConfigErrors, ConfigFile, Phases, ResolvedConfig};
use crate::dispatch::{HookSpec, Plan, PlanError, StaleRead, When, stale_reads};
use crate::hooks::CallbackHook;
use crate::inventory::{Inventory, InventoryError};
use crate::plugins::{HookType, LoadError, MetricType, points_of};
use hookrack_plugin_api::{Level, OnRanks, Value};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use thiserror::Error;

/// What every metric writes, in the words of manifests.
const METRIC_WRITES: [&str; 2] = ["metrics", "events"];

/// A run that has been read and checked, but not begun.
pub struct Job {
    /// What the config means.
    pub config: ResolvedConfig,
    /// What it can name.
    pub inventory: Inventory,
    /// The hooks and metrics of the run, in the order of the config.
    pub members: Vec<Member>,
    /// The hooks of each point.
    pub plan: Plan,
}

/// A hook or metric of a run.
pub struct Member {
    /// Its configuration and points.
    pub spec: HookSpec,
    /// Its settings.
    pub settings: Value,
    /// What it is made from.
    pub maker: Maker,
}

/// What a member is made from.
pub enum Maker {
    /// A hook.
    Hook(HookType),
    /// A metric, and the phases that it is computed in.
    Metric(MetricType, Phases),
    /// Closures of the program that uses the library.
    Callback(Rc<RefCell<CallbackHook>>),
}

/// Why a config cannot become a job.
#[derive(Debug, Error)]
pub enum JobError {
    /// The config is wrong.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// A plugin that the config names would not load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// What the plugins offer cannot be named.
    #[error(transparent)]
    Inventory(#[from] InventoryError),
    /// The hooks cannot be put into one order.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A member is gone between two looks at the plugin_set.
    #[error("`{0}` is no longer available")]
    Gone(String),
}

impl Job {
    /// Reads a config and checks all of it.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, JobError> {
        let file = ConfigFile::load(path, overrides)?;
        let named = file.libraries()?;
        let mut inventory = Inventory::of(&file.plugin_folders()?, &named)?;
        let failed = &mut inventory.plugin_set.failed;
        if let Some(at) = failed.iter().position(|(path, _)| named.contains(path)) {
            return Err(failed.swap_remove(at).1.into());
        }
        // A policy that keeps a library out is news only where the config cannot do without it.
        let (untrusted, broken): (Vec<_>, Vec<_>) =
            failed.iter().partition(|(_, error)| error.reason.is_untrusted());
        let tell =
            |(_, error): &(PathBuf, LoadError)| tracing::warn!("{error}; continuing without it");
        broken.into_iter().for_each(tell);
        let config = file.resolve(&inventory.catalog);
        let config = config.inspect_err(|_| untrusted.into_iter().for_each(tell))?;
        let members = members(&config, &inventory)?;
        inventory.plugin_set.release();
        let specs: Vec<_> = members.iter().map(|member| member.spec.clone()).collect();
        let plan = Plan::new(&specs)?;
        Ok(Self { config, inventory, members, plan })
    }

    /// Adds a hook of closures and makes the plan anew.
    ///
    /// # Errors
    /// It takes a role that another hook has.
    pub fn add(&mut self, hook: CallbackHook) -> Result<(), PlanError> {
        let spec = HookSpec {
            name: hook.name.clone(),
            type_name: "CallbackHook".to_owned(),
            level: hook.level,
            is_default: false,
            library: None,
            points: hook.points(),
            on_error: hook.on_error,
            when: When::ALWAYS,
            ranks: OnRanks::All,
            reads: Vec::new(),
            writes: Vec::new(),
        };
        let maker = Maker::Callback(Rc::new(RefCell::new(hook)));
        self.members.push(Member { spec, settings: Value::empty(), maker });
        let specs: Vec<_> = self.members.iter().map(|member| member.spec.clone()).collect();
        self.plan = Plan::new(&specs)?;
        Ok(())
    }

    /// Leaves out the hooks that run on the main rank alone, and makes the plan anew.
    ///
    /// # Errors
    /// One of them has a role, which every rank needs.
    pub fn leave_to_main(&mut self) -> Result<(), PlanError> {
        self.members.retain(|member| member.spec.ranks == OnRanks::All);
        let specs: Vec<_> = self.members.iter().map(|member| member.spec.clone()).collect();
        self.plan = Plan::new(&specs)?;
        Ok(())
    }

    /// Values that a hook reads before another writes them: seldom meant.
    pub fn stale_reads(&self) -> Vec<StaleRead> {
        stale_reads(&self.plan, &self.specs())
    }

    /// The specs of the members, in their order.
    pub fn specs(&self) -> Vec<&HookSpec> {
        self.members.iter().map(|member| &member.spec).collect()
    }
}

fn members(config: &ResolvedConfig, inventory: &Inventory) -> Result<Vec<Member>, JobError> {
    let mut members = Vec::new();
    for entry in &config.hooks {
        let hook = inventory.hook(&entry.type_name, entry.library.as_deref())?;
        let hook = hook.ok_or_else(|| JobError::Gone(entry.type_name.clone()))?;
        let spec = HookSpec {
            name: entry.name.clone(),
            type_name: entry.type_name.clone(),
            level: Level(entry.level),
            is_default: entry.is_default,
            library: entry.library.clone(),
            points: hook.manifest.points.clone(),
            on_error: entry.on_error,
            when: When { every: entry.every, phases: entry.phases },
            ranks: entry.ranks,
            reads: hook.manifest.reads.clone(),
            writes: hook.manifest.writes.clone(),
        };
        members.push(Member { spec, settings: entry.settings.clone(), maker: Maker::Hook(hook) });
    }
    for entry in &config.metrics {
        let metric = inventory.metric(&entry.type_name, entry.library.as_deref())?;
        let metric = metric.ok_or_else(|| JobError::Gone(entry.type_name.clone()))?;
        let spec = HookSpec {
            name: entry.name.clone(),
            type_name: entry.type_name.clone(),
            level: Level(entry.level),
            is_default: false,
            library: entry.library.clone(),
            points: entry.phases.iter().flat_map(points_of).collect(),
            on_error: entry.on_error,
            // Its points say the phases.
            when: When { every: entry.every, phases: Phases::ALL },
            ranks: OnRanks::All,
            reads: Vec::new(),
            writes: METRIC_WRITES.map(str::to_owned).to_vec(),
        };
        members.push(Member {
            spec,
            settings: entry.settings.clone(),
            maker: Maker::Metric(metric, entry.phases),
        });
    }
    Ok(members)
}
