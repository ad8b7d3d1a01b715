//! What a hook call costs, what the host costs beside a hand-written loop, what a checkpoint costs a step, and how fast
//! the host starts.
//!
//! `cargo xtask bench` builds for release and runs this. `docs/performance.md` says what each line means.

mod allocations;
mod calls;
mod data_wait;
mod default_hooks;
mod error;
mod handwritten;
mod loader;
mod overlap;
mod program;
mod ranks;
mod report;
mod resume;
mod rounds;
mod stall;
mod startup;
mod steps;
mod subjects;

use clap::{Parser, Subcommand};
use error::BenchError;
use report::{Report, Section};
use std::process::ExitCode;

/// Measures hook calls, training steps and startup, each against its target.
#[derive(Parser)]
#[command(name = "hookrack-bench", max_term_width = 100)]
struct Args {
    /// Fewer rounds: one to two minutes, and noisier
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
    /// How much longer a step is in which a checkpoint of 400 MB is taken; beside `torch.save` where a Python has torch
    Stall,
    /// How long a run takes to its next iteration that is taken up after ten million samples
    Resume,
    /// Two ranks beside PyTorch's DistributedDataParallel, and how much of the reduction the backward pass hides
    Ranks(ranks::RanksArgs),
}

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the report is what this program is for"
)]
fn main() -> ExitCode {
    let args = Args::parse();
    hookrack::torch::start();
    let measured = match &args.only {
        Some(Only::Loader(only)) => loader::measure(only).map(|found| {
            println!("{found:#}");
            None
        }),
        Some(Only::Stall) => stall::measure(if args.quick { 3 } else { 9 }).map(alone).map(Some),
        Some(Only::Resume) => resume::measure(if args.quick { 3 } else { 9 }).map(alone).map(Some),
        Some(Only::Ranks(only)) => ranks::measure(only, if args.quick { 2 } else { 5 })
            .map(|sections| Some(Report { sections })),
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

fn alone(section: Section) -> Report {
    Report { sections: vec![section] }
}

fn measure(quick: bool) -> Result<Report, BenchError> {
    let mut sections = calls::measure(if quick { 7 } else { 41 })?;
    sections.extend([
        allocations::measure(if quick { 200 } else { 1000 })?,
        steps::measure(if quick { 5 } else { 25 })?,
        data_wait::measure(if quick { 3 } else { 9 })?,
        stall::measure(if quick { 3 } else { 9 })?,
        default_hooks::measure(if quick { 3 } else { 15 })?,
        startup::measure(if quick { 3 } else { 9 })?,
        resume::measure(if quick { 3 } else { 9 })?,
    ]);
    Ok(Report { sections })
}
