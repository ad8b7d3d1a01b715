//! The environment of a case: a library, a temporary folder, a tiny config and a seed.

use super::given::{Given, toml_of};
use crate::context::Context;
use crate::job::Job;
use crate::plugins::trust::Trust;
use crate::plugins::{HookManifest, HookType, Library, MetricType, open_trusted};
use crate::run::RunDir;
use crate::train::{Ending, Interrupt, Parts, Trainer};
use crate::writers::Writers;
use hookrack_plugin_api::{Param, ParamType, Point, Presence, Value};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use tempfile::TempDir;

/// A lock file in the current directory counts, if the policy of the machine requires one.
pub const LOCK: &str = "plugins.lock";

/// A run of two epochs with two iterations each, on tiny data, after the lock file.
const TINY: &str = r#"
policy = "off"
dirs = []
search = []
[run]
name = "trial"
[model]
type = "MLP"
hidden = [8]
[data.train]
type = "Synthetic"
samples = 8
shape = SHAPE
classes = 3
[data.val]
type = "Synthetic"
samples = 8
shape = SHAPE
classes = 3
seed = 7
[data.test]
type = "Synthetic"
samples = 8
shape = SHAPE
classes = 3
seed = 8
[data.pred]
type = "Synthetic"
samples = 8
shape = SHAPE
classes = 3
seed = 9
[loss]
type = "CrossEntropy"
[optimizer]
type = "SGD"
lr = 0.1
momentum = 0.9
[train]
max_epochs = 2
batch_size = 4
threads = 1
"#;

/// The environment of a case.
pub struct CaseEnv {
    /// The library.
    pub library: PathBuf,
    /// The seed of a case's random choices.
    pub seed: u64,
    given: Given,
    folder: TempDir,
}

impl CaseEnv {
    /// The environment for a library.
    pub fn new(library: &Path, seed: u64, given: Given) -> std::io::Result<Self> {
        let library = library.canonicalize()?;
        Ok(Self { library, seed, given, folder: TempDir::new()? })
    }

    /// A path in the folder of the case.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Loads the library into this process, if the policy of the machine allows it.
    pub fn open(&self) -> Result<Arc<Library>, String> {
        let trust = Trust::of_machine(std::path::absolute(LOCK).unwrap_or_default());
        open_trusted(&self.library, &trust).map_err(|error| error.to_string())
    }

    /// The library, with what the author has given as the defaults of its settings.
    fn known(&self) -> Result<(Vec<HookType>, Vec<MetricType>), String> {
        let library = self.open()?;
        self.given.check(&library)?;
        let (mut hooks, mut metrics) = (library.hooks.clone(), library.metrics.clone());
        for hook in &mut hooks {
            let manifest = Arc::make_mut(&mut hook.manifest);
            let params = manifest.params.as_deref_mut().unwrap_or_default();
            self.given.as_defaults(&manifest.name, params);
        }
        for metric in &mut metrics {
            let manifest = Arc::make_mut(&mut metric.manifest);
            let params = manifest.params.as_deref_mut().unwrap_or_default();
            self.given.as_defaults(&manifest.name, params);
        }
        Ok((hooks, metrics))
    }

    /// The hooks that the case can configure.
    pub(super) fn hooks(&self) -> Result<Vec<HookType>, String> {
        let (mut hooks, _) = self.known()?;
        hooks.retain(|hook| generated(hook.manifest.params.as_deref()).is_some());
        Ok(hooks)
    }

    /// The metrics that the case can configure.
    pub(super) fn metrics(&self) -> Result<Vec<MetricType>, String> {
        let (_, mut metrics) = self.known()?;
        metrics.retain(|metric| generated(metric.manifest.params.as_deref()).is_some());
        Ok(metrics)
    }

    /// The config entries of all hooks and metrics of the library, with `more` in each entry of a hook without a role. Of several hooks
    /// with the same role only the first is included.
    pub(super) fn entries(&self, more: &str) -> Result<String, String> {
        let mut text = String::new();
        let mut roles: Vec<Point> = Vec::new();
        for hook in self.hooks()? {
            let own: Vec<_> = own_roles(&hook.manifest);
            if own.iter().any(|role| roles.contains(role)) {
                continue;
            }
            let more = if own.is_empty() { more } else { "" };
            roles.extend(own);
            text += &self.entry("custom_hooks", hook.name(), hook.manifest.params.as_deref());
            _ = writeln!(text, "on_error = \"abort\"\n{more}");
        }
        for metric in self.metrics()? {
            text += &self.entry("metrics", metric.name(), metric.manifest.params.as_deref());
        }
        Ok(text)
    }

    /// One entry, with the values that were given, and generated ones of the other required settings.
    pub(super) fn entry(&self, list: &str, name: &str, params: Option<&[Param]>) -> String {
        let mut text = format!(
            "[[{list}]]\ntype = \"{name}\"\nlibrary = {:?}\n",
            self.library.display().to_string()
        );
        for (key, value) in self.given.of(name) {
            _ = writeln!(text, "{key} = {}", toml_of(value));
        }
        for (key, value) in generated(params).unwrap_or_default() {
            _ = writeln!(text, "{key} = {}", toml_of(&value));
        }
        text
    }

    /// Writes a config with these entries.
    pub(super) fn config(&self, entries: &str) -> Result<PathBuf, String> {
        let path = self.path("config.toml");
        let lock = std::path::absolute(LOCK).ok().filter(|lock| lock.exists());
        let lock = lock
            .map_or_else(String::new, |lock| format!("lock = {:?}", lock.display().to_string()));
        let seed = self.seed % (1 << 31);
        let tiny = TINY.replace("SHAPE", &format!("{:?}", self.given.shape));
        let text = format!("[plugins]\n{lock}{tiny}seed = {seed}\n{entries}");
        std::fs::write(&path, text).map_err(|error| error.to_string())?;
        Ok(path)
    }

    /// The job of a config with these entries and overrides.
    pub(super) fn job(&self, entries: &str, sets: &[&str]) -> Result<Job, String> {
        let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
        Job::load(&self.config(entries)?, &sets).map_err(|error| error.to_string())
    }

    /// A trainer of a config with these entries and overrides, in the folder `run`.
    pub(super) fn trainer(&self, entries: &str, sets: &[&str]) -> Result<Trainer, String> {
        self.assemble(&self.job(entries, sets)?)
    }

    /// A trainer of a job.
    pub(super) fn assemble(&self, job: &Job) -> Result<Trainer, String> {
        self.assemble_in(job, &self.path("run"))
    }

    /// A trainer of a job, with another run directory.
    pub(super) fn assemble_in(&self, job: &Job, folder: &Path) -> Result<Trainer, String> {
        tch::manual_seed(i64::try_from(self.seed % (1 << 31)).unwrap_or(0));
        let parts = Parts::build(&job.config).map_err(|error| error.to_string())?;
        let run = RunDir::at(folder).map_err(|error| error.to_string())?;
        Trainer::assemble(parts, job, Writers::default(), Some(run), Interrupt::default())
            .map_err(|error| error.to_string())
    }

    /// Trains to the end; the run must complete.
    pub(super) fn fit(&self, entries: &str, sets: &[&str]) -> Result<Trainer, String> {
        let mut trainer = self.trainer(entries, sets)?;
        match trainer.fit() {
            Ending::Completed | Ending::Stopped(_) => Ok(trainer),
            ending => Err(ending.describe().1),
        }
    }

    /// A context for creating instances, with a batch, an output and a loss.
    pub(super) fn context(&self) -> Result<Rc<Context>, String> {
        let trainer = self.trainer("", &[])?;
        let context = Rc::clone(trainer.context());
        self.fill(&context)?;
        Ok(context)
    }

    /// Puts a batch into the slots and runs the model on it.
    pub(super) fn fill(&self, context: &Context) -> Result<(), String> {
        let shape = [&[4], self.given.shape.as_slice()].concat();
        tch::no_grad(|| fill(context, &shape)).map_err(|error| error.to_string())
    }
}

fn fill(context: &Context, shape: &[i64]) -> Result<(), Box<dyn std::error::Error>> {
    let input = tch::Tensor::f_randn(shape, (tch::Kind::Float, tch::Device::Cpu))?;
    let label = tch::Tensor::f_randint(3, [4], (tch::Kind::Int64, tch::Device::Cpu))?;
    context.set_batch(input, Some(label));
    context.forward()?;
    context.criterion()?;
    Ok(())
}

/// Generated values of the required settings; `None` if one cannot be generated.
fn generated(params: Option<&[Param]>) -> Option<Vec<(String, Value)>> {
    let params = params.unwrap_or_default().iter();
    let params = params.filter(|param| param.presence == Presence::Required);
    params.map(|param| Some((param.name.clone(), sample(param)?))).collect()
}

/// A valid value of a parameter.
#[expect(clippy::cast_possible_truncation, reason = "limits of integers are integers")]
fn sample(param: &Param) -> Option<Value> {
    let inside = |fallback: f64| {
        let above = param.min.map_or(fallback, |min| fallback.max(min));
        param.max.map_or(above, |max| above.min(max))
    };
    Some(match &param.ty {
        ParamType::Bool => Value::Bool(true),
        ParamType::Int => Value::Int(inside(1.0).ceil() as i64),
        ParamType::Float => Value::Float(inside(0.5)),
        ParamType::Str => Value::Str("trial".to_owned()),
        ParamType::Monitor => Value::Str("train/loss".to_owned()),
        ParamType::OneOf(names) => Value::Str(names.first()?.clone()),
        ParamType::List(_) => Value::List(Vec::new()),
        _ => return None,
    })
}

/// The settings of a parameter list as a tree, for a direct call.
pub(super) fn settings(params: Option<&[Param]>) -> Option<Value> {
    let mut entries = generated(params)?;
    for param in params.unwrap_or_default() {
        if let Presence::Default(value) = &param.presence {
            entries.push((param.name.clone(), value.clone()));
        }
    }
    Some(Value::Table(entries))
}

/// The roles of a hook.
fn own_roles(manifest: &HookManifest) -> Vec<Point> {
    manifest.points.iter().copied().filter(|point| point.is_role()).collect()
}
