//! A step of AdamW and an update of an average over 25.6 million parameters, beside PyTorch's own.

use super::results::Quartiles;
use crate::error::BenchError;
use crate::measured_hooks::workspace;
use crate::rounds::median;
use hookrack::hooks::CallbackHook;
use hookrack::job::Job;
use hookrack::train::{Ending, Interrupt, Parts, Trainer};
use hookrack::writers::Writers;
use hookrack_plugin_api::{Level, Point};
use serde_json::{Value as Json, json};
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::time::Instant;

/// Steps of a round that are counted; those before them allocate states.
const STEPS: usize = 12;
const WARMUP: usize = 3;

/// Milliseconds of each round, ours and PyTorch's, and the ratio of both.
pub(crate) struct Comparison {
    pub(crate) name: &'static str,
    pub(crate) other: &'static str,
    pub(crate) ours: Quartiles,
    pub(crate) theirs: Quartiles,
    /// How many times as fast ours is.
    pub(crate) ratio: Quartiles,
    pub(crate) least: f64,
}

/// Both measurements, if they succeeded, and the version of torch with its build.
pub(crate) struct Tensors {
    pub(crate) lines: Vec<Comparison>,
    pub(crate) torch: String,
}

impl Tensors {
    /// Before anything was measured.
    pub(super) fn none() -> Self {
        Self { lines: Vec::new(), torch: "of unknown version".to_owned() }
    }
}

/// Measures in turn, round by round.
pub(super) fn measure(python: &Path, rounds: usize) -> Result<Tensors, BenchError> {
    let (mut ours, mut theirs) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
    let mut torch = String::new();
    for round in 0..rounds {
        let shapes = shapes()?;
        let (mine, found) = if round % 2 == 0 {
            (by_hookrack()?, by_torch(python, &shapes)?)
        } else {
            let found = by_torch(python, &shapes)?;
            (by_hookrack()?, found)
        };
        for (which, key) in ["adamw_ms", "lerp_ms"].into_iter().enumerate() {
            ours[which].push(mine[which]);
            theirs[which].push(found[key].as_f64().unwrap_or(f64::NAN));
        }
        found["torch"].as_str().unwrap_or_default().clone_into(&mut torch);
    }
    let against = |which: usize, name, other, least| {
        let (ours, theirs): (&[f64], &[f64]) = (&ours[which], &theirs[which]);
        let ratios: Vec<_> = theirs.iter().zip(ours).map(|(theirs, ours)| theirs / ours).collect();
        let [ours, theirs, ratio] = [ours, theirs, &ratios].map(Quartiles::of);
        Comparison { name, other, ours, theirs, ratio, least }
    };
    let lines = vec![
        against(0, "AdamW step", "torch.optim.AdamW(fused=True)", 1.0),
        against(1, "EMA update", "flat lerp_ of as many numbers", 0.9),
    ];
    Ok(Tensors { lines, torch })
}

fn job() -> Result<Job, BenchError> {
    let iters = format!("train.max_iters={}", WARMUP + STEPS);
    Ok(Job::load(&workspace().join("bench/peers/tensors.toml"), &[iters])?)
}

/// The shapes of the parameters, as JSON.
fn shapes() -> Result<String, BenchError> {
    let parts = Parts::build(&job()?.config)?;
    let shapes = parts.engine.params().iter().map(|param| json!(param.tensor.size()));
    Ok(Json::Array(shapes.collect()).to_string())
}

/// The milliseconds of the optimizer's step and of the hook that averages, in a run.
fn by_hookrack() -> Result<[f64; 2], BenchError> {
    let mut job = job()?;
    let spans: [Rc<RefCell<Vec<f64>>>; 2] = Default::default();
    // Everything between the last hook before and the first hook after.
    stopwatch(
        &mut job,
        "optimizer",
        (Point::BeforeOptimizerStep, Level::LOWEST),
        (Point::AfterOptimizerStep, Level::HIGHEST),
        &spans[0],
    )?;
    let (before, after) = (Level(Level::NORMAL.0 - 1), Level(Level::NORMAL.0 + 1));
    let point = Point::AfterTrainIter;
    stopwatch(&mut job, "average", (point, before), (point, after), &spans[1])?;
    let parts = Parts::build(&job.config)?;
    let mut trainer =
        Trainer::assemble(parts, &job, Writers::default(), None, Interrupt::default())?;
    match trainer.fit() {
        Ending::Completed => Ok(spans.map(|spans| median(&spans.borrow()[WARMUP..]))),
        other => Err(BenchError::Ending(other.describe().1)),
    }
}

/// Adds two hooks that take the time from one to the other, in milliseconds.
fn stopwatch(
    job: &mut Job,
    name: &str,
    (start, first): (Point, Level),
    (end, last): (Point, Level),
    spans: &Rc<RefCell<Vec<f64>>>,
) -> Result<(), BenchError> {
    let began = Rc::new(RefCell::new(Instant::now()));
    let (starting, spans) = (Rc::clone(&began), Rc::clone(spans));
    let starts = CallbackHook::new(format!("{name} starts")).level(first).at(start, move |_| {
        *starting.borrow_mut() = Instant::now();
        Ok(())
    });
    let ends = CallbackHook::new(format!("{name} ends")).level(last).at(end, move |_| {
        spans.borrow_mut().push(began.borrow().elapsed().as_secs_f64() * 1e3);
        Ok(())
    });
    for hook in [starts, ends] {
        job.add(hook).map_err(|error| BenchError::Instance(error.to_string()))?;
    }
    Ok(())
}

fn by_torch(python: &Path, shapes: &str) -> Result<Json, BenchError> {
    let script = workspace().join("scripts/bench/peers/tensors.py");
    let mut command = Command::new(python);
    command.arg(script).args(["--shapes", shapes, "--rounds", &STEPS.to_string()]);
    let output = command.output().map_err(BenchError::file(python))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(BenchError::Python { script: "peers/tensors.py", why });
    }
    Ok(serde_json::from_slice(&output.stdout).unwrap_or_default())
}
