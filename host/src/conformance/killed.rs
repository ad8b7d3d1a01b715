//! Runs that are killed at a point and resumed.

use super::runs::{ended, run_hookrack, weights};
use super::{Case, CaseEnv, Outcome, ensure};
use crate::hooks::CallbackHook;
use crate::run::checkpoint;
use crate::train::{Resume, Trainer};
use hookrack_plugin_api::{Level, Point};
use rustix::process::{Signal, getpid, kill_process};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

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

fn at_every_point(case: &CaseEnv) -> Outcome {
    let variable = |name| std::env::var(name).ok();
    match (variable(POINT).and_then(|name| named(&name)), variable(FOLDER)) {
        (Some(point), Some(folder)) => die(case, point, &PathBuf::from(folder)),
        _ => compare(case),
    }
}

fn named(name: &str) -> Option<Point> {
    Point::ALL.iter().copied().find(|point| point.to_string() == name)
}

/// Trains, and kills this process at the point.
fn die(case: &CaseEnv, point: Point, folder: &Path) -> Outcome {
    let mut job = case.job(&case.entries("")?, &[])?;
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

fn compare(case: &CaseEnv) -> Outcome {
    let entries = case.entries("")?;
    let whole = weights(&case.fit(&entries, &[])?);
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
        let same = weights(&resumed) == whole;
        ensure(same, || format!("killed at {point} and resumed, it ends with other weights"))?;
    }
    Ok(())
}

/// Runs this case in a process that is to be killed; whether it was. Some points come before the iteration, or never.
fn is_killed(case: &CaseEnv, point: Point, folder: &Path) -> Result<bool, String> {
    let (status, said) = run_hookrack(|command| {
        command.arg("test-plugin").arg(&case.library).args(["--run-case", NAME]);
        command.args(["--seed", &case.seed.to_string()]);
        command.env(POINT, point.to_string()).env(FOLDER, folder);
    })?;
    match status.signal() {
        Some(signal) if signal == Signal::KILL.as_raw() => Ok(true),
        None if status.success() => Ok(false),
        _ => Err(format!("until {point}: {status}: {said}")),
    }
}

fn resume(case: &CaseEnv, entries: &str, folder: &Path) -> Result<Trainer, String> {
    let mut trainer = case.assemble_in(&case.job(entries, &[])?, folder)?;
    let newest = checkpoint::newest_valid(&folder.join("checkpoints"));
    if let Some(newest) = newest.map_err(|error| error.to_string())? {
        trainer.resume_from(Resume {
            checkpoint: newest.checkpoint,
            force: false,
            with_optimizer: true,
        });
    }
    ended(&trainer.fit()).map(|()| trainer)
}
