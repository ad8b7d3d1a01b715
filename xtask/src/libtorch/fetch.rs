//! Downloads one pinned wheel, resuming an earlier attempt.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::Child,
};

use indicatif::DecimalBytes;

use super::{LibtorchError, pins::Wheel, progress::Progress, python, verify::verify};
use crate::{
    files::{self, During as _, FileError},
    process, report,
};

const SCRIPT: &str = include_str!("fetch_wheel.py");

/// What to do about a partial file, by its size.
#[derive(Debug, PartialEq, Eq)]
enum Begin {
    Anew,
    GoOn {
        at: u64,
    },
    /// Complete, but not yet verified.
    CheckOnly,
    /// Longer than the wheel: not a part of it.
    Discard,
}

fn decide(part: Option<u64>, total: u64) -> Begin {
    match part {
        None | Some(0) => Begin::Anew,
        Some(size) if size < total => Begin::GoOn { at: size },
        Some(size) if size == total => Begin::CheckOnly,
        Some(_) => Begin::Discard,
    }
}

/// How the script ended.
#[derive(Debug)]
enum Outcome {
    Complete,
    /// Nothing was downloaded: no index, no link, no access. pip may succeed.
    Nothing(String),
    /// Something was downloaded and is kept.
    BrokenOff(String),
}

/// The path of the verified wheel.
pub(crate) fn fetch(downloads: &Path, wheel: &Wheel) -> Result<PathBuf, LibtorchError> {
    let done = downloads.join(wheel.file);
    if done.is_file() {
        match verify(&done, wheel) {
            Ok(()) => return Ok(done),
            Err(fault) => report::warning(&fault.to_string()),
        }
    }
    let part = downloads.join(format!("{}.part", wheel.file));
    report::step(&format!("fetching {} ({})", wheel.file, DecimalBytes(wheel.bytes)));
    receive(downloads, wheel, &part)?;
    verify(&part, wheel)?;
    fs::rename(&part, &done).during("rename", &part)?;
    Ok(done)
}

fn receive(downloads: &Path, wheel: &Wheel, part: &Path) -> Result<(), LibtorchError> {
    match decide(fs::metadata(part).ok().map(|found| found.len()), wheel.bytes) {
        Begin::CheckOnly => return Ok(()),
        Begin::Discard => files::remove(part)?,
        Begin::GoOn { at } => {
            report::note(&format!("{} already downloaded", DecimalBytes(at)));
        }
        Begin::Anew => {}
    }
    match from_index(downloads, wheel, part, None)? {
        Outcome::Complete => Ok(()),
        Outcome::BrokenOff(reason) => Err(LibtorchError::BrokenOff { file: wheel.file, reason }),
        Outcome::Nothing(reason) => {
            report::warning(&format!("could not read the package index directly: {reason}"));
            report::note("downloading the whole file with pip instead");
            with_pip(downloads, wheel, part)
        }
    }
}

/// `index` overrides the one that pip is configured for.
fn from_index(
    downloads: &Path,
    wheel: &Wheel,
    part: &Path,
    index: Option<&str>,
) -> Result<Outcome, LibtorchError> {
    let (size, part) = (wheel.bytes.to_string(), part.display().to_string());
    let mut args = vec!["--project", wheel.project, "--file", wheel.file];
    args.extend(["--sha256", wheel.sha256, "--size", &size, "--part", &part]);
    if let Some(url) = index {
        args.extend(["--index", url, "--pause", "0"]);
    }
    let (command, mut child) = python::start(SCRIPT, &args, downloads)?;
    let failed = |source| process::not_started(&command, source);
    show(&mut child, wheel.bytes);
    let mut said = String::new();
    if let Some(stderr) = &mut child.stderr {
        stderr.read_to_string(&mut said).map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    match status.code() {
        Some(0) => Ok(Outcome::Complete),
        Some(3) => Ok(Outcome::Nothing(said.trim().to_owned())),
        Some(4) => Ok(Outcome::BrokenOff(said.trim().to_owned())),
        _ => {
            process::ended_well(&command, status, &said)?;
            Ok(Outcome::Complete)
        }
    }
}

/// Follows the script's lines until it closes its stdout.
fn show(child: &mut Child, total: u64) {
    let Some(stdout) = child.stdout.take() else { return };
    let mut progress = Progress::new(total);
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("index", url)) => report::note(&format!("from {url}")),
            Some(("from", at)) => progress.begin(at.parse().unwrap_or(0)),
            Some(("at", at)) => progress.advance(at.parse().unwrap_or(0)),
            _ => {}
        }
    }
    progress.end();
}

/// pip cannot resume a download, but it supports every kind of index and login.
fn with_pip(downloads: &Path, wheel: &Wheel, part: &Path) -> Result<(), LibtorchError> {
    let folder = downloads.join("pip");
    files::fresh_folder(&folder)?;
    let mut command = python::pip(&["download", "--no-deps", "--only-binary=:all:"]);
    command.args(["--disable-pip-version-check", "--python-version=3.12"]).args(wheel.target);
    command.arg("--dest").arg(&folder).arg(format!("{}=={}", wheel.project, wheel.version));
    process::run(&mut command)?;
    take_over(&folder, wheel, part)?;
    files::remove(&folder)?;
    Ok(())
}

fn take_over(folder: &Path, wheel: &Wheel, part: &Path) -> Result<(), FileError> {
    let brought = folder.join(wheel.file);
    // It may be the same file under another name: the verification decides.
    let brought = match files::sorted_entries(folder)?.as_slice() {
        [only] => only.clone(),
        _ => brought,
    };
    fs::rename(&brought, part).during("rename", &brought)
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
