//! Steps per second: the host with its default hooks, its engine alone, and a hand-written tch loop.

use crate::error::BenchError;
use crate::handwritten::{Data, HandWritten};
use crate::measured_hooks::job;
use crate::report::{About, Line, Section, Target};
use crate::rounds::{median, quantile};
use hookrack::engine::Engine;
use hookrack::engine::data::Loader;
use hookrack::job::Job;
use hookrack::train::{Ending, Interrupt, Parts, Trainer};
use hookrack::writers::{MetricsJson, Writers};
use std::path::Path;
use std::time::Instant;

/// Iterations of one round of one loop.
const ITERS: u64 = 300;

/// The minimum speed relative to the hand-written loop.
const LEAST: f64 = 0.97;

/// Measures all three in turn, round by round.
pub(crate) fn measure(rounds: usize) -> Result<Section, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::file(std::env::temp_dir()))?;
    let job = job(&[&format!("train.max_iters={ITERS}")])?;
    let data = data(&job)?;
    // By hand, by the engine, by the host.
    let mut speeds: [Vec<f64>; 3] = Default::default();
    // The first round is a warm-up.
    for round in 0..=rounds {
        let log = folder.path().join(format!("{round}.json"));
        let mut found = [0.0; 3];
        for turn in 0..3 {
            // Rotates the order of the loops.
            let which = (turn + round) % 3;
            found[which] = match which {
                0 => by_hand(&data)?,
                1 => by_engine(&job)?,
                _ => by_host(&job, &log)?,
            };
        }
        if round > 0 {
            speeds.iter_mut().zip(found).for_each(|(speeds, speed)| speeds.push(speed));
        }
    }
    Ok(section(rounds, &speeds))
}

fn section(rounds: usize, [hand, engine, host]: &[Vec<f64>; 3]) -> Section {
    let ratios =
        |loops: &[f64]| -> Vec<f64> { loops.iter().zip(hand).map(|(a, b)| a / b).collect() };
    let of_host = ratios(host);
    let title = format!(
        "steps per second, MLP 784-64-10, batch 64, SGD with momentum, 1 thread \
         (medians of {rounds} interleaved rounds of {ITERS} steps)"
    );
    let lines = vec![
        Line::new("tch loop, by hand", median(hand)).to(1.0),
        Line::new("the host's engine, no hooks", median(engine)).to(median(&ratios(engine))),
        Line::new("the host, default hooks, metrics.json", median(host))
            .to(median(&of_host))
            .must(About::Ratio, Target::AtLeast(LEAST)),
        Line::new("  a quarter of the rounds is below", quantile(host, 0.25))
            .to(quantile(&of_host, 0.25)),
        Line::new("  a quarter of the rounds is above", quantile(host, 0.75))
            .to(quantile(&of_host, 0.75)),
    ];
    Section { title, unit: "steps/s", baseline: "x by hand", lines }
}

/// All samples of the training data in memory.
fn data(job: &Job) -> Result<Data, BenchError> {
    let Parts { loaders, .. } = Parts::build(&job.config)?;
    let dataset = loaders.train.dataset();
    let all: Vec<usize> = (0..dataset.len()).collect();
    let batch = dataset.batch(&all)?;
    Ok(Data { images: batch.input.f_flatten(1, -1)?, labels: batch.label })
}

fn by_hand(data: &Data) -> Result<f64, BenchError> {
    let mut hand = HandWritten::new(data, 42)?;
    let began = Instant::now();
    let loss = hand.train(ITERS);
    let speed = speed(began);
    if loss.is_finite() {
        Ok(speed)
    } else {
        Err(BenchError::Ending(format!("the loss is {loss}")))
    }
}

fn by_engine(job: &Job) -> Result<f64, BenchError> {
    let Parts { mut loaders, mut engine, .. } = Parts::build(&job.config)?;
    let began = Instant::now();
    for _ in 0..ITERS {
        step(&mut loaders.train, &mut engine)?;
    }
    Ok(speed(began))
}

fn step(loader: &mut Loader, engine: &mut Engine) -> Result<(), BenchError> {
    let Some(batch) = loader.next_batch()? else {
        loader.begin(1, 0);
        return Ok(());
    };
    let _loss = engine.train_batch(&batch)?;
    Ok(())
}

fn by_host(job: &Job, log: &Path) -> Result<f64, BenchError> {
    let mut writers = Writers::default();
    writers.add(MetricsJson::open(log)?);
    let mut trainer =
        Trainer::assemble(Parts::build(&job.config)?, job, writers, None, Interrupt::default())?;
    let began = Instant::now();
    let ending = trainer.fit();
    let speed = speed(began);
    match ending {
        Ending::Completed => Ok(speed),
        other => Err(BenchError::Ending(other.describe().1)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a round has few iterations")]
fn speed(began: Instant) -> f64 {
    ITERS as f64 / began.elapsed().as_secs_f64()
}
