//! `hookrack report`: a run on one page.

use super::exit::Failure;
use crate::report;
use crate::run::RunDir;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a run's report.html: curves, metrics, time by phase and by hook, config, environment
#[derive(Args)]
#[command(after_help = "\
Examples:
  hookrack report runs/quickstart
  hookrack report runs/quickstart --out /tmp/quickstart.html

`train` writes one at its end. This makes it again, also while a run goes on or after one was killed.")]
pub(super) struct ReportArgs {
    /// The run directory
    run: PathBuf,

    /// The file to write; else report.html in the run directory
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    if !RunDir::is_taken(&args.run) {
        let path = args.run.display();
        return Err(Failure::usage(format!("{path} holds no run: give a folder with a run.json")));
    }
    let file = report::write(&args.run, args.out.as_deref())?;
    say!("{}", file.display());
    Ok(ExitCode::SUCCESS)
}
