//! How long a training step waits for a checkpoint: one copy of the state, without waiting for the disk.

use crate::error::BenchError;
use crate::measured_hooks::{job, workspace};
use crate::report::{About, Line, Section, Target};
use crate::rounds::median;
use hookrack::hooks::CallbackHook;
use hookrack::run::RunDir;
use hookrack::train::{Ending, Interrupt, Parts, Trainer};
use hookrack::writers::Writers;
use hookrack_plugin_api::Point;
use serde_json::Value as Json;
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::time::Instant;
use tch::{Device, Kind, Tensor};
use tempfile::TempDir;

/// Iterations between two checkpoints: enough for the previous one to be on disk before the next.
const PERIOD: usize = 30;
/// Runs whose first checkpoint is measured.
const FIRSTS: usize = 3;
/// Steps before a checkpoint that its step is compared with.
const BEFORE: usize = 5;
/// One layer of 50 million weights, and their momentum: 400 MB.
const SETTINGS: [&str; 5] = [
    "model.hidden=[12288]",
    "data.train.shape=[4096]",
    "data.train.samples=1024",
    "data.train.in_memory=false",
    "train.batch_size=1",
];

/// A hook that keeps an average of the weights, which adds 50 % to the state.
const AVERAGE: &str = "custom_hooks=[{type=\"EMAIterHook\", library=\"libema.so\"}]";

/// Takes this many checkpoints of a run, and copies its state as often.
pub(crate) fn measure(rounds: usize) -> Result<Section, BenchError> {
    let (plain, bytes) = steps(rounds + 1, &[])?;
    let later: Vec<f64> = (2..=rounds + 1).map(|checkpoint| wait(&plain, checkpoint)).collect();
    let plugins = format!("plugins.dirs=['{}']", workspace().join("plugins").display());
    let (first, averaged) = (firsts(&[])?, firsts(&[&plugins, AVERAGE])?);
    let copy = copy(bytes, rounds)?;
    let line = |name: &str, wait: f64, copies: f64| {
        let ratio = wait / (copy * copies);
        Line::new(name, wait).to(ratio).must(About::Ratio, Target::AtMost(1.5))
    };
    // A thread allocates the memory of the first one in advance; the others reuse it.
    let mut lines = vec![
        Line::new("a plain copy of the state", copy).to(1.0),
        line("the first checkpoint of a run", first, 1.0),
        line("any later one", median(&later), 1.0),
        line("the first with averaged weights, half as much again", averaged, 1.5),
    ];
    lines
        .extend(torch_save(bytes, folder()?.path()).map(|save| {
            Line::new("torch.save of the same state, in Python", save).to(save / copy)
        }));
    Ok(Section {
        title: format!(
            "how much longer a step is in which a checkpoint of {} MB is taken (medians of {rounds})",
            bytes / 1_000_000
        ),
        unit: "ms",
        baseline: "x copy",
        lines,
    })
}

/// How much longer the step of a run's first checkpoint is: the median of some runs.
fn firsts(more: &[&str]) -> Result<f64, BenchError> {
    let runs = (0..FIRSTS).map(|_| Ok(wait(&steps(1, more)?.0, 1)));
    Ok(median(&runs.collect::<Result<Vec<_>, BenchError>>()?))
}

/// The milliseconds of each step of a run that takes checkpoints, from 1 on, and the bytes of model and optimizer.
fn steps(checkpoints: usize, more: &[&str]) -> Result<(Vec<f64>, usize), BenchError> {
    let folder = folder()?;
    let iters = format!("train.max_iters={}", PERIOD * checkpoints + 1);
    let saver = format!(
        "default_hooks.checkpoint={{iter_period={PERIOD}, epoch_period=0, max_num_checkpoints=1}}"
    );
    let mut job = job(&[&SETTINGS[..], &[&iters, &saver], more].concat())?;
    let begun = Rc::new(RefCell::new(Vec::new()));
    let times = Rc::clone(&begun);
    let clock = CallbackHook::new("clock").at(Point::BeforeTrainIter, move |_| {
        times.borrow_mut().push(Instant::now());
        Ok(())
    });
    job.add(clock).map_err(|error| BenchError::Instance(error.to_string()))?;
    let parts = Parts::build(&job.config)?;
    // SGD keeps one number beside each weight.
    let bytes = parts.engine.params().iter().map(|param| param.tensor.numel() * 8).sum();
    let run = RunDir::at(&folder.path().join("run"))?;
    let mut trainer =
        Trainer::assemble(parts, &job, Writers::default(), Some(run), Interrupt::default())?;
    match trainer.fit() {
        Ending::Completed => {}
        other => return Err(BenchError::Ending(other.describe().1)),
    }
    let millis = |pair: &[Instant]| pair[1].duration_since(pair[0]).as_secs_f64() * 1e3;
    let steps = begun.borrow().windows(2).map(millis).collect();
    Ok((steps, bytes))
}

fn folder() -> Result<TempDir, BenchError> {
    tempfile::tempdir().map_err(BenchError::file(std::env::temp_dir()))
}

/// How much longer the step of a checkpoint is than those before it.
fn wait(steps: &[f64], checkpoint: usize) -> f64 {
    let at = checkpoint * PERIOD - 1;
    steps[at] - median(&steps[at - BEFORE..at])
}

/// The milliseconds of a plain copy of this many bytes, from tensors as large as the model's.
fn copy(bytes: usize, rounds: usize) -> Result<f64, BenchError> {
    let numbers = i64::try_from(bytes / 8).unwrap_or(i64::MAX);
    let tensor = || Tensor::f_ones([numbers], (Kind::Float, Device::Cpu));
    let (model, momentum) = (tensor()?, tensor()?);
    let mut row = vec![1_u8; bytes];
    let mut times = Vec::new();
    for _ in 0..=rounds {
        let began = Instant::now();
        let (first, second) = row.split_at_mut(bytes / 2);
        model.f_copy_data_u8(first, model.numel())?;
        momentum.f_copy_data_u8(second, momentum.numel())?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(&times[1..]))
}

/// The milliseconds of `torch.save`; `None` if no Python has torch (`HOOKRACK_PYTHON`, else `python3`).
fn torch_save(bytes: usize, folder: &Path) -> Option<f64> {
    let python = std::env::var("HOOKRACK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = workspace().join("scripts/bench/torch_save.py");
    let mut command = Command::new(python);
    command.arg(script).args(["--bytes", &bytes.to_string(), "--folder"]).arg(folder);
    let ran = command.output().ok().filter(|ran| ran.status.success())?;
    let found: Json = serde_json::from_slice(&ran.stdout).ok()?;
    found["save_ms"].as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_the_difference_to_the_steps_before() {
        let mut steps = vec![10.0; 2 * PERIOD];
        steps[PERIOD - 1] = 25.0;
        // Steps after a checkpoint are slower, and are not compared with.
        steps[PERIOD] = 90.0;
        assert!((wait(&steps, 1) - 15.0).abs() < 1e-9);
        assert!(wait(&steps, 2).abs() < 1e-9);
    }
}
