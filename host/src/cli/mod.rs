//! The command line: arguments and commands.

/// Prints a line to standard output; errors are checked once, at the end of the command.
macro_rules! say {
    ($($arg:tt)*) => {
        $crate::stdio::print_line(format_args!($($arg)*))
    };
}

/// The end of a command's help.
macro_rules! help {
    ($examples:literal) => {
        concat!(
            $examples,
            "

Exit codes:
  0    success, also when a hook requested the stop
  2    invalid config or command line
  3    a plugin failed to load, or failed a case of test-plugin
  4    a hook failed under on_error = \"abort\"
  5    training failed: model, data, optimizer, or the hook in a role
  6    a file could not be written or read, or a command could not write its output
  7    another rank failed or stopped responding
  8    complete, but without a hook that crashed twice (train --supervise)
  130  interrupted by SIGINT; train saves a checkpoint first
  143  interrupted by SIGTERM or SIGUSR1; train saves a checkpoint first"
        )
    };
}

mod catalogue;
mod check;
mod color;
mod config;
mod current_dir;
mod eval;
mod exit;
mod export;
mod fast_dev_run;
mod from_checkpoint;
mod inspect;
mod inspect_checkpoint;
mod keys;
mod launch;
mod limit_args;
mod lock;
mod logging;
mod new_plugin;
mod out_file;
mod plan;
mod plot_lr;
mod plugin_json;
mod plugins;
mod predict;
mod rank_plan;
mod ranks;
mod report;
mod requeue;
mod resume;
mod run_state;
mod run_values;
mod runs;
mod sample;
mod schedule_drawing;
mod schedule_plan;
mod sdk;
mod start_lines;
mod state_dump_file;
mod summary;
mod supervise;
mod test_plugin;
mod text_stream;
mod train;
mod verify_resume;

use crate::plugins::crash;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use color::Color;
pub use current_dir::require_current_dir;
use exit::Failure;
use std::path::PathBuf;
use std::process::ExitCode;

/// Train models on libtorch, with hooks and metrics loaded from shared libraries
#[derive(Parser)]
#[command(name = "hookrack", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Log more to standard error: -v info, -vv debug, -vvv trace (every call of a hook)
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,

    /// Use colors: auto, always or never
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        global = true
    )]
    color: Color,
}

const EXAMPLES: &str = help!(
    "\
Examples:
  hookrack train configs/quickstart.toml            train; results go to a run directory
  hookrack train configs/quickstart.toml -s train.max_epochs=3 -s optimizer.lr=0.01
  hookrack plan configs/quickstart.toml             which hooks run at each point, in order
  hookrack inspect plugins/libema.so                what a plugin provides
  hookrack eval configs/quickstart.toml --checkpoint runs/quickstart"
);

#[derive(Subcommand)]
enum Command {
    Train(train::TrainArgs),
    Launch(launch::LaunchArgs),
    Eval(eval::EvalArgs),
    Predict(predict::PredictArgs),
    Check(check::CheckArgs),
    Plan(plan::PlanArgs),
    Config(config::ConfigArgs),
    Plugins(plugins::PluginsArgs),
    Inspect(inspect::InspectArgs),
    TestPlugin(test_plugin::TestPluginArgs),
    Lock(lock::LockArgs),
    Sign(keys::SignArgs),
    Keygen(keys::KeygenArgs),
    NewPlugin(new_plugin::NewPluginArgs),
    Sdk(sdk::SdkArgs),
    Report(report::ReportArgs),
    Export(export::ExportArgs),
    Runs(runs::RunsArgs),
    VerifyResume(verify_resume::VerifyResumeArgs),
}

/// The config of a command.
#[derive(Args, Clone)]
struct ConfigSource {
    /// The config file
    config: PathBuf,

    /// Override a value of the config, such as train.max_epochs=3 (repeatable)
    #[arg(short, long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl ConfigSource {
    fn job(&self) -> Result<crate::job::Job, Failure> {
        Ok(crate::job::Job::load(&self.config, &self.set)?)
    }
}

/// Runs the command line.
pub fn main() -> ExitCode {
    if crate::plugins::probe::serve_if_asked() {
        return ExitCode::SUCCESS;
    }
    if !crate::launch::end_with_launcher() {
        return exit::abandoned();
    }
    let cli = match parse() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    cli.color.apply();
    let json = match &cli.command {
        Command::Train(args) => args.json,
        Command::Launch(args) => args.is_json(),
        _ => false,
    };
    let log = logging::start(cli.verbose, json);
    // The result of training is its run directory: it continues without a console.
    let is_printing_enough = !matches!(cli.command, Command::Train(_) | Command::Launch(_));
    let ended = run(cli.command, &log);
    crash::skip_destructors();
    match ended {
        Ok(code) if is_printing_enough && code == ExitCode::SUCCESS => printed(),
        Ok(code) => code,
        Err(failure) => failure.report(json),
    }
}

/// Parses the arguments; prints help and errors itself.
fn parse() -> Result<Cli, ExitCode> {
    let command = Cli::command().color(Color::of_args(std::env::args_os()).for_clap());
    let matches = command.try_get_matches();
    matches.and_then(|matches| Cli::from_arg_matches(&matches)).map_err(|error| print_error(&error))
}

/// Prints help or an error of the command line, and returns its exit code.
fn print_error(error: &clap::Error) -> ExitCode {
    let written = error.print();
    if error.use_stderr() {
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(u8::MAX));
    }
    crate::stdio::keep(written);
    printed()
}

/// The exit code of a successful command: its output must have been written.
fn printed() -> ExitCode {
    match crate::stdio::outcome() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => Failure::could_not_print(&error).report(false),
    }
}

fn run(command: Command, log: &logging::LogFile) -> Result<ExitCode, Failure> {
    // Whatever the command, it may load libraries.
    let crash = crash::watch();
    match command {
        Command::Train(args) => train::run(args, (log, &crash)),
        Command::Launch(args) => launch::run(&args),
        Command::Eval(args) => eval::run(&args, &crash),
        Command::Predict(args) => predict::run(&args, &crash),
        Command::Check(args) => check::run(&args, &crash),
        Command::Plan(args) => plan::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Plugins(args) => plugins::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::TestPlugin(args) => test_plugin::run(&args),
        Command::Lock(args) => lock::run(&args),
        Command::Sign(args) => keys::sign(&args),
        Command::Keygen(args) => keys::keygen(&args),
        Command::NewPlugin(args) => new_plugin::run(&args),
        Command::Sdk(args) => sdk::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Runs(args) => runs::run(&args),
        Command::VerifyResume(args) => verify_resume::run(&args),
    }
}
