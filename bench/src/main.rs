//! What a hook call costs, what the host costs beside a hand-written loop, and how fast it starts.
//!
//! `cargo xtask bench` builds for release and runs this. `docs/performance.md` says what each line means.

mod allocations;
mod calls;
mod default_hooks;
mod error;
mod handwritten;
mod loader;
mod report;
mod rounds;
mod stall;
mod startup;
mod steps;
mod subjects;

use clap::{Parser, Subcommand};
use error::BenchError;
use report::Report;
use std::process::ExitCode;

/// Measures hook calls, training steps and startup, each against its target.
#[derive(Parser)]
#[command(name = "hookrack-bench", max_term_width = 100)]
struct Args {
    /// Fewer rounds: under half a minute, and noisier
    #[arg(long)]
    quick: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// End with exit code 1 when a target is missed
    #[arg(long)]
    check: bool,

    #[command(subcommand)]
    only: Option<Only>,
}

/// What is measured apart from the others.
#[derive(Subcommand)]
enum Only {
    /// The loader's samples a second on Fashion-MNIST, as JSON; scripts/bench/loader.py compares them with PyTorch's
    Loader(loader::LoaderArgs),
}

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the report is what this program is for"
)]
fn main() -> ExitCode {
    let args = Args::parse();
    let measured = match &args.only {
        Some(Only::Loader(only)) => loader::measure(only).map(|found| {
            println!("{found:#}");
            None
        }),
        None => measure(args.quick).map(Some),
    };
    let report = match measured {
        Ok(Some(report)) => report,
        Ok(None) => return ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    if args.json {
        println!("{:#}", report.to_json());
    } else {
        print!("{report}");
    }
    ExitCode::from(u8::from(args.check && !report.holds()))
}

fn measure(quick: bool) -> Result<Report, BenchError> {
    hookrack::torch::start();
    let mut sections = calls::measure(if quick { 7 } else { 41 })?;
    sections.extend([
        allocations::measure(if quick { 200 } else { 1000 })?,
        steps::measure(if quick { 5 } else { 25 })?,
        stall::measure(if quick { 3 } else { 9 })?,
        default_hooks::measure(if quick { 3 } else { 15 })?,
        startup::measure(if quick { 3 } else { 9 })?,
    ]);
    Ok(Report { sections })
}
