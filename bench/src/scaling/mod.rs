//! How costs grow: with hooks, plugins, parameters, iterations and samples. Writes `docs/scaling.md` with a picture of each curve.

mod curve;
mod events;
mod hooks;
mod parameters;
mod plugins;
mod samples;

pub(crate) use plugins::verified_start;

use crate::error::BenchError;
use crate::subjects::workspace;
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

/// Measures every curve, prints it as a table, and writes the page if asked.
pub(crate) fn run(args: &ScalingArgs, quick: bool) -> Result<String, BenchError> {
    let mut curves = hooks::measure(if quick { 3 } else { 15 })?;
    curves.push(plugins::measure(if quick { 30 } else { 300 })?);
    curves.extend(parameters::measure(if quick { 10_000_000 } else { 300_000_000 })?);
    curves.extend(events::measure(if quick { 100_000 } else { 1_000_000 })?);
    curves.push(samples::measure()?);
    if args.write {
        write(&curves, &workspace().join("docs"))?;
    }
    Ok(curves.iter().map(|curve| curve.markdown("")).collect::<Vec<_>>().join("\n"))
}

fn write(curves: &[Curve], docs: &Path) -> Result<(), BenchError> {
    let mut page = format!(
        "# Scaling\n\nHow costs grow. Written by `cargo xtask bench -- scaling --write` on {}, one thread, libtorch {}. A slope is that of \
         the straight line that fits best.\n",
        cpu(),
        hookrack::torch::info::version()
    );
    for curve in curves {
        let picture = format!("img/scaling_{}.svg", curve.file);
        let path = docs.join(&picture);
        fs::write(&path, curve.picture()).map_err(BenchError::file(&path))?;
        let _ = write!(page, "\n{}", curve.markdown(&picture));
    }
    let path = docs.join("scaling.md");
    fs::write(&path, page).map_err(BenchError::file(path))
}

/// The model of this machine's CPU.
fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "an unknown CPU".to_owned(), |(_, name)| name.to_owned())
}
