//! The command line: what may be typed, and what each command does.

#![expect(clippy::print_stderr, reason = "talking to the person is what this folder is for")]

/// Prints a line. A reader that has gone away (`hookrack plan … | head`) is no error.
macro_rules! say {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($arg)*);
    }};
}

mod catalogue;
mod check;
mod config;
mod eval;
mod exit;
mod export;
mod from_checkpoint;
mod inspect;
mod inspect_checkpoint;
mod logging;
mod new_plugin;
mod plan;
mod plot_lr;
mod plugins;
mod predict;
mod report;
mod requeue;
mod resume;
mod runs;
mod sample;
mod summary;
mod train;
mod verify_resume;

use clap::{Args, Parser, Subcommand};
use exit::Failure;
use std::path::PathBuf;
use std::process::ExitCode;

/// Trains models on libtorch, with hooks and metrics from shared libraries.
#[derive(Parser)]
#[command(name = "hookrack", version, about, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Say more on standard error; twice for everything
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
}

const EXAMPLES: &str = "\
Examples:
  hookrack train configs/quickstart.toml                 train, leave a run directory
  hookrack train configs/quickstart.toml -s train.max_epochs=3 -s optimizer.lr=0.01
  hookrack plan configs/quickstart.toml                  which hook runs at which point, in which order
  hookrack inspect plugins/libema.so                     what a plugin offers
  hookrack eval configs/quickstart.toml --checkpoint runs/quickstart

Exit codes: 0 done, 2 config or usage, 3 a plugin would not load, 4 a hook failed, 5 training failed,
6 could not write, 130 and 143 interrupted (after saving).";

#[derive(Subcommand)]
enum Command {
    Train(train::TrainArgs),
    Eval(eval::EvalArgs),
    Predict(predict::PredictArgs),
    Check(check::CheckArgs),
    Plan(plan::PlanArgs),
    Config(config::ConfigArgs),
    Plugins(plugins::PluginsArgs),
    Inspect(inspect::InspectArgs),
    NewPlugin(new_plugin::NewPluginArgs),
    Report(report::ReportArgs),
    Export(export::ExportArgs),
    Runs(runs::RunsArgs),
    VerifyResume(verify_resume::VerifyResumeArgs),
}

/// The config of a command.
#[derive(Args)]
struct ConfigSource {
    /// The config file
    config: PathBuf,

    /// Override a value of the config, such as train.max_epochs=3; may be given many times
    #[arg(short, long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl ConfigSource {
    fn job(&self) -> Result<crate::job::Job, Failure> {
        Ok(crate::job::Job::load(&self.config, &self.set)?)
    }
}

/// Runs what was typed.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let json = matches!(&cli.command, Command::Train(args) if args.json);
    let log = logging::start(cli.verbose, json);
    let outcome = match cli.command {
        Command::Train(args) => train::run(&args, &log),
        Command::Eval(args) => eval::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Plugins(args) => plugins::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::NewPlugin(args) => new_plugin::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Runs(args) => runs::run(&args),
        Command::VerifyResume(args) => verify_resume::run(&args),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(json),
    }
}
