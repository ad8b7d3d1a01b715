//! `hookrack launch`: a run in several processes of this machine.

use super::exit::{self, Failure};
use super::{Cli, Command};
use crate::launch::{Launch, Outcome, RankFailure, Style};
use crate::ranks::Ranks;
use clap::{Args, Parser as _};
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

/// Train on several processes of this machine (ranks), each with a share of every batch
#[derive(Args)]
#[command(
    override_usage = "hookrack launch -n <N> [OPTIONS] -- train <CONFIG> …",
    after_help = help!("\
Examples:
  hookrack launch -n 2 -- train configs/quickstart.toml
  hookrack launch -n 4 --restarts 3 -- train configs/quickstart.toml --run-dir runs/four
  hookrack launch -n 2 -- train configs/quickstart.toml --resume

Lines start with their rank. On a terminal rank 0 has its progress line as usual. If a rank fails, the others
are stopped, and the first failure is the exit code. Several machines: torchrun, srun or mpirun, see
docs/distributed.md")
)]
pub(super) struct LaunchArgs {
    /// Number of ranks; must divide train.batch_size
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

    /// The command of every rank: train and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "train …"
    )]
    pub(super) command: Vec<OsString>,
}

impl LaunchArgs {
    /// Whether standard output and error are for a program.
    pub(super) fn is_json(&self) -> bool {
        self.command.iter().any(|arg| arg == "--json")
    }
}

pub(super) fn run(args: &LaunchArgs) -> Result<ExitCode, Failure> {
    refuse_inside_ranks()?;
    let words = [OsString::from("hookrack")].into_iter().chain(args.command.iter().cloned());
    let inner = match Cli::try_parse_from(words) {
        Ok(cli) => cli.command,
        Err(error) => return Ok(super::told(&error)),
    };
    let Command::Train(mut train) = inner else {
        let name = args.command.first().map(|name| name.to_string_lossy().into_owned());
        return Err(Failure::usage(format!(
            "launch starts `train`, not `{}`: use `hookrack launch -n {} -- train CONFIG`",
            name.unwrap_or_default(),
            args.ranks
        )));
    };
    // Once here, not on every rank.
    let job = super::train::check(&mut train)?;
    let ranks = usize::from(args.ranks);
    job.config.check_share(ranks)?;
    let run = super::train::reserve(&train, &job)?;
    let launch = Launch {
        program: std::env::current_exe().map_err(|error| Failure::launch(&error))?,
        args: args.command.clone(),
        ranks,
        restarts: args.restarts,
        permanent: &exit::PERMANENT,
        consequence: exit::PEER,
        port: args.port,
        grace: Duration::from_secs(args.grace.into()),
        run_dir: run.as_ref().map(|run| run.path().to_owned()),
        style: if train.json { Style::raw() } else { Style::for_terminal() },
    };
    // Frees the memory of the checked plugins and data, which the ranks need.
    drop(job);
    let outcome = launch.run(|failure, restart| {
        restore_terminal(&launch);
        announce(failure, restart, args.restarts);
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

/// A launch in every rank would start the run as often.
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

/// A rank 0 that was killed has left its progress line on the terminal, and the cursor hidden.
fn restore_terminal(launch: &Launch) {
    if launch.style.inherits.stdout && !launch.style.is_raw {
        let terminal = console::Term::stdout();
        let _ = terminal.clear_line().and_then(|()| terminal.show_cursor());
    }
}

fn announce(failure: &RankFailure, restart: u32, restarts: u32) {
    crate::stdio::complain(format_args!(
        "{failure}\nrestarting all ranks ({restart} of {restarts})"
    ));
}
