//! The arguments of the slow suites and of the benchmarks.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;

/// `cargo xtask schedules`
#[derive(Debug, Args)]
#[command(after_help = "\
Each layout has up to 64 stages, 512 micro-batches and 8 chunks. The table of every schedule must
pass the check, run to its end and stay within the schedule's limit of live activations. With two sends
swapped it must be rejected.

Examples:
  cargo xtask schedules
  cargo xtask schedules --layouts 100000")]
pub(crate) struct Schedules {
    /// Number of layouts
    #[arg(long, default_value_t = 10_000)]
    pub(crate) layouts: u64,
}

/// `cargo xtask soak`
#[derive(Debug, Args)]
#[command(after_help = "\
Two runs, one in 32 bits and one in fp16 with loss scaling, each with averaged weights, a schedule,
dropout, checkpoints in the middle of epochs and TensorBoard. At the end all tensors and states,
metrics.json and the TensorBoard records must be identical, bit for bit, to those of an
uninterrupted run.

With --ranks a run on several ranks is killed instead: a random rank at random moments. `hookrack launch
--restarts`, or with --torchrun PyTorch's own launcher, restarts all of them. torchrun comes from the
Python package index: some gigabytes the first time, into the cache folder of `cargo xtask setup`.

Examples:
  cargo xtask soak
  cargo xtask soak --kills 50 --seed 7
  cargo xtask soak --ranks 2 --kills 30
  cargo xtask soak --ranks 2 --kills 30 --torchrun
  cargo xtask soak --ranks 4 --kills 20 --stages 2")]
pub(crate) struct Soak {
    /// Number of kills of each run
    #[arg(long, default_value_t = 200)]
    pub(crate) kills: u64,
    /// Seed of the random moments
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Train on this many ranks, and kill one of them each time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    pub(crate) ranks: Option<u64>,
    /// Number of pipeline stages; without it the ranks train data parallel
    #[arg(long, value_name = "N", requires = "ranks")]
    pub(crate) stages: Option<u64>,
    /// Have torchrun restart the ranks
    #[arg(long, requires = "ranks")]
    pub(crate) torchrun: bool,
}

/// `cargo xtask pipeline`
#[derive(Debug, Args)]
#[command(after_help = "\
With --measure a GPT of 8 blocks is trained on 2 stages under GPipe, OneFOneB and Interleaved1F1B: peak memory and
bubble are printed beside the planned bubble, and the timelines are written to docs/img. OneFOneB must need less memory than
GPipe.

Examples:
  cargo xtask pipeline
  cargo xtask pipeline --steps 10
  cargo xtask pipeline --measure")]
pub(crate) struct Pipeline {
    /// Optimizer steps of each run
    #[arg(long, default_value_t = 50)]
    pub(crate) steps: u64,
    /// Measure memory and bubble instead
    #[arg(long, conflicts_with = "steps")]
    pub(crate) measure: bool,
    /// Iterations of each measured run
    #[arg(long, value_name = "N", requires = "measure", default_value_t = 10)]
    pub(crate) iters: u64,
}

/// `cargo xtask netns`
#[derive(Debug, Args)]
#[command(after_help = "\
Needs root, `ip` (Debian: iproute2) and `unshare` (util-linux). Every host is a network namespace with an
address and a host name of its own, on a bridge in another namespace; the machine's own network is not
touched. First the last host is cut off, then in another run that of rank 0. Every rank must exit within
ten seconds of the timeout with exit code 7 and name the host, no process may be left, and the run must resume.

Examples:
  cargo xtask netns
  cargo xtask netns --hosts 3 --timeout 30")]
pub(crate) struct Netns {
    /// Number of hosts, with one rank each
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=16))]
    pub(crate) hosts: u8,
    /// Seconds that a rank waits for the others
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    pub(crate) timeout: u64,
}

/// `cargo xtask mutate`
#[derive(Debug, Args)]
#[command(after_help = "\
No copy may crash the host, and with `policy = \"require\"` none may be mapped into it.

Examples:
  cargo xtask mutate
  cargo xtask mutate --count 200")]
pub(crate) struct Mutate {
    /// Number of copies: files truncated at every boundary, then with swapped parts and flipped bits
    #[arg(long, default_value_t = 2000)]
    pub(crate) count: u64,
}

/// `cargo xtask fuzz`
#[derive(Debug, Args)]
#[command(after_help = "\
Every reader of external files (configs, data, checkpoints, plugins with their locks and policies, reports) is run on inputs
derived from valid files, guided by code coverage. That needs cargo-fuzz (`cargo install cargo-fuzz --locked`)
and no other compiler; without it inputs are damaged at random. No input may make a reader panic, run for 20 seconds
or take 2 GB: one that does is copied to tests/fixtures/fuzz. Inputs that reach new code are kept in target/fuzz-corpus.

Examples:
  cargo xtask fuzz --minutes 60
  cargo xtask fuzz --minutes 5 --reader npz
  cargo xtask fuzz --minutes 60 --seed 7")]
pub(crate) struct Fuzz {
    /// Total time, divided among the readers
    #[arg(long, default_value_t = 10)]
    pub(crate) minutes: u64,

    /// Only this reader
    #[arg(long, value_name = "NAME")]
    pub(crate) reader: Option<String>,

    /// Seed; the same seed gives the same inputs for the same corpus [default: random]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// `cargo xtask parity`
#[derive(Debug, Args)]
#[command(after_help = "\
Trains MLP, LeNet, ResNet with synchronized batch norms and GPT on 1, 2 and 4 ranks: samples, losses and validation
metrics of every step are compared with one process that has the same micro-batches, and so is a run that moves from
1 to 2 to 4 to 1 ranks. ResNet is trained in doubles, because its batch norms amplify rounding.
Fashion-MNIST and the text of `cargo xtask data text` are used where they are installed.

Examples:
  cargo xtask parity
  cargo xtask parity --steps 20")]
pub(crate) struct Parity {
    /// Number of steps to compare
    #[arg(long, default_value_t = 100)]
    pub(crate) steps: u64,
}

/// `cargo xtask bench`
#[derive(Debug, Args)]
#[command(after_help = "\
With --peers, bare PyTorch, Ignite, the HF Trainer, Lightning, MMEngine and JAX train the same models as hookrack, in
random order. They come from the Python package index into the cache folder of `cargo xtask setup`: some gigabytes,
once. Those that could not be installed are reported. The images are Fashion-MNIST if Debian's package
dataset-fashion-mnist is installed, else MNIST as `cargo xtask data mnist` downloads it. At least 5 rounds of all
models write docs/benchmarks.md and its chart. Models: mlp, mlp_ema, cnn, resnet18, gpt.

Examples:
  cargo xtask bench
  cargo xtask bench --ranks                compare two ranks with PyTorch's DDP, which comes from the Python package index
  cargo xtask bench --peers                about half an hour, writes docs/benchmarks.md
  cargo xtask bench --peers --models mlp,gpt --rounds 3
  cargo xtask bench --peers --models mlp --rounds 1 --out /tmp/peers
  cargo xtask bench -- --help              options of the benchmarks")]
pub(crate) struct Bench {
    /// Compare two ranks with PyTorch's DistributedDataParallel
    #[arg(long)]
    pub(crate) ranks: bool,
    /// Compare with PyTorch, Lightning, MMEngine, HF Trainer, Ignite and JAX
    #[arg(long, conflicts_with = "ranks")]
    pub(crate) peers: bool,
    /// Models to train with --peers, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", requires = "peers")]
    pub(crate) models: Option<String>,
    /// Number of rounds; in each, every framework trains every model once [default: 5]
    #[arg(long, value_name = "N", requires = "peers")]
    pub(crate) rounds: Option<usize>,
    /// Output folder of `benchmarks.md` and `img/benchmarks.svg`, for any models and rounds [default: docs/, after at least 5 rounds of all models]
    #[arg(long, value_name = "DIR", requires = "peers")]
    pub(crate) out: Option<PathBuf>,
    /// Arguments of the benchmarks
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}

/// `cargo xtask lightning`
#[derive(Debug, Args)]
#[command(after_help = "\
Without --python, the environment that `cargo xtask bench --peers` uses too is created in the user's cache, with
Lightning and torch from the Python package index: about 3 GB the first time.

Examples:
  cargo xtask lightning
  cargo xtask lightning --python ~/venv/bin/python")]
pub(crate) struct Lightning {
    /// Python interpreter with Lightning installed
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
}
