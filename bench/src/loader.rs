//! Samples per second of the loader alone, on Fashion-MNIST with crop, flip and normalize.

use crate::error::BenchError;
use clap::Args;
use hookrack::engine::Choice;
use hookrack::engine::data::transform::Chain;
use hookrack::engine::data::{DATASETS, Dataset, Loader, LoaderSettings};
use hookrack::engine::registry::Build as _;
use hookrack_plugin_api::Value;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// What is loaded, and how.
#[derive(Args)]
pub(crate) struct LoaderArgs {
    /// Folder with Fashion-MNIST's files
    #[arg(long, default_value = "/usr/share/datasets/fashion-mnist")]
    dir: PathBuf,

    /// Threads that prepare batches in advance
    #[arg(long, default_value_t = 2)]
    workers: usize,

    /// Samples in a batch
    #[arg(long, default_value_t = 64)]
    batch_size: usize,

    /// Epochs that are measured, after one for warm-up
    #[arg(long, default_value_t = 3)]
    epochs: u64,
}

/// Iterates over the epochs and prints the speed.
pub(crate) fn measure(args: &LoaderArgs) -> Result<Json, BenchError> {
    let mut loader = loader(args)?;
    walk(&mut loader, 0)?;
    let began = Instant::now();
    let mut samples = 0;
    for epoch in 1..=args.epochs {
        samples += walk(&mut loader, epoch)?;
    }
    #[expect(clippy::cast_precision_loss, reason = "few epochs of few samples")]
    let speed = samples as f64 / began.elapsed().as_secs_f64();
    Ok(
        json!({ "samples_per_second": speed, "workers": args.workers, "batch_size": args.batch_size }),
    )
}

fn loader(args: &LoaderArgs) -> Result<Loader, BenchError> {
    let dir = Value::Str(args.dir.display().to_string());
    let dataset: Arc<dyn Dataset> =
        Arc::from(Choice::new("IdxImages", &[("dir", dir)]).build(DATASETS, &())?);
    let one = |number: f64| Value::List(vec![Value::Float(number)]);
    let transforms = [
        Choice::new("RandomCrop", &[("padding", Value::Int(2))]),
        Choice::new("RandomFlip", &[]),
        Choice::new("Normalize", &[("mean", one(0.286)), ("std", one(0.353))]),
    ];
    let chain = Chain::build(&transforms, &dataset.spec(), dataset.brightest())
        .map_err(|(_, error)| error)?;
    let settings = LoaderSettings {
        shuffle: true,
        seed: 1,
        workers: args.workers,
        prefetch: 8,
        ..LoaderSettings::new(args.batch_size)
    };
    Ok(Loader::transformed(dataset, chain, &settings)?)
}

fn walk(loader: &mut Loader, epoch: u64) -> Result<i64, BenchError> {
    loader.begin(epoch, 0);
    let mut samples = 0;
    while let Some(batch) = loader.next_batch()? {
        samples += batch.rows();
    }
    Ok(samples)
}
