//! The measured hooks: a trait object, a built-in hook, one in a Rust library and one in a C library.

use crate::error::BenchError;
use hookrack::context::Context;
use hookrack::dispatch::{Attached, HookSpec, Plan, Rack};
use hookrack::hooks::HOOKS;
use hookrack::job::Job;
use hookrack::plugins::{HookType, Instance, open};
use hookrack::train::Parts;
use hookrack::writers::Writers;
use hookrack_bench_noop::Noop;
use hookrack_plugin_api::abi::HookBase;
use hookrack_plugin_api::{Error, Level, Point, Value, hook_table};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Where the hook is called.
pub(crate) const POINT: Point = Point::AfterTrainIter;

/// The hooks as a host without plugins would call them: the baseline.
pub(crate) trait Plain {
    fn on_point(&mut self, point: Point, context: &Context) -> Result<(), Error>;
}

/// Counts its calls in steps of `BY`, as the plugins do.
#[derive(Default)]
pub(crate) struct Counter<const BY: u64> {
    calls: u64,
}

impl<const BY: u64> Plain for Counter<BY> {
    fn on_point(&mut self, point: Point, _context: &Context) -> Result<(), Error> {
        if point == POINT {
            self.calls = self.calls.wrapping_add(BY);
        }
        Ok(())
    }
}

/// The same hook three times, as the host calls it.
pub(crate) struct Kinds {
    pub(crate) built_in: HookType,
    pub(crate) rust: HookType,
    pub(crate) rust_by_two: HookType,
    pub(crate) c: HookType,
}

impl Kinds {
    /// Loads both libraries.
    pub(crate) fn load() -> Result<Self, BenchError> {
        static TABLE: HookBase = hook_table!(Noop);
        let (rust, c) = (beside_this("libhookrack_bench_noop.so")?, env!("HOOKRACK_BENCH_NOOP_C"));
        Ok(Self {
            built_in: HookType::built_in(&TABLE)?,
            rust: from_library(&rust, "Noop")?,
            rust_by_two: from_library(&rust, "NoopByTwo")?,
            c: from_library(Path::new(c), "NoopC")?,
        })
    }
}

pub(crate) fn from_library(path: &Path, name: &'static str) -> Result<HookType, BenchError> {
    let library = open(path)?;
    library.hooks.iter().find(|hook| hook.name() == name).cloned().ok_or(BenchError::NoHook(name))
}

/// A file in the folder of this program, where cargo puts what it builds.
pub(crate) fn beside_this(name: &str) -> Result<PathBuf, BenchError> {
    let program = std::env::current_exe().map_err(BenchError::file(name))?;
    Ok(program.with_file_name(name))
}

/// The workspace that this program was built from.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The job to train, with overrides.
pub(crate) fn job(overrides: &[&str]) -> Result<Job, BenchError> {
    let overrides: Vec<_> = overrides.iter().map(|&text| text.to_owned()).collect();
    Ok(Job::load(&workspace().join("bench/mlp.toml"), &overrides)?)
}

/// A context for creating hooks.
pub(crate) fn context() -> Result<Rc<Context>, BenchError> {
    let Parts { engine, .. } = Parts::build(&job(&["data.train.samples=64"])?.config)?;
    Ok(Rc::new(Context::new(engine, Writers::default(), None)))
}

/// An instance of a hook.
pub(crate) fn instance(kind: &HookType, context: &Rc<Context>) -> Result<Instance, BenchError> {
    Instance::hook(kind, "noop", &Value::empty(), context).map_err(BenchError::Instance)
}

/// A rack with this many hooks of a kind, and the main hook, which every plan needs.
pub(crate) fn rack(kind: &HookType, count: u32, context: &Rc<Context>) -> Result<Rack, BenchError> {
    let main = HOOKS.iter().map(HookType::built_in).collect::<Result<Vec<_>, _>>()?;
    let main = main
        .into_iter()
        .find(|hook| hook.name() == "MainHook")
        .ok_or(BenchError::NoHook("MainHook"))?;
    let mut hooks = vec![attached(&main, "main", true, context)?];
    for i in 0..count {
        hooks.push(attached(kind, &format!("noop{i}"), false, context)?);
    }
    let specs: Vec<_> = hooks.iter().map(|hook| hook.spec.clone()).collect();
    Ok(Rack::new(hooks, &Plan::new(&specs)?, Rc::clone(&context.progress)))
}

fn attached(
    kind: &HookType,
    name: &str,
    is_default: bool,
    context: &Rc<Context>,
) -> Result<Attached, BenchError> {
    let points = kind.manifest.points.clone();
    let at = HookSpec::at(name, Level::NORMAL, points);
    let spec = HookSpec { type_name: kind.name().to_owned(), is_default, ..at };
    Ok(Attached { spec, instance: instance(kind, context)?, disabled: false })
}
