//! `hookrack report`: a run on one page.

use super::exit::Failure;
use crate::report;
use crate::run::RunDir;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a run's report.html: curves, metrics, time by phase and by hook, config, environment
#[derive(Args)]
#[command(after_help = help!("\
`train` writes the report when it ends. This command rewrites it, even for a run that is in
progress or was killed.

Examples:
  hookrack report runs/quickstart
  hookrack report runs/quickstart --out /tmp/quickstart.html"))]
pub(super) struct ReportArgs {
    /// Run directory
    run: PathBuf,

    /// Output file [default: report.html in the run directory]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    if !RunDir::holds_run(&args.run) {
        let path = args.run.display();
        let why = if RunDir::is_taken(&args.run) {
            "its run.json was not written by hookrack"
        } else {
            "it has no run.json"
        };
        return Err(Failure::usage(format!("{path} is not a run directory: {why}")));
    }
    let file = report::write(&args.run, args.out.as_deref())?;
    say!("{}", file.display());
    Ok(ExitCode::SUCCESS)
}
