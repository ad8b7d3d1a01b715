//! The fixed sections of a config file. A key is one field here: its check, its default, its documentation and its place
//! in the schema follow from the field.

use std::ops::Deref;
use std::path::PathBuf;

use hookrack_plugin_api::describe::Setting;
use hookrack_plugin_api::prelude::Deserialize;
use hookrack_plugin_api::{LossScaling, ParamType, Value};
use serde::de::{Deserializer, Error as _};

/// More threads than any machine can use; libtorch aborts a process that cannot create its threads.
const MOST_THREADS: u32 = 1024;

/// More batches than any run needs. Whether they fit into memory is checked once the data is read.
const MOST_AHEAD: u32 = 65_536;

/// More than any model's gradients.
const MOST_MEGABYTES: u32 = 1_000_000;

/// `[run]`: where the files of the run go.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RunSection {
    /// Name of the run and of its folder; a number is appended if it is taken. Default: the name of the config file.
    pub name: Filled<String>,
    /// Folder that holds the run folders, relative to the current directory.
    #[param(default = "runs")]
    pub dir: PathBuf,
}

/// `[train]`: how long and how to train.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TrainSection {
    /// Maximum number of epochs. `max_epochs`, `max_iters` or both must be set; the run ends at whichever comes first.
    #[param(min = 1)]
    pub max_epochs: Option<u64>,
    /// Maximum number of iterations (optimizer steps).
    #[param(min = 1)]
    pub max_iters: Option<u64>,
    /// Samples per batch.
    #[param(default = 64, min = 1)]
    pub batch_size: usize,
    /// Seed of the weights, dropout, transforms and the order of samples.
    #[param(default = 0)]
    pub seed: u64,
    /// Device of the model and the batches: `cpu`, `cuda` (the first device; of several ranks on a machine, each takes its own) or `cuda:N`.
    #[param(default = Device::Cpu)]
    pub device: Device,
    /// Arithmetic of the forward and backward pass; with `fp64` also the type of weights, gradients and optimizer state.
    #[param(default = Precision::Fp32)]
    pub precision: Precision,
    /// `graph` runs the model as TorchScript graphs; the numbers are the same.
    #[param(default = ExecutionMode::Eager)]
    pub mode: ExecutionMode,
    /// How images are laid out in memory while the model computes; `auto` times both before training.
    #[param(default = FormatChoice::Contiguous)]
    pub memory_format: FormatChoice,
    /// Kernels: PyTorch's, or `native`, which uses AVX-512 on every CPU that has it.
    #[param(default = Kernels::Default)]
    pub kernels: Kernels,
    /// Keep freed memory for the next step instead of returning it to the system.
    #[param(default = true)]
    pub keep_memory: bool,
    /// Batches per iteration: their gradients are accumulated for one optimizer step.
    #[param(default = 1, min = 1)]
    pub accumulate_grad_batches: u64,
    /// Micro-batches that each batch is split into to save memory; the gradients are those of the whole batch.
    #[param(default = 1, min = 1)]
    pub accumulation: usize,
    /// Maximum norm of all gradients together; 0 disables clipping.
    #[param(default = 0.0, min = 0.0)]
    pub clip_grad_norm: f64,
    /// Order of that norm: 1, 2, any other number, or `inf` for the largest absolute value.
    #[param(default = 2.0, min = 1.0, max = f64::INFINITY)]
    pub clip_grad_norm_type: f64,
    /// Maximum absolute value of each gradient element, applied after the norm; 0 disables clipping.
    #[param(default = 0.0, min = 0.0)]
    pub clip_grad_value: f64,
    /// Weights to start from: short for `[weights]` with this `path` and no other key. Set one of the two.
    pub load_from: Option<PathBuf>,
    /// Patterns of parameter names that are not trained, such as `"layers.0.*"`: no gradient, no optimizer state. Hooks can unfreeze them.
    #[param(default = Vec::new())]
    pub freeze: Vec<String>,
    /// Seconds after which the run saves a checkpoint and ends; 0 for no limit.
    #[param(default = 0.0, min = 0.0)]
    pub max_time: f64,
    /// Seconds after which a hook that has not returned is reported, with its stack; 0 for never. After a signal to end the run, a hook has this long to
    /// return, but at most 20 seconds.
    #[param(default = 60.0, min = 0.0, max = 1e6)]
    pub hang_seconds: f64,
    /// Threads for arithmetic on the CPU, recorded in `run.json`; the last bits of a sum depend on it. Default: one per core.
    #[param(min = 1, max = MOST_THREADS)]
    pub threads: Filled<usize>,
    /// Loss scaling in `fp16`, as by `torch.amp.GradScaler`.
    #[serde(default)]
    pub loss_scaler: LossScaling,
}

/// `[weights]`: weights that training starts from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WeightsSection {
    /// A safetensors file, the `….safetensors.index.json` of a sharded one, or a checkpoint or run directory of hookrack.
    pub path: PathBuf,
    /// Refuse weights with a missing tensor, an unexpected one, or one of another shape.
    #[param(default = true)]
    pub strict: bool,
    /// Renames tensors of the file to those of the model; the first rule that matches wins.
    #[param(default = Vec::new())]
    pub rename: Vec<RenameEntry>,
    /// Patterns of tensor names in the file to ignore, before renaming.
    #[param(default = Vec::new())]
    pub ignore: Vec<String>,
}

/// One of `[[weights.rename]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RenameEntry {
    /// A name in the file; `*` matches any characters.
    pub from: String,
    /// The name in the model, with the same number of `*`.
    pub to: String,
    /// Transpose matrices, for libraries that store weights transposed.
    #[param(default = false)]
    pub transpose: bool,
}

/// The keys of `[optimizer]` about parameters and their state, regardless of its type.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ParamGroups {
    /// No weight decay for parameters of at most one dimension: biases, and the scales of norms.
    #[param(default = false)]
    pub no_decay_on_norm_and_bias: bool,
    /// Shard the optimizer's state among the ranks that train together (ZeRO-1): each keeps and steps its share of the parameters.
    /// No effect with a single process.
    #[param(default = false)]
    pub shard: bool,
    /// Parameters with a learning rate or weight decay of their own; a parameter belongs to the first group that matches its name.
    #[param(default = Vec::new())]
    pub groups: Vec<GroupEntry>,
}

/// One of `[[optimizer.groups]]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct GroupEntry {
    /// Pattern of the parameter names; `*` matches any characters, dots included.
    #[serde(rename = "match")]
    pub pattern: String,
    /// Factor on the optimizer's learning rate.
    #[param(default = 1.0, min = 0.0)]
    pub lr_scale: f64,
    /// Weight decay. Default: the optimizer's.
    #[param(min = 0.0)]
    pub weight_decay: Option<f64>,
}

/// The keys of every data section about loading, regardless of its type.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Loading {
    /// Samples per batch; in `[data.train]` at most as many as there are samples. Default: `train.batch_size`.
    #[param(min = 1)]
    pub batch_size: Filled<usize>,
    /// Draw the samples in a new random order each epoch. Default: `true` for `[data.train]`, else `false`.
    pub shuffle: Filled<bool>,
    /// Drop the last batch of an epoch if it is incomplete.
    #[param(default = false)]
    pub drop_last: bool,
    /// Samples to skip at the beginning of the data set.
    #[param(default = 0)]
    pub skip: usize,
    /// Number of samples to use, after those skipped. Default: all.
    #[param(min = 1)]
    pub first: Option<usize>,
    /// Threads that prepare batches in advance; 0 prepares each batch when it is needed.
    #[param(default = 0, max = MOST_THREADS)]
    pub workers: usize,
    /// Maximum number of batches that the workers prepare in advance; they must fit into memory.
    #[param(default = 4, min = 1, max = MOST_AHEAD)]
    pub prefetch: usize,
}

/// `[distributed]`: how several ranks train together. No effect with a single process.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct DistributedSection {
    /// Find parameters that the loss does not depend on before each backward pass, and send zeros for them; without it such a parameter is an error that names it.
    #[param(default = false)]
    pub find_unused_parameters: bool,
    /// Send gradients in half precision: half the traffic, and rounded sums.
    #[param(default = false)]
    pub fp16_compression: bool,
    /// Normalize by the mean and variance of all ranks' rows in the batch norms of a built-in model, as a single process would; without it each rank uses its own rows.
    #[param(default = false)]
    pub sync_batch_norm: bool,
    /// Megabytes (2^20 bytes) of gradients that are sent at once.
    #[param(default = 25.0, min = 0.001, max = MOST_MEGABYTES)]
    pub bucket_mb: f64,
}

/// `[parallel]`: the layout that the ranks must have. Without it, it follows from the schedule and the number of ranks; a config that sets
/// it fails on any other layout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ParallelSection {
    /// Stages of the pipeline, for a `[schedule]` that does not set `stages`; else it must be the same number.
    #[param(min = 1)]
    pub pipeline: Option<u32>,
    /// Copies of the pipeline, which train data parallel.
    #[param(min = 1)]
    pub data: Option<u32>,
}

/// `[plugins]`: where plugin libraries are.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PluginsSection {
    /// Folders with plugin libraries, relative to the config file or else to the current directory.
    #[param(default = vec![PathBuf::from("plugins")])]
    pub dirs: Vec<PathBuf>,
    /// Folders searched after `dirs`; missing ones are skipped. Default: those of `HOOKRACK_PLUGINS`, then `plugins` next to the program's own folder.
    pub search: Filled<Vec<PathBuf>>,
    /// What happens to a library that is neither in the lock file nor signed by a trusted key: `off` loads it, `warn` loads it with a warning, `require` refuses it. Default: `warn` if there is a lock file or a trusted key, else `off`.
    pub policy: Filled<TrustPolicy>,
    /// Policies of single folders of `dirs` and `search`, in place of `policy`.
    #[param(default = Vec::new())]
    pub folders: Vec<FolderPolicy>,
    /// The lock file, written by `hookrack lock`. Default: `plugins.lock` beside the config file.
    pub lock: Option<PathBuf>,
    /// Files with public keys of minisign; the signature `LIBRARY.minisig` by any of them counts.
    #[param(default = Vec::new())]
    pub trusted_keys: Vec<PathBuf>,
}

/// One of `[[plugins.folders]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct FolderPolicy {
    /// The folder; a relative path is resolved as in `dirs`.
    pub dir: PathBuf,
    /// Policy of the folder.
    pub policy: TrustPolicy,
}

/// What happens to a library that is not verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustPolicy {
    /// It is loaded.
    #[default]
    Off,
    /// It is loaded, with a warning.
    Warn,
    /// It is refused.
    Require,
}

/// The arithmetic of a run. Hooks choose among all but the last ([`hookrack_plugin_api::Arithmetic`]): it is also the type of all tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// float32.
    Fp32,
    /// bfloat16 where that is safe.
    Bf16,
    /// float16 where that is safe, with loss scaling.
    Fp16,
    /// float64 everywhere.
    Fp64,
}

/// How a model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    /// Operator by operator.
    Eager,
    /// As a compiled graph.
    Graph,
}

/// The memory format of images, or how it is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormatChoice {
    /// The faster one.
    Auto,
    /// Channel by channel.
    Contiguous,
    /// The channels of each pixel together.
    ChannelsLast,
}

/// The kernels that compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernels {
    /// Those of PyTorch on the same machine.
    Default,
    /// AVX-512 on every CPU that has it.
    Native,
}

/// A device by its name: `cpu`, `cuda` for this rank's own, the first of its kind for a single process, `cuda:1` for the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    Cpu,
    /// The CUDA device of this number, or this rank's own.
    Cuda(Option<usize>),
}

impl Device {
    /// The device of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "cpu" => Some(Self::Cpu),
            "cuda" => Some(Self::Cuda(None)),
            _ => name.strip_prefix("cuda:")?.parse().ok().map(|index| Self::Cuda(Some(index))),
        }
    }
}

impl Setting for Device {
    fn param_type() -> ParamType {
        ParamType::Str
    }

    fn to_value(&self) -> Option<Value> {
        Some(Value::Str(match self {
            Self::Cpu => "cpu".into(),
            Self::Cuda(None) => "cuda".into(),
            Self::Cuda(Some(index)) => format!("cuda:{index}"),
        }))
    }
}

impl<'de> Deserialize<'de> for Device {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name)
            .ok_or_else(|| D::Error::custom(format!("no device is named `{name}`")))
    }
}

/// A value that a config may omit and that always exists once the config is resolved: its default comes from
/// somewhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled<T>(T);

impl<T> Deref for Filled<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Setting> Setting for Filled<T> {
    fn param_type() -> ParamType {
        T::param_type()
    }

    fn to_value(&self) -> Option<Value> {
        self.0.to_value()
    }

    const OPTIONAL: bool = true;
    const RANGE: (Option<f64>, Option<f64>) = T::RANGE;
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Filled<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_kind_and_perhaps_a_number() {
        let devices = ["cpu", "cuda", "cuda:3"].map(Device::from_name);
        assert_eq!(devices, [Device::Cpu, Device::Cuda(None), Device::Cuda(Some(3))].map(Some));
        let wrong = ["gpu", "cuda:", "cuda:-1", "cuda:x", "CUDA", ""];
        assert_eq!(wrong.map(Device::from_name), [None; 6]);
    }
}
