//! Runs that are killed at a point and resumed.

use super::{Case, CaseEnv, Verdict, ensure, judge};
use crate::hooks::CallbackHook;
use crate::job::Job;
use crate::run::checkpoint;
use crate::train::{Ending, Resume, Trainer};
use hookrack_plugin_api::{Level, Point};
use rustix::process::{Signal, getpid, kill_process};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) static CASES: &[Case] = &[Case::new(
    NAME,
    "A run that is killed at any of its hooks' points and resumed ends with the weights of an uninterrupted one.",
    at_every_point,
)];

const NAME: &str = "run.killed_at_every_point";

/// In the environment of the process that is killed: the point, and the run directory.
const POINT: &str = "HOOKRACK_TRIAL_POINT";
const FOLDER: &str = "HOOKRACK_TRIAL_FOLDER";

/// The iteration in which it is killed: the first of the second epoch, after a checkpoint.
const ITER: u64 = 3;

fn at_every_point(case: &CaseEnv) -> Verdict {
    let variable = |name| std::env::var(name).ok();
    match (variable(POINT).and_then(|name| named(&name)), variable(FOLDER)) {
        (Some(point), Some(folder)) => judge(die(case, point, &PathBuf::from(folder))),
        _ => judge(compare(case)),
    }
}

fn named(name: &str) -> Option<Point> {
    Point::ALL.iter().copied().find(|point| point.to_string() == name)
}

/// Trains, and kills this process at the point.
fn die(case: &CaseEnv, point: Point, folder: &Path) -> Result<(), String> {
    let config = case.config(&case.entries("")?)?;
    let mut job = Job::load(&config, &[]).map_err(|error| error.to_string())?;
    let hook = CallbackHook::new("killer").level(Level::LOWEST).at(point, |t| {
        if t.iter() >= ITER {
            let _ = kill_process(getpid(), Signal::KILL);
        }
        Ok(())
    });
    job.add(hook).map_err(|error| error.to_string())?;
    case.assemble_in(&job, folder)?.fit();
    Ok(())
}

fn compare(case: &CaseEnv) -> Result<(), String> {
    let entries = case.entries("")?;
    let whole = super::runs::weights(&case.fit(&entries, &[])?);
    let mut points: Vec<Point> =
        case.hooks()?.iter().flat_map(|it| it.manifest.points.clone()).collect();
    // A library with metrics alone has no points of its own.
    points.extend([Point::AfterTrainIter, Point::AfterValIter]);
    points.retain(|point| !point.is_role());
    points.sort();
    points.dedup();
    for point in points {
        let folder = case.path(&format!("killed_at_{point}"));
        if !is_killed(case, point, &folder)? {
            continue;
        }
        let resumed = resume(case, &entries, &folder).map_err(|why| format!("{point}: {why}"))?;
        let same = super::runs::weights(&resumed) == whole;
        ensure(same, || format!("killed at {point} and resumed, it ends with other weights"))?;
    }
    Ok(())
}

/// Runs this case in a process that is to be killed; whether it was. Some points come before the iteration, or never.
fn is_killed(case: &CaseEnv, point: Point, folder: &Path) -> Result<bool, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg("test-plugin").arg(&case.library).args(["--run-case", NAME]);
    command.args(["--seed", &case.seed.to_string()]);
    command.env(POINT, point.to_string()).env(FOLDER, folder);
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.signal() {
        Some(signal) if signal == Signal::KILL.as_raw() => Ok(true),
        None if output.status.success() => Ok(false),
        _ => Err(format!("until {point}: {}: {said}", output.status)),
    }
}

fn resume(case: &CaseEnv, entries: &str, folder: &Path) -> Result<Trainer, String> {
    let job = Job::load(&case.config(entries)?, &[]).map_err(|error| error.to_string())?;
    let mut trainer = case.assemble_in(&job, folder)?;
    let newest = checkpoint::newest_valid(&folder.join("checkpoints"));
    if let Some(newest) = newest.map_err(|error| error.to_string())? {
        trainer.resume_from(Resume {
            checkpoint: newest.checkpoint,
            force: false,
            with_optimizer: true,
        });
    }
    match trainer.fit() {
        Ending::Failed(error) => Err(error.to_string()),
        _ => Ok(trainer),
    }
}
