//! From a config file to everything that a run needs, before any tensor exists.

use crate::config::{ConfigErrors, ConfigFile, MemberEntry, Phases, ResolvedConfig};
use crate::dispatch::{CallFilter, HookSpec, Plan, PlanError, StaleRead, stale_reads};
use crate::hooks::CallbackHook;
use crate::inventory::{Inventory, InventoryError};
use crate::plugins::{HookType, LoadError, MetricType, points_of};
use hookrack_plugin_api::{Level, OnRanks, Point, Value};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use thiserror::Error;

/// What every metric writes, as declared in manifests.
const METRIC_WRITES: [&str; 2] = ["metrics", "events"];

/// A run that has been configured and checked, but not started.
pub struct Job {
    /// The resolved config.
    pub config: ResolvedConfig,
    /// Everything that the config can name.
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
    pub source: MemberSource,
}

/// What a member is made from.
pub enum MemberSource {
    /// A hook.
    Hook(HookType),
    /// A metric, and the phases that it is computed in.
    Metric(MetricType, Phases),
    /// Closures of the program that uses the library.
    Callback(Rc<RefCell<CallbackHook>>),
}

/// Why a job cannot be created from a config.
#[derive(Debug, Error)]
pub enum JobError {
    /// The config is wrong.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// A plugin that the config names could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The plugins' types cannot be added to the catalogue.
    #[error(transparent)]
    Inventory(#[from] InventoryError),
    /// The plan of hooks is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A plugin changed while the config was read.
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
        // A library that a policy refuses is an error only if the config needs it.
        let (untrusted, broken): (Vec<_>, Vec<_>) =
            failed.iter().partition(|(_, error)| error.reason.is_untrusted());
        let warn =
            |(_, error): &(PathBuf, LoadError)| tracing::warn!("{error}; continuing without it");
        broken.into_iter().for_each(warn);
        let config = file.resolve(&inventory.catalog);
        let config = config.inspect_err(|_| untrusted.into_iter().for_each(warn))?;
        let members = members(&config, &inventory)?;
        inventory.plugin_set.release();
        let specs: Vec<_> = members.iter().map(|member| member.spec.clone()).collect();
        let plan = Plan::new(&specs)?;
        Ok(Self { config, inventory, members, plan })
    }

    /// Adds a hook made of closures and updates the plan.
    ///
    /// # Errors
    /// It has a role that another hook already has.
    pub fn add(&mut self, hook: CallbackHook) -> Result<(), PlanError> {
        let spec = HookSpec {
            type_name: "CallbackHook".to_owned(),
            on_error: hook.on_error,
            ..HookSpec::at(&hook.name, hook.level, hook.points())
        };
        let source = MemberSource::Callback(Rc::new(RefCell::new(hook)));
        self.members.push(Member { spec, settings: Value::empty(), source });
        self.update_plan()
    }

    /// Removes the hooks that do not run on this rank, and updates the plan. A role of one that runs elsewhere falls back to the default
    /// hook.
    ///
    /// # Errors
    /// A hook of the main rank alone has a role, which every rank needs.
    pub fn keep_on_rank(&mut self, is_main: bool, is_last_stage: bool) -> Result<(), PlanError> {
        self.members.retain(|member| match member.spec.ranks {
            OnRanks::All => true,
            OnRanks::Main => is_main,
            OnRanks::LastStage => is_last_stage,
        });
        self.update_plan()
    }

    /// Removes hooks by name, and updates the plan.
    ///
    /// # Errors
    /// One of them has a role, which every step needs.
    pub fn leave_out(&mut self, names: &[String]) -> Result<(), PlanError> {
        self.members.retain(|member| !names.contains(&member.spec.name));
        self.update_plan()
    }

    fn update_plan(&mut self) -> Result<(), PlanError> {
        let specs: Vec<_> = self.members.iter().map(|member| member.spec.clone()).collect();
        self.plan = Plan::new(&specs)?;
        Ok(())
    }

    /// Values that a hook reads before another one writes them: usually a mistake.
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
            is_default: entry.is_default,
            time_limit: entry.time_limit,
            ranks: entry.ranks,
            reads: hook.manifest.reads.clone(),
            writes: hook.manifest.writes.clone(),
            ..spec_of(entry, entry.phases, hook.manifest.points.clone())
        };
        members.push(Member {
            spec,
            settings: entry.settings.clone(),
            source: MemberSource::Hook(hook),
        });
    }
    for entry in &config.metrics {
        let metric = inventory.metric(&entry.type_name, entry.library.as_deref())?;
        let metric = metric.ok_or_else(|| JobError::Gone(entry.type_name.clone()))?;
        let points = entry.phases.iter().flat_map(points_of).collect();
        let writes = METRIC_WRITES.map(str::to_owned).to_vec();
        // The phases follow from its points.
        let spec = HookSpec { writes, ..spec_of(entry, Phases::ALL, points) };
        members.push(Member {
            spec,
            settings: entry.settings.clone(),
            source: MemberSource::Metric(metric, entry.phases),
        });
    }
    Ok(members)
}

fn spec_of(entry: &MemberEntry, phases: Phases, points: Vec<Point>) -> HookSpec {
    HookSpec {
        type_name: entry.type_name.clone(),
        library: entry.library.clone(),
        on_error: entry.on_error,
        when: CallFilter { every: entry.every, phases },
        ..HookSpec::at(&entry.name, Level(entry.level), points)
    }
}
