//! A checkpoint in memory, laid out as its files: the only part of a save that training waits for.

use super::manifest::Summary;
use super::{Captured, Contents, HOOKS, Portion, RUN, STATE};
use crate::engine::{SavedState, TensorShard};
use crate::events::Sample;
use crate::run::json_value::to_json;
use crate::run::{RunDirError, safetensors_file};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// A checkpoint's files in memory: all of them, or those of one rank.
pub struct Snapshot {
    pub(super) about: Summary,
    pub(super) files: Vec<(String, Vec<u8>)>,
    // The model's tensors in this file if there are several, and their total size.
    pub(super) index: BTreeMap<String, String>,
    pub(super) index_bytes: u64,
}

/// The memory of an earlier snapshot: the next one of the same size allocates nothing.
#[derive(Default)]
pub struct Buffers(Vec<Vec<u8>>);

impl Buffers {
    /// Memory of at least these sizes, with each page touched: the system maps memory when it is first written to, page
    /// by page, which takes longer than the copy itself.
    pub(super) fn grown(self, sizes: &[usize]) -> Self {
        let mut all = self.0;
        all.resize(all.len().max(sizes.len()), Vec::new());
        for (buffer, size) in all.iter_mut().zip(sizes).filter(|(b, size)| b.capacity() < **size) {
            // Frees the old memory first, so that both are never held at once.
            *buffer = Vec::new();
            *buffer = safetensors_file::fresh(*size).unwrap_or_default();
        }
        Self(all)
    }

    #[cfg(test)]
    pub(super) fn places(&self) -> Vec<(*const u8, usize)> {
        self.0.iter().map(|buffer| (buffer.as_ptr(), buffer.capacity())).collect()
    }
}

impl Snapshot {
    /// Copies everything that this process writes: the tensors that it owns, and the part that belongs to the whole run, which
    /// one process writes, with the names of the hooks that requested it. One pass over each
    /// tensor's memory.
    pub fn take(
        portions: &[Portion],
        run: Option<(&Captured, Vec<String>)>,
        buffers: Buffers,
    ) -> Result<Self, RunDirError> {
        let mut spare = buffers.0.into_iter();
        let mut lay = |tensors: &[TensorShard]| {
            let mut buffer = spare.next().unwrap_or_default();
            safetensors_file::lay_out(tensors, &mut buffer).map(|()| buffer)
        };
        let (mut files, mut index, mut index_bytes) = (Vec::new(), BTreeMap::new(), 0);
        for portion in portions {
            let file = portion.file();
            if portion.contents == Contents::Model && portion.of > 1 {
                let names = portion.tensors.iter().map(|piece| piece.name.clone());
                index.extend(names.map(|name| (name, file.clone())));
                index_bytes += portion.bytes();
            }
            files.push((file, lay(&portion.tensors)?));
        }
        let Some((checkpoint, asked_by)) = run else {
            return Ok(Self { about: Summary::default(), files, index, index_bytes });
        };
        if !portions.iter().any(|portion| portion.contents == Contents::Hooks) {
            files.push((HOOKS.to_owned(), lay(&hook_tensors(checkpoint))?));
        }
        files.push((RUN.to_owned(), lay(&run_tensors(checkpoint)?)?));
        files.push((STATE.to_owned(), state(checkpoint)));
        Ok(Self { about: about(checkpoint, asked_by), files, index, index_bytes })
    }

    /// Its memory, to be reused.
    pub fn into_buffers(self) -> Buffers {
        Buffers(
            self.files
                .into_iter()
                .filter(|(name, _)| name != STATE)
                .map(|(_, bytes)| bytes)
                .collect(),
        )
    }
}

fn about(checkpoint: &Captured, asked_by: Vec<String>) -> Summary {
    let position = &checkpoint.state.position;
    let metrics = checkpoint.state.metrics.iter().filter_map(|reading| {
        let phase = hookrack_plugin_api::Phase::from_code(reading.phase).name();
        let value = reading.last.filter(|value| value.is_finite())?;
        Some((format!("{phase}/{}", reading.name), value))
    });
    let shown =
        checkpoint.state.events.iter().filter(|series| !series.smooth).filter_map(|series| {
            let value = series.values.last()?.value;
            (value.is_finite() && series.name.starts_with("val/"))
                .then(|| (series.name.clone(), value))
        });
    let metrics = shown.chain(metrics).collect();
    Summary { iter: position.iter, epoch: position.epoch, asked_by, metrics }
}

fn hook_tensors(checkpoint: &Captured) -> Vec<TensorShard> {
    let of_hook = |(hook, state): (&String, &SavedState)| {
        let named = |(key, tensor): (&String, &Tensor)| {
            TensorShard::whole(format!("{hook}/{key}"), tensor.shallow_clone())
        };
        state.tensors.iter().map(named).collect::<Vec<_>>()
    };
    checkpoint.hooks.iter().flat_map(of_hook).collect()
}

fn run_tensors(checkpoint: &Captured) -> Result<Vec<TensorShard>, RunDirError> {
    let mut tensors = Vec::new();
    let ranks = checkpoint.rank_rng.iter().enumerate();
    let ranks = ranks.map(|(index, state)| (format!("rng/rank_{}", index + 1), state));
    for (name, rng) in [("rng".to_owned(), &checkpoint.rng)].into_iter().chain(ranks) {
        let cuda = rng.cuda.as_ref().map(|state| ("cuda", state));
        for (kind, state) in [("cpu", &rng.cpu)].into_iter().chain(cuda) {
            let name = format!("{name}/{kind}");
            let length = i64::try_from(state.len()).unwrap_or(i64::MAX);
            let state = Tensor::f_from_data_size(state, &[length], Kind::Uint8);
            let state = state.map_err(|e| RunDirError::tensor("save", &name, &e))?;
            tensors.push(TensorShard::whole(name, state));
        }
    }
    for (key, tensor) in &checkpoint.engine.tensors {
        tensors.push(TensorShard::whole(format!("engine/{key}"), tensor.shallow_clone()));
    }
    for series in &checkpoint.state.events {
        let name = format!("events/{}", series.name);
        let values = samples(&series.values);
        let values = values.map_err(|e| RunDirError::tensor("save", &name, &e))?;
        tensors.push(TensorShard::whole(name, values));
    }
    Ok(tensors)
}

/// A row for each value: iteration, samples, value.
#[expect(clippy::cast_precision_loss, reason = "counters of a run stay far below 2^53")]
fn samples(samples: &[Sample]) -> Result<Tensor, tch::TchError> {
    let rows = samples.iter().flat_map(|s| [s.iter as f64, s.samples as f64, s.value]);
    let count = i64::try_from(samples.len()).unwrap_or(i64::MAX);
    Tensor::f_from_slice(&rows.collect::<Vec<f64>>())?.f_view([count, 3])
}

fn values(state: &SavedState) -> Json {
    let values = state.values.iter().map(|(key, value)| (key.clone(), to_json(value)));
    values.collect::<Map<_, _>>().into()
}

fn state(checkpoint: &Captured) -> Vec<u8> {
    let mut json = serde_json::to_value(&checkpoint.state).unwrap_or_default();
    let hooks = checkpoint.hooks.iter().map(|(hook, state)| (hook.clone(), values(state)));
    json["engine"] = values(&checkpoint.engine);
    json["hooks"] = hooks.collect::<Map<_, _>>().into();
    serde_json::to_vec_pretty(&json).unwrap_or_default()
}
