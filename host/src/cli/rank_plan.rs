//! `hookrack plan --ranks`: the share of each rank, computed without starting a process.

use crate::config::{ConfigErrors, ResolvedConfig};
use crate::engine::data::Share;
use crate::engine::{Engine, EngineError, NamedTensor, TensorShard};
use crate::torch::TensorList;
use crate::torch::dist::bucket_bytes;
use crate::train::{Parts, iters_in_epoch, reducer_options};
use serde::Serialize;
use serde_json::{Value as Json, json};

/// The plan of a run on several ranks.
pub(super) struct RankPlan {
    ranks: usize,
    batch: usize,
    batches_per_iteration: u64,
    micro_batches: usize,
    iterations: u64,
    samples: usize,
    /// Consecutive ranks with the same share.
    shares: Vec<RankShare>,
    /// Bytes of gradients that are reduced at once, in the order of the backward pass.
    buckets: Vec<usize>,
    /// Gradients are sent in half precision.
    is_half: bool,
    /// Bytes of all gradients as they are sent.
    sent: usize,
    memory: Memory,
}

/// The share of some ranks in the data.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
struct RankShare {
    first_rank: usize,
    last_rank: usize,
    samples_per_batch: usize,
    samples_in_last_batch: usize,
    /// Of an iteration with all its batches.
    samples_per_iteration: usize,
    samples_per_epoch: usize,
}

/// Bytes on each rank.
#[derive(Serialize)]
struct Memory {
    parameters: usize,
    buffers: usize,
    gradients: usize,
    /// Where it is sharded, those of rank 0.
    optimizer: usize,
    #[serde(skip)]
    is_sharded: bool,
}

/// Bytes of a number in half precision.
const HALF: usize = 2;

impl RankPlan {
    /// The plan of a run on `ranks` ranks.
    pub(super) fn new(
        config: &ResolvedConfig,
        parts: &Parts,
        ranks: usize,
    ) -> Result<Self, ConfigErrors> {
        let train = &parts.loaders.train;
        let batch = *config.data.train.loading.batch_size;
        let batches = usize::try_from(train.batches()).unwrap_or(usize::MAX);
        let samples = train.dataset().len().min(batches.saturating_mul(batch));
        let last_batch = samples - batches.saturating_sub(1) * batch;
        let batches_per_iteration = config.train.accumulate_grad_batches.max(1);
        let grouped = usize::try_from(batches_per_iteration).unwrap_or(usize::MAX);
        let of_rank = |rank| {
            let share = Share { rank, ..train.share() };
            let (of_batch, of_last_batch) = (share.rows(batch), share.rows(last_batch));
            let of_epoch = batches.saturating_sub(1) * of_batch + of_last_batch;
            RankShare {
                first_rank: rank,
                last_rank: rank,
                samples_per_batch: of_batch,
                samples_in_last_batch: of_last_batch,
                // An epoch may have fewer batches than an iteration.
                samples_per_iteration: of_epoch.min(of_batch.saturating_mul(grouped)),
                samples_per_epoch: of_epoch,
            }
        };
        let refused =
            |error: EngineError| config.refuse("model", error.to_string(), "train on one rank");
        let engine = &parts.engine;
        let trained: Vec<_> =
            engine.params().iter().filter(|param| param.tensor.requires_grad()).collect();
        let is_half = config.distributed.fp16_compression;
        let numbers: usize = trained.iter().map(|param| param.tensor.numel()).sum();
        Ok(Self {
            ranks,
            batch,
            batches_per_iteration,
            micro_batches: config.train.accumulation,
            iterations: iters_in_epoch(config, train),
            samples,
            shares: together((0..ranks).map(of_rank)),
            buckets: buckets(&trained, config).map_err(refused)?,
            is_half,
            sent: if is_half { HALF * numbers } else { bytes_of(trained.iter().copied()) },
            memory: Memory {
                parameters: bytes_of(engine.params()),
                buffers: bytes_of(engine.buffers()),
                gradients: bytes_of(trained),
                optimizer: optimizer_bytes(engine),
                is_sharded: engine.shard().world > 1,
            },
        })
    }

    /// Bytes that each rank sends, and receives, in an iteration: a ring passes each gradient on twice, except once around, and where
    /// the optimizer is sharded each parameter that was stepped once.
    fn wire_bytes(&self) -> usize {
        let gathered = if self.memory.is_sharded { self.memory.gradients } else { 0 };
        (self.ranks - 1) * (2 * self.sent + gathered) / self.ranks
    }

    fn traffic(&self) -> String {
        let wire = size(self.wire_bytes());
        let half = if self.is_half { " in fp16" } else { "" };
        let gather = if self.memory.is_sharded { ", all-gather of parameters" } else { "" };
        format!("traffic: {wire} sent by each rank per iteration (ring all-reduce{half}{gather})")
    }

    /// For a person.
    pub(super) fn lines(&self) -> Vec<String> {
        let Self { ranks, batch, iterations, samples, .. } = self;
        let (ranks, iterations) = (count(*ranks as u64, "rank"), count(*iterations, "iteration"));
        let is_grouped = self.batches_per_iteration > 1;
        let row = |[name, batch, last, iter, epoch]: [&str; 5]| {
            let iter = if is_grouped { format!(" {iter:>14}") } else { String::new() };
            format!("{name:<12} {batch:>14} {last:>14}{iter} {epoch:>14}")
        };
        let head = ["RANKS", "SAMPLES/BATCH", "IN LAST BATCH", "SAMPLES/ITER", "SAMPLES/EPOCH"];
        let shares = self.shares.iter().map(|share| {
            let numbers = [
                share.samples_per_batch,
                share.samples_in_last_batch,
                share.samples_per_iteration,
                share.samples_per_epoch,
            ];
            let [batch, last, iter, epoch] = numbers.map(|number| number.to_string());
            row([&share.name(), &batch, &last, &iter, &epoch])
        });
        let mut lines = vec![
            format!("batches of {batch}, shared by {ranks}"),
            format!("{samples} samples in {iterations} per epoch{}", self.accumulation()),
            String::new(),
            row(head),
        ];
        lines.extend(shares);
        lines.extend([String::new(), self.gradients(), self.traffic(), self.memory.line()]);
        lines
    }

    /// The buckets of gradients, the first few of many.
    fn gradients(&self) -> String {
        const SHOWN: usize = 8;
        let total = size(self.buckets.iter().sum());
        let said = format!("gradients: {total} in {}", count(self.buckets.len() as u64, "bucket"));
        let sizes: Vec<_> = self.buckets.iter().take(SHOWN).map(|&bytes| size(bytes)).collect();
        match self.buckets.len().saturating_sub(SHOWN) {
            _ if sizes.len() == 1 => said,
            0 => format!("{said}: {}", sizes.join(", ")),
            more => format!("{said}: {}, and {more} more", sizes.join(", ")),
        }
    }

    fn accumulation(&self) -> String {
        let Self { batches_per_iteration: batches, micro_batches: micros, .. } = self;
        let batches = (*batches > 1).then(|| format!(", {batches} batches each"));
        let micros = (*micros > 1).then(|| format!(", each batch in {micros} micro-batches"));
        batches.into_iter().chain(micros).collect()
    }

    /// For a program.
    pub(super) fn json(&self) -> Json {
        json!({
            "ranks": self.ranks,
            "batch_size": self.batch,
            "batches_per_iteration": self.batches_per_iteration,
            "micro_batches": self.micro_batches,
            "iterations_per_epoch": self.iterations,
            "samples_per_epoch": self.samples,
            "shares": self.shares,
            "bucket_bytes": self.buckets,
            "wire_bytes_per_iteration": self.wire_bytes(),
            "memory_bytes": self.memory,
            "optimizer_is_sharded": self.memory.is_sharded,
        })
    }
}

impl Memory {
    fn line(&self) -> String {
        let Self { parameters, buffers, gradients, optimizer, is_sharded } = *self;
        let total = size(parameters + buffers + gradients + optimizer);
        let [parameters, buffers, gradients, optimizer] =
            [parameters, buffers, gradients, optimizer].map(size);
        format!(
            "memory per rank: {total}, without activations and data: parameters {parameters}, buffers {buffers}, \
             gradients {gradients}, optimizer {optimizer}{}",
            if is_sharded { " (sharded)" } else { "" }
        )
    }
}

impl RankShare {
    fn is_like(self, other: &Self) -> bool {
        let Self { first_rank, last_rank, .. } = *other;
        Self { first_rank, last_rank, ..self } == *other
    }

    fn name(self) -> String {
        let Self { first_rank: first, last_rank: last, .. } = self;
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    }
}

/// Joins ranks that take the same.
fn together(shares: impl Iterator<Item = RankShare>) -> Vec<RankShare> {
    let mut all: Vec<RankShare> = Vec::new();
    for share in shares {
        match all.last_mut() {
            Some(before) if share.is_like(before) => before.last_rank = share.last_rank,
            _ => all.push(share),
        }
    }
    all
}

/// The reducer's buckets once it has seen a backward pass: gradients in the order in which they come, which is about the reverse of
/// the parameters.
fn buckets(trained: &[&NamedTensor], config: &ResolvedConfig) -> Result<Vec<usize>, EngineError> {
    let mut list = TensorList::with_capacity(trained.len());
    trained.iter().rev().for_each(|param| list.push(&param.tensor));
    // In the order in which those of a forward pass would be sent: the other way round.
    let mut bytes = bucket_bytes(&list, reducer_options(&config.distributed).buckets)?;
    bytes.reverse();
    Ok(bytes)
}

pub(super) fn bytes_of<'a>(tensors: impl IntoIterator<Item = &'a NamedTensor>) -> usize {
    let bytes =
        |named: &NamedTensor| named.tensor.numel() * named.tensor.kind().elt_size_in_bytes();
    tensors.into_iter().map(bytes).sum()
}

/// The bytes of the state that one rank keeps of its optimizer.
fn optimizer_bytes(engine: &Engine) -> usize {
    let bytes =
        |piece: &TensorShard| piece.tensor.numel() * piece.tensor.kind().elt_size_in_bytes();
    engine.optimizer_state().iter().map(bytes).sum()
}

pub(super) fn count(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

/// A number of bytes in the largest unit that it has one of.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn size(bytes: usize) -> String {
    const UNITS: [&str; 3] = ["KiB", "MiB", "GiB"];
    let mut shown = (bytes as f64, "B");
    for unit in UNITS {
        if shown.0 < 1024.0 {
            break;
        }
        shown = (shown.0 / 1024.0, unit);
    }
    if shown.1 == "B" { format!("{bytes} B") } else { format!("{:.1} {}", shown.0, shown.1) }
}
