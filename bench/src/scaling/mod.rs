//! How costs grow: with hooks, plugins, parameters, iterations and samples. Writes `docs/scaling.md` with a picture of each curve.

mod checkpoints;
mod curve;
mod events;
mod hooks;
mod memory;
mod parameters;
mod plugins;
mod samples;

pub(crate) use plugins::verified_start;

use crate::error::BenchError;
use crate::measured_hooks::workspace;
use crate::progress::say;
use clap::Args;
use curve::Curve;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Measure how costs grow with hooks, plugins, parameters, iterations and samples
#[derive(Args)]
pub(crate) struct ScalingArgs {
    /// Write docs/scaling.md and its pictures
    #[arg(long)]
    write: bool,
}

/// What is measured together.
type Group = (&'static str, fn(bool) -> Result<Vec<Curve>, BenchError>);

/// All curves, the quick ones first; `true` for fewer and smaller ones.
const GROUPS: [Group; 6] = [
    ("hooks", |quick| hooks::measure(if quick { 3 } else { 15 })),
    ("samples", |_| samples::measure().map(|curve| vec![curve])),
    ("plugins", |quick| plugins::measure(if quick { 30 } else { 300 }).map(|curve| vec![curve])),
    ("iterations", |quick| events::measure(if quick { 100_000 } else { 1_000_000 })),
    ("optimizer and average", |quick| parameters::measure(most_parameters(quick))),
    ("checkpoints", |quick| checkpoints::measure(most_parameters(quick))),
];

fn most_parameters(quick: bool) -> u32 {
    if quick { 10_000_000 } else { 1_000_000_000 }
}

/// What was measured so far.
#[derive(Default)]
struct Found {
    curves: Vec<Curve>,
    /// What could not be measured, and why.
    missing: Vec<(&'static str, String)>,
}

/// Measures every curve, and returns all as tables. If asked, the page is written after each group, so that a run that is interrupted
/// leaves what it has.
pub(crate) fn run(args: &ScalingArgs, quick: bool) -> Result<String, BenchError> {
    let mut found = Found::default();
    for (number, (name, measure)) in GROUPS.into_iter().enumerate() {
        say(&format!("scaling, {} of {}: {name}", number + 1, GROUPS.len()));
        match measure(quick) {
            Ok(curves) => found.curves.extend(curves.into_iter().filter(|it| !it.is_empty())),
            Err(error) => {
                say(&format!("{name} could not be measured: {error}"));
                found.missing.push((name, error.to_string()));
            }
        }
        if args.write {
            found.write(&workspace().join("docs"))?;
        }
    }
    let tables = found.curves.iter().map(|curve| curve.markdown(""));
    Ok(tables.chain([found.of_missing()]).collect::<Vec<_>>().join("\n"))
}

impl Found {
    fn write(&self, docs: &Path) -> Result<(), BenchError> {
        let mut page = format!(
            "# Scaling\n\nHow costs grow. Written by `cargo xtask bench -- scaling --write` on {}, one thread, libtorch {}. Slopes are those of \
             the best-fitting straight line. [benchmarks.md](benchmarks.md) compares with other frameworks.\n",
            cpu(),
            hookrack::torch::info::version()
        );
        let images = docs.join("img");
        fs::create_dir_all(&images).map_err(BenchError::file(&images))?;
        for curve in &self.curves {
            let picture = format!("img/scaling_{}.svg", curve.file);
            let path = docs.join(&picture);
            fs::write(&path, curve.picture()).map_err(BenchError::file(&path))?;
            let _ = write!(page, "\n{}", curve.markdown(&picture));
        }
        page += &self.of_missing();
        let path = docs.join("scaling.md");
        fs::write(&path, page).map_err(BenchError::file(path))
    }

    fn of_missing(&self) -> String {
        let mut out = String::new();
        for (name, why) in &self.missing {
            let _ = writeln!(out, "\nMissing, {name}: {why}");
        }
        out
    }
}

/// The model of this machine's CPU.
fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "an unknown CPU".to_owned(), |(_, name)| name.to_owned())
}
