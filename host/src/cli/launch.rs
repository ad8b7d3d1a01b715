//! `hookrack launch`: a run in several processes of this machine.

use super::exit::{self, Failure};
use super::{Cli, Command};
use crate::launch::{Launch, Outcome, RankFailure, Style};
use crate::ranks::Ranks;
use crate::run::RunDir;
use crate::train::{Grid, Parts};
use clap::{Args, Parser as _};
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

/// Train, evaluate or predict on several processes of this machine (ranks), which share the batches
#[derive(Args)]
#[command(
    override_usage = "hookrack launch -n <N> [OPTIONS] -- <train|eval|predict> <CONFIG> …",
    after_help = help!("\
Examples:
  hookrack launch -n 2 -- train configs/quickstart.toml
  hookrack launch -n 4 --restarts 3 -- train configs/quickstart.toml --run-dir runs/four
  hookrack launch -n 2 -- train configs/quickstart.toml --resume
  hookrack launch -n 2 -- eval configs/quickstart.toml --checkpoint runs/quickstart

Lines start with their rank. On a terminal rank 0 has its progress line as usual. If a rank fails, the others
are stopped, and the first failure is the exit code. Several machines: torchrun, srun or mpirun, see
docs/distributed.md")
)]
pub(super) struct LaunchArgs {
    /// Number of ranks; in training it must divide train.batch_size
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    ranks: u16,

    /// Restart all ranks up to R times after a failure; they resume from the newest checkpoint
    #[arg(long, value_name = "R", default_value_t = 0)]
    restarts: u32,

    /// Port that rank 0 listens on [default: a free one]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,

    /// Seconds that the other ranks have to exit after one has failed, before they are killed
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    grace: u32,

    /// Command that every rank runs (train, eval or predict), and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND …"
    )]
    pub(super) command: Vec<OsString>,
}

impl LaunchArgs {
    /// Whether standard output and error are machine-readable.
    pub(super) fn is_json(&self) -> bool {
        self.command.iter().any(|arg| arg == "--json")
    }

    /// Checks the config of a command that the ranks will run, and returns the folder that was created for them. Plugins and data that
    /// were loaded for it are dropped afterwards: the ranks need the memory.
    fn check(&self, command: Command) -> Result<Option<RunDir>, Failure> {
        match command {
            Command::Train(mut train) => {
                let job = super::train::check(&mut train)?;
                let grid = Grid::new(&job.config, self.ranks.into())?;
                Parts::check_stages(&job.config, grid)?;
                super::train::reserve(&train, &job)
            }
            Command::Eval(eval) => super::eval::check(&eval).map(|_| None),
            Command::Predict(predict) if predict.sample.prompt.is_none() => {
                super::predict::check(&predict).map(|_| None)
            }
            _ => {
                let name = self.command.first().map(|name| name.to_string_lossy().into_owned());
                Err(Failure::usage(format!(
                    "launch starts `train`, `eval` and `predict` over data, not `{}`: use `hookrack launch -n {} -- train CONFIG`",
                    name.unwrap_or_default(),
                    self.ranks
                )))
            }
        }
    }
}

pub(super) fn run(args: &LaunchArgs) -> Result<ExitCode, Failure> {
    refuse_inside_ranks()?;
    let words = [OsString::from("hookrack")].into_iter().chain(args.command.iter().cloned());
    let inner = match Cli::try_parse_from(words) {
        Ok(cli) => cli.command,
        Err(error) => return Ok(super::print_error(&error)),
    };
    // Once here, not on every rank.
    let run = args.check(inner)?;
    let launch = Launch {
        program: std::env::current_exe().map_err(|error| Failure::launch(&error))?,
        args: args.command.clone(),
        ranks: args.ranks.into(),
        restarts: args.restarts,
        earlier: 0,
        environment: Vec::new(),
        permanent: &exit::PERMANENT,
        consequence: exit::PEER,
        port: args.port,
        grace: Duration::from_secs(args.grace.into()),
        run_dir: run.as_ref().map(|run| run.path().to_owned()),
        style: if args.is_json() { Style::raw() } else { Style::for_terminal() },
    };
    let outcome = launch.run(|failure, restart| {
        restore_terminal(&launch);
        print_restart(failure, restart, args.restarts);
    });
    // Ranks that failed at startup leave it empty.
    let _ = run.as_ref().map(|run| std::fs::remove_dir(run.path()));
    match outcome.map_err(|error| Failure::launch(&error))? {
        Outcome::Completed => Ok(ExitCode::SUCCESS),
        Outcome::Interrupted(code) => {
            restore_terminal(&launch);
            Ok(ExitCode::from(code))
        }
        Outcome::Failed(failure) => {
            restore_terminal(&launch);
            Err(Failure::rank(&failure))
        }
    }
}

/// `launch` inside a rank would start the run once per rank.
fn refuse_inside_ranks() -> Result<(), Failure> {
    match Ranks::from_env() {
        Ok(ranks) if !ranks.is_single() => Err(Failure::usage(format!(
            "this process is rank {} of {} already ({}): start `hookrack train` there, without launch",
            ranks.rank, ranks.world, ranks.source
        ))),
        // Other variables are replaced.
        _ => Ok(()),
    }
}

/// A killed rank 0 leaves its progress line on the terminal and the cursor hidden.
fn restore_terminal(launch: &Launch) {
    if launch.style.inherits.stdout && !launch.style.is_raw {
        let terminal = console::Term::stdout();
        let _ = terminal.clear_line().and_then(|()| terminal.show_cursor());
    }
}

fn print_restart(failure: &RankFailure, restart: u32, restarts: u32) {
    crate::stdio::complain(format_args!(
        "{failure}\nrestarting all ranks ({restart} of {restarts})"
    ));
}
