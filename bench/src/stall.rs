//! How long a training step waits when a checkpoint is taken: one copy of the state, and nothing of the disk.

use crate::error::BenchError;
use crate::report::{About, Line, Section, Target};
use crate::rounds::median;
use hookrack::run::checkpoint::{Buffers, Checkpoint, Snapshot};
use std::time::Instant;
use tch::{Device, Kind, Tensor};

/// Numbers in a tensor: 16 MiB of floats.
const NUMBERS: i64 = 4 << 20;
/// Tensors of the model; the optimizer has two more for each. Together 400 MiB.
const MODEL: usize = 8;
const OPTIMIZER: usize = 17;

fn tensors(prefix: &str, count: usize) -> Result<Vec<(String, Tensor)>, BenchError> {
    let make = |index: usize| {
        let tensor = Tensor::f_ones([NUMBERS], (Kind::Float, Device::Cpu))?;
        Ok((format!("{prefix}.{index}"), tensor))
    };
    (0..count).map(make).collect()
}

/// Copies the state so many times, by plain copies and as a checkpoint does.
pub(crate) fn measure(rounds: u32) -> Result<Section, BenchError> {
    let checkpoint = Checkpoint {
        model: tensors("layer", MODEL)?,
        optimizer: tensors("layer.exp_avg", OPTIMIZER)?,
        ..Checkpoint::default()
    };
    let all: Vec<&Tensor> =
        checkpoint.model.iter().chain(&checkpoint.optimizer).map(|(_, tensor)| tensor).collect();
    let bytes = all.iter().map(|tensor| tensor.numel() * 4).sum();
    let mut row = vec![1_u8; bytes];
    let mut buffers = Buffers::default();
    let (mut plain, mut taken) = (Vec::new(), Vec::new());
    // The first one gets its memory from the system; the others use it again.
    let mut first = None;
    for _ in 0..=rounds {
        let began = Instant::now();
        for (tensor, place) in all.iter().zip(row.chunks_exact_mut(bytes / all.len())) {
            tensor.f_copy_data_u8(place, tensor.numel())?;
        }
        plain.push(began.elapsed().as_secs_f64() * 1e3);
        let began = Instant::now();
        let snapshot = Snapshot::take(&checkpoint, Vec::new(), buffers)?;
        let time = began.elapsed().as_secs_f64() * 1e3;
        buffers = snapshot.into_buffers();
        if first.replace(first.unwrap_or(time)).is_some() {
            taken.push(time);
        }
    }
    let (copy, snapshot) = (median(&plain), median(&taken));
    let first = first.unwrap_or(f64::NAN);
    Ok(Section {
        title: format!(
            "what a step waits for when a checkpoint of 400 MiB is taken (medians of {rounds})"
        ),
        unit: "ms",
        yardstick: "memcpy",
        lines: vec![
            Line::new("a plain copy of the state", copy),
            Line::new("the first checkpoint of a run", first).to(first / copy),
            Line::new("any later one", snapshot)
                .to(snapshot / copy)
                .must(About::Ratio, Target::AtMost(1.5)),
        ],
    })
}
