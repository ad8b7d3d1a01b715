//! The time of an optimizer step and of an average of the weights, beside a copy of as many bytes.

use super::curve::Curve;
use super::memory::has_room;
use crate::error::BenchError;
use crate::measured_hooks::{job, workspace};
use crate::progress::say;
use crate::rounds::median;
use hookrack::engine::data::Batch;
use hookrack::train::{Ending, Interrupt, Parts, Trainer};
use hookrack::writers::Writers;
use std::time::Instant;
use tch::{Device, Kind, Tensor};

/// Parameters, up to a billion.
pub(super) const SIZES: [u32; 7] =
    [1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000, 300_000_000, 1_000_000_000];

/// Bytes of memory for each parameter: four numbers (weight, gradient, and two moments, or a momentum and an average), and another one
/// while a weight is created.
const NEEDED: u64 = 20;

/// Bytes that a step reads and writes for each parameter: AdamW has parameter, gradient and two moments, of which it writes three;
/// an average reads two and writes one.
const ADAMW: f64 = 28.0;
const AVERAGE: f64 = 12.0;

/// Milliseconds of AdamW and EMA with up to `most` parameters, and those of copies.
pub(super) fn measure(most: u32) -> Result<Vec<Curve>, BenchError> {
    let (mut adamw, mut average) = (Vec::new(), Vec::new());
    let (mut adamw_copy, mut average_copy) = (Vec::new(), Vec::new());
    for size in SIZES.into_iter().filter(|size| *size <= most) {
        if !has_room("AdamW and EMA", size, NEEDED) {
            continue;
        }
        say(&format!("AdamW and EMA of {size} parameters"));
        let count = f64::from(size);
        let (stepped, averaged, copied) = (step(size)?, averaging(size)?, copy(size)?);
        adamw.push((count, stepped));
        average.push((count, averaged));
        // A copy reads and writes 8 bytes for each float.
        adamw_copy.push((count, copied * ADAMW / 8.0));
        average_copy.push((count, copied * AVERAGE / 8.0));
    }
    let curve = |file, title, own: Vec<(f64, f64)>, copied: Vec<(f64, f64)>| {
        Curve {
        file,
        title,
        what: "parameters",
        unit: "ms",
        series: vec![("hookrack".to_owned(), own), ("copy of as many bytes".to_owned(), copied)],
        note: "Of the bytes that it moves, a copy writes half, AdamW 12 of 28, an average 4 of 12. Sizes that do not fit into memory are omitted."
            .to_owned(),
    }
    };
    Ok(vec![
        curve("adamw", "AdamW step", adamw, adamw_copy),
        curve("ema", "EMA of the weights, a step", average, average_copy),
    ])
}

/// A model with about so many parameters, in one layer.
fn settings(size: u32) -> Vec<String> {
    vec![
        format!("model.hidden=[{}]", size / 1000),
        "data.train.shape=[990]".to_owned(),
        "data.train.samples=64".to_owned(),
        "data.train.in_memory=false".to_owned(),
        "train.batch_size=1".to_owned(),
    ]
}

/// A job with such a model.
pub(super) fn loaded(size: u32, more: &[&str]) -> Result<hookrack::job::Job, BenchError> {
    let settings = settings(size);
    let all: Vec<_> = settings.iter().map(String::as_str).chain(more.iter().copied()).collect();
    job(&all)
}

fn step(size: u32) -> Result<f64, BenchError> {
    let adamw = loaded(size, &["optimizer={_delete_=true, type='AdamW', lr=0.001}"])?;
    let Parts { mut engine, mut loaders, .. } = Parts::build(&adamw.config)?;
    let batch: Option<Batch> = loaders.train.next_batch()?;
    if let Some(batch) = batch {
        // Leaves the gradients.
        let _loss = engine.train_batch(&batch)?;
    }
    timed(|| Ok(engine.optimizer_step()?))
}

/// The mean time of the hook in a run.
fn averaging(size: u32) -> Result<f64, BenchError> {
    let plugins = format!("plugins.dirs=['{}']", workspace().join("plugins").display());
    let hook = "custom_hooks=[{type='EMAIterHook', library='libema.so'}]";
    let job = loaded(size, &[&plugins, hook, "train.max_iters=8"])?;
    let parts = Parts::build(&job.config)?;
    let mut trainer =
        Trainer::assemble(parts, &job, Writers::default(), None, Interrupt::default())?;
    match trainer.fit() {
        Ending::Completed => {}
        other => return Err(BenchError::Ending(other.describe().1)),
    }
    let costs = trainer.costs();
    let hook = costs.iter().find(|cost| cost.name == "EMAIterHook");
    let hook = hook.ok_or(BenchError::NoHook("EMAIterHook"))?;
    // The first call allocates the average.
    let (longest, total) = hook.points.iter().fold((0.0_f64, 0.0), |(longest, sum), point| {
        (longest.max(point.3.as_secs_f64()), sum + point.2.as_secs_f64())
    });
    Ok((total - longest) / 7.0 * 1e3)
}

/// Milliseconds of a copy of so many floats.
pub(super) fn copy(size: u32) -> Result<f64, BenchError> {
    let ones = || Tensor::f_ones([i64::from(size)], (Kind::Float, Device::Cpu));
    let (from, mut to) = (ones()?, ones()?);
    timed(|| Ok(to.f_copy_(&from).map(drop)?))
}

/// The median milliseconds of five calls, after one.
fn timed(mut act: impl FnMut() -> Result<(), BenchError>) -> Result<f64, BenchError> {
    act()?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        act()?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(&times))
}
