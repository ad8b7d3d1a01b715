//! Benchmarks: the cost of a hook call, of the host compared with a hand-written loop, of a checkpoint, and of startup.
//!
//! `cargo xtask bench` builds for release and runs this. `docs/performance.md` explains each line.

mod allocations;
mod baseline;
mod calls;
mod counts;
mod data_wait;
mod default_hooks;
mod error;
mod handwritten;
mod loader;
mod many_hooks;
mod measured_hooks;
mod overlap;
mod peers;
mod program;
mod progress;
mod ranks;
mod report;
mod resume;
mod rounds;
mod scaling;
mod stall;
mod startup;
mod steps;

use baseline::Baseline;
use clap::{Parser, Subcommand};
use error::BenchError;
use progress::say;
use report::{Report, Section};
use std::path::PathBuf;
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

    /// Exit with code 1 if a target is missed
    #[arg(long)]
    check: bool,

    /// Compare with an earlier run: the file that `--json` printed
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    #[command(subcommand)]
    only: Option<Only>,
}

/// Benchmarks that are not part of the default run.
#[derive(Subcommand)]
enum Only {
    /// Samples per second of the loader on Fashion-MNIST, as JSON; scripts/bench/loader.py compares them with PyTorch
    Loader(loader::LoaderArgs),
    /// Time that a checkpoint of 400 MB adds to a step, compared with `torch.save` if a Python with torch is found
    Stall,
    /// Time to the next iteration of a run resumed after ten million samples
    Resume,
    /// How costs grow with hooks, plugins, parameters, iterations and samples
    Scaling(scaling::ScalingArgs),
    /// Each hot path a number of times, for a program that counts instructions
    #[command(hide = true)]
    Counts(counts::CountsArgs),
    /// A hand-written tch loop, one of those that `peers` compares with
    #[command(hide = true)]
    ByTch(peers::ByTchArgs),
    /// Two ranks compared with PyTorch's DistributedDataParallel, and how much of the reduction overlaps with the backward pass
    Ranks(ranks::RanksArgs),
    /// Steps per second, startup time and memory, compared with PyTorch, Lightning, MMEngine, HF Trainer, Ignite and JAX
    Peers(peers::PeersArgs),
}

#[expect(clippy::print_stdout, reason = "the report is what this program is for")]
fn main() -> ExitCode {
    let args = Args::parse();
    hookrack::torch::start();
    // Before minutes of measuring.
    let baseline = match args.baseline.as_deref().map(Baseline::read).transpose() {
        Ok(baseline) => baseline,
        Err(error) => return failed(&error),
    };
    let measured = match &args.only {
        Some(Only::Loader(only)) => loader::measure(only).map(|found| {
            println!("{found:#}");
            None
        }),
        Some(Only::Counts(only)) => counts::run(only).map(|ran| {
            println!("{ran}");
            None
        }),
        Some(Only::ByTch(only)) => peers::by_tch(only).map(|figures| {
            println!("{figures}");
            None
        }),
        Some(Only::Scaling(only)) => scaling::run(only, args.quick).map(|page| {
            println!("{page}");
            None
        }),
        Some(Only::Stall) => stall::measure(if args.quick { 3 } else { 9 }).map(alone).map(Some),
        Some(Only::Resume) => resume::measure(if args.quick { 3 } else { 9 }).map(alone).map(Some),
        Some(Only::Ranks(only)) => ranks::measure(only, if args.quick { 2 } else { 5 })
            .map(|sections| Some(Report { sections })),
        Some(Only::Peers(only)) => peers::measure(only).map(|sections| Some(Report { sections })),
        None => Ok(Some(measure(args.quick))),
    };
    let report = match measured {
        Ok(Some(report)) => report,
        Ok(None) => return ExitCode::SUCCESS,
        Err(error) => return failed(&error),
    };
    if args.json {
        println!("{:#}", report.to_json());
    } else {
        print!("{report}");
    }
    if let Some(baseline) = baseline.filter(|_| !args.json) {
        print!("{}", baseline.compare(&report));
    }
    ExitCode::from(u8::from(args.check && !report.holds()))
}

#[expect(clippy::print_stderr, reason = "the report is what this program is for")]
fn failed(error: &BenchError) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::from(2)
}

fn alone(section: Section) -> Report {
    Report { sections: vec![section] }
}

/// What is measured together, and how; `true` for fewer rounds.
type Part = (&'static str, fn(bool) -> Result<Vec<Section>, BenchError>);

/// The default run.
const PARTS: [Part; 10] = [
    ("calls", |quick| calls::measure(if quick { 7 } else { 41 })),
    ("many hooks", |quick| many_hooks::measure(if quick { 3 } else { 9 }).map(only)),
    ("allocations", |quick| allocations::measure(if quick { 200 } else { 1000 }).map(only)),
    ("steps", |quick| steps::measure(if quick { 5 } else { 25 }).map(only)),
    ("wait for data", |quick| data_wait::measure(if quick { 3 } else { 9 }).map(only)),
    ("checkpoints", |quick| stall::measure(if quick { 3 } else { 9 }).map(only)),
    ("default hooks", |quick| default_hooks::measure(if quick { 3 } else { 15 }).map(only)),
    ("startup", |quick| startup::measure(if quick { 3 } else { 9 }).map(only)),
    ("many plugins", |quick| scaling::verified_start(if quick { 5 } else { 15 }).map(only)),
    ("resume", |quick| resume::measure(if quick { 3 } else { 9 }).map(only)),
];

fn only(section: Section) -> Vec<Section> {
    vec![section]
}

/// Measures everything. What cannot be measured is in the report too, as a missed target.
fn measure(quick: bool) -> Report {
    let mut sections = Vec::new();
    for (number, (name, measure)) in PARTS.into_iter().enumerate() {
        say(&format!("{} of {}: {name}", number + 1, PARTS.len()));
        sections.extend(measure(quick).unwrap_or_else(|error| {
            say(&format!("{name} could not be measured: {error}"));
            vec![Section::missing(name, &error.to_string())]
        }));
    }
    Report { sections }
}
