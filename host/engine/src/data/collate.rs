//! Collates samples into batches: the data set writes each sample directly into its row of the batch.

use std::slice::ChunksExactMut;
use std::sync::Arc;

use tch::{Device, Tensor};

use super::prng::Prng;
use super::sample_buffer::{Elements, SampleBuffer};
use super::share::Share;
use super::spec::{DataSpec, elements};
use super::transform::{Chain, Scratch};
use super::{Batch, Dataset, size};
use crate::error::{EngineError, Result};
use hookrack_torch::block::{Block, Pool};

/// Which batch to make, and what its random numbers depend on.
pub(super) struct Job {
    /// Its rows, over all ranks.
    pub(super) rows: usize,
    /// Which of them are wanted.
    pub(super) share: Share,
    pub(super) seed: u64,
    pub(super) epoch: u64,
    /// The place of the batch in the epoch.
    pub(super) number: u64,
}

/// Samples and batches draw from different random streams.
const OF_SAMPLE: u64 = 1;
const OF_BATCH: u64 = 2;

/// A batch that is not a tensor yet. It may come from any thread.
#[derive(Debug)]
pub(super) struct Filled {
    input: Box<Block>,
    label: Box<Block>,
    rows: usize,
}

/// Turns filled memory into tensors.
#[derive(Debug)]
pub(super) struct Shapes {
    // The first side is the batch's, set for each.
    input: Vec<i64>,
    label: Vec<i64>,
    has_tokens: bool,
    has_int_labels: bool,
    device: Device,
}

impl Shapes {
    pub(super) fn new(spec: &DataSpec, device: Device) -> Self {
        let with_rows = |sides: &[i64]| [&[0], sides].concat();
        Self {
            input: with_rows(&spec.input),
            label: with_rows(&spec.label_shape()),
            has_tokens: spec.has_tokens(),
            has_int_labels: spec.has_int_labels(),
            device,
        }
    }

    /// The batch; its memory goes back to the pool with its last tensor.
    pub(super) fn batch(&mut self, filled: Filled) -> Result<Batch> {
        let Filled { input, label, rows } = filled;
        (self.input[0], self.label[0]) = (size(rows), size(rows));
        let tensor = |block: Box<Block>, is_int: bool, shape: &[i64]| -> Result<Tensor> {
            let filled = if is_int {
                block.into_tensor::<i64>(shape)?
            } else {
                block.into_tensor::<f32>(shape)?
            };
            let is_there = self.device == Device::Cpu;
            Ok(if is_there { filled } else { filled.f_to_device(self.device)? })
        };
        Ok(Batch {
            input: tensor(input, self.has_tokens, &self.input)?,
            label: tensor(label, self.has_int_labels, &self.label)?,
        })
    }
}

/// The rows of a block, one by one.
enum Rows<'a> {
    Floats(ChunksExactMut<'a, f32>),
    Ints(ChunksExactMut<'a, i64>),
}

impl<'a> Rows<'a> {
    fn of(block: &'a mut Block, rows: usize, len: usize, is_int: bool) -> Self {
        if is_int {
            Self::Ints(block.elements(rows * len).chunks_exact_mut(len.max(1)))
        } else {
            Self::Floats(block.elements(rows * len).chunks_exact_mut(len.max(1)))
        }
    }

    fn next(&mut self) -> Elements<'a> {
        match self {
            Self::Floats(rows) => Elements::Floats(rows.next().unwrap_or_default()),
            Self::Ints(rows) => Elements::Ints(rows.next().unwrap_or_default()),
        }
    }
}

/// Reads the samples of a job into memory of the pool.
pub(super) fn fill<D: Dataset + ?Sized>(
    dataset: &D,
    chain: &Chain,
    pool: &Arc<Pool>,
    scratch: &mut Scratch,
    job: &Job,
    index: impl Fn(usize) -> usize,
) -> Result<Filled> {
    // Mixing a row needs its counterpart, even one that belongs to another rank.
    let needs_all = !job.share.is_whole() && chain.mixes_rows();
    let share = if needs_all { Share::WHOLE } else { job.share };
    let (spec, rows) = (chain.spec(), share.rows(job.rows));
    let (input_len, label_len) = (elements(&spec.input), spec.label_len());
    let bytes = |len: usize, is_int: bool| rows * len * if is_int { 8 } else { 4 };
    let mut input = pool.take(bytes(input_len, spec.has_tokens()))?;
    let mut label = pool.take(bytes(label_len, spec.has_int_labels()))?;
    let mut inputs = Rows::of(&mut input, rows, input_len, spec.has_tokens());
    let mut labels = Rows::of(&mut label, rows, label_len, spec.has_int_labels());
    for index in share.ranges(job.rows).flatten().map(index) {
        let (input, label) = (inputs.next(), labels.next());
        if index >= dataset.len() {
            return Err(out_of_range(index, dataset.len()));
        }
        let mut random = Prng::new(&[job.seed, job.epoch, index as u64, OF_SAMPLE]);
        chain.plan(&mut random, scratch);
        dataset.read(index, &mut SampleBuffer { input, label, chain, scratch })?;
    }
    dataset.check()?;
    let mut random = Prng::new(&[job.seed, job.epoch, job.number, OF_BATCH]);
    for kept in chain.mixes(&mut random) {
        mix(input.elements(rows * input_len), input_len, kept);
        if !spec.has_int_labels() {
            mix(label.elements(rows * label_len), label_len, kept);
        }
    }
    if share == job.share {
        return Ok(Filled { input, label, rows });
    }
    keep(&mut input, input_len, spec.has_tokens(), job);
    keep(&mut label, label_len, spec.has_int_labels(), job);
    Ok(Filled { input, label, rows: job.share.rows(job.rows) })
}

/// Moves the rows of the share to the front.
fn keep(block: &mut Block, len: usize, is_int: bool, job: &Job) {
    fn pack<T: Copy>(elements: &mut [T], len: usize, job: &Job) {
        let mut end = 0;
        for range in job.share.ranges(job.rows) {
            let (start, count) = (range.start * len, range.len() * len);
            elements.copy_within(start..start + count, end);
            end += count;
        }
    }
    if is_int {
        pack::<i64>(block.elements(job.rows * len), len, job);
    } else {
        pack::<f32>(block.elements(job.rows * len), len, job);
    }
}

/// Blends each row with its counterpart from the other end.
fn mix(rows: &mut [f32], len: usize, kept: f32) {
    let count = rows.len() / len.max(1);
    let (head, tail) = rows.split_at_mut(count.div_ceil(2) * len);
    for (a, b) in head.chunks_exact_mut(len.max(1)).zip(tail.chunks_exact_mut(len.max(1)).rev()) {
        for (a, b) in a.iter_mut().zip(b) {
            (*a, *b) = (kept * *a + (1.0 - kept) * *b, kept * *b + (1.0 - kept) * *a);
        }
    }
}

/// The samples with these indices, in this order and without transforms, in new tensors.
pub(super) fn batch<D: Dataset + ?Sized>(dataset: &D, indices: &[usize]) -> Result<Batch> {
    let chain = Chain::none(dataset.spec(), dataset.brightest());
    let job = Job { rows: indices.len(), share: Share::WHOLE, seed: 0, epoch: 0, number: 0 };
    let index = |row: usize| indices[row];
    let filled = fill(dataset, &chain, &Pool::new(0), &mut chain.scratch(), &job, index)?;
    Shapes::new(chain.spec(), Device::Cpu).batch(filled)
}

/// The error for an index out of range.
fn out_of_range(index: usize, len: usize) -> EngineError {
    EngineError::Data(format!("sample {index} does not exist: the data set has {len}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_mixed_in_pairs_from_both_ends() {
        let mut rows = [0.0, 0.0, 5.0, 5.0, 8.0, 4.0];
        mix(&mut rows, 2, 0.75);
        let wanted = [2.0, 1.0, 5.0, 5.0, 6.0, 3.0];
        let far = rows.iter().zip(wanted).any(|(found, wanted)| (found - wanted).abs() > 1e-6);
        assert!(!far, "{rows:?}: the middle one has itself for a partner");
        let mut empty: [f32; 0] = [];
        mix(&mut empty, 3, 0.5);
    }
}
