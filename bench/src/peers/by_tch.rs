//! A hand-written training loop with tch alone, in a process of its own: what a Rust user would write instead of hookrack.

use super::measured::now;
use super::model::{self, Model};
use super::tch_models::net;
use crate::error::BenchError;
use crate::measured_hooks::workspace;
use clap::Args;
use hookrack::job::Job;
use hookrack::train::Parts;
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;
use tch::nn::{self, OptimizerConfig};
use tch::{Device, Tensor};

/// What the loop is told, as the peers in Python are.
#[derive(Args)]
pub(crate) struct ByTchArgs {
    #[arg(long, value_parser = model::named)]
    model: &'static Model,
    #[arg(long)]
    steps: usize,
    #[arg(long)]
    warmup: usize,
    #[arg(long)]
    images: PathBuf,
    #[arg(long)]
    text: PathBuf,
    #[arg(long)]
    folder: PathBuf,
    /// When this process was started, in seconds since 1970
    #[arg(long)]
    started: f64,
}

/// Trains, and returns the figures as a line of JSON.
#[expect(clippy::cast_precision_loss, reason = "few steps")]
pub(crate) fn run(args: &ByTchArgs) -> Result<String, BenchError> {
    tch::set_num_threads(1);
    tch::manual_seed(1);
    let (inputs, labels) = data(args)?;
    let variables = nn::VarStore::new(Device::Cpu);
    let net = net(args.model, &variables.root());
    let mut optimizer = if args.model.is_text {
        let adamw = nn::AdamW { beta2: 0.95, wd: 0.1, ..nn::AdamW::default() };
        adamw.build(&variables, 1e-3)?
    } else {
        nn::Sgd { momentum: 0.9, ..nn::Sgd::default() }.build(&variables, 0.01)?
    };
    let batch = i64::try_from(args.model.batch).unwrap_or(i64::MAX);
    let batches = (inputs.size()[0] / batch).max(1);
    let (mut log, mut first, mut last) = (String::new(), f64::NAN, f64::NAN);
    let mut began = Instant::now();
    for step in 1..=args.warmup + args.steps {
        let row = i64::try_from(step - 1).unwrap_or(0) % batches * batch;
        let (input, label) = (inputs.narrow(0, row, batch), labels.narrow(0, row, batch));
        let output = net.forward_t(&input, true);
        let output = output.view([-1, output.size()[output.dim() - 1]]);
        let loss = output.cross_entropy_for_logits(&label.flatten(0, -1));
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        if step % 20 == 0 || step == args.warmup + args.steps {
            last = loss.double_value(&[]);
            let _ = writeln!(log, "{}", json!({ "iter": step, "train/loss": last }));
        }
        if step == 1 {
            first = now() - args.started;
        }
        if step == args.warmup {
            began = Instant::now();
        }
    }
    let speed = args.steps as f64 / began.elapsed().as_secs_f64();
    let path = args.folder.join("log.jsonl");
    fs::write(&path, log).map_err(BenchError::file(&path))?;
    if !last.is_finite() {
        return Err(BenchError::Ending(format!("the loss is {last}")));
    }
    let figures =
        json!({ "steps_per_second": speed, "first_step": first, "loss": last, "versions": {} });
    Ok(figures.to_string())
}

/// All samples that are used, in memory, in the order of the files.
fn data(args: &ByTchArgs) -> Result<(Tensor, Tensor), BenchError> {
    let model = args.model;
    let (key, path) = if model.is_text { ("path", &args.text) } else { ("dir", &args.images) };
    let overrides = [
        format!("data.train.{key}='{}'", path.display()),
        format!("data.train.first={}", model.batch * model.epoch),
        // What is measured is tch: the allocator and MKL stay as they are.
        "train.keep_memory=false".to_owned(),
        "train.kernels=\"default\"".to_owned(),
        "train.memory_format=\"contiguous\"".to_owned(),
    ];
    let config = workspace().join(format!("bench/peers/{}.toml", model.name));
    let job = Job::load(&config, &overrides)?;
    let Parts { loaders, .. } = Parts::build(&job.config)?;
    let dataset = loaders.train.dataset();
    let all: Vec<usize> = (0..dataset.len()).collect();
    let batch = dataset.batch(&all)?;
    Ok((batch.input, batch.label))
}
