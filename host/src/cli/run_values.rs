//! What `verify-resume` compares: everything in a run's last checkpoint, every value of `metrics.json`, and the state of
//! each hook and metric, as reported by the live objects.

use super::exit::Failure;
use crate::engine::SavedState;
use crate::run::checkpoint::{self, Checkpoint, name_of};
use crate::run::{RunDirError, json_file};
use crate::train::{RecordedKey, RecordedState, as_text};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use tch::Tensor;

/// When a value was recorded; the earliest difference is reported first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ComparedAt {
    Resumed,
    End,
}

/// The name of a compared value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ValueName {
    when: ComparedAt,
    name: String,
}

impl fmt::Display for ValueName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = match self.when {
            ComparedAt::Resumed => "right after the resume",
            ComparedAt::End => "at the end",
        };
        write!(out, "{}, {when}", self.name)
    }
}

/// The compared values, as text.
#[derive(Default)]
pub(super) struct RunValues(BTreeMap<ValueName, String>);

impl RunValues {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The values that differ, or exist in only one.
    pub(super) fn differing(&self, other: &Self) -> Vec<ValueName> {
        let names: BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        names.into_iter().filter(|name| self.0.get(*name) != other.0.get(*name)).cloned().collect()
    }

    fn put(&mut self, when: ComparedAt, name: impl Into<String>, is: String) {
        self.0.insert(ValueName { when, name: name.into() }, is);
    }

    fn hold(&mut self, when: ComparedAt, keys: Vec<RecordedKey>) {
        for RecordedKey { hook, key, is } in keys {
            self.put(when, format!("hook {hook} {key}"), is);
        }
    }

    fn tensors(&mut self, part: &str, tensors: Vec<(String, Tensor)>) -> Result<(), RunDirError> {
        for (name, tensor) in tensors {
            self.put(ComparedAt::End, format!("{part} {name}"), checkpoint::fingerprint(&tensor)?);
        }
        Ok(())
    }
}

/// The results of a run at iteration `iter`, and the state of its hooks.
///
/// # Errors
/// A file is missing or damaged, or the checkpoint does not match the state of the hooks.
pub(super) fn run_values(run: &Path, recorded: &Path, iter: u64) -> Result<RunValues, Failure> {
    let path = run.join("checkpoints").join(name_of(iter));
    let checkpoint = checkpoint::read(&path)?;
    let recorded: RecordedState = json_file::read(recorded)?;
    compare_saved(&path, &checkpoint.hook_states()?, &recorded.last)?;
    let Checkpoint { model, optimizer, engine, rng, rank_rng, state, .. } = checkpoint;
    let mut all = RunValues::default();
    all.hold(ComparedAt::Resumed, recorded.there);
    all.hold(ComparedAt::End, recorded.last);
    all.tensors("model", model.all()?)?;
    all.tensors("optimizer", optimizer.all()?)?;
    all.tensors("engine", engine.tensors.into_iter().collect())?;
    all.put(ComparedAt::End, "engine", format!("{:?}", engine.values));
    all.put(ComparedAt::End, "random numbers", format!("{rng:?} {rank_rng:?}"));
    all.put(ComparedAt::End, "position", format!("{:?}", state.position));
    for reading in &state.metrics {
        let name = format!("metric {} {}", reading.phase, reading.name);
        all.put(ComparedAt::End, name, format!("{reading:?}"));
    }
    for series in &state.events {
        all.put(ComparedAt::End, format!("scalar {}", series.name), format!("{series:?}"));
    }
    scalars(run, &mut all)?;
    Ok(all)
}

/// Fails if a checkpoint does not contain what the hooks saved.
fn compare_saved(
    checkpoint: &Path,
    saved: &BTreeMap<String, SavedState>,
    recorded: &[RecordedKey],
) -> Result<(), Failure> {
    let saved: Vec<_> = saved.iter().flat_map(|(hook, state)| as_text(hook, state)).collect();
    let lost = recorded.iter().find(|key| !saved.contains(key));
    let Some(RecordedKey { hook, key, .. }) =
        lost.or_else(|| saved.iter().find(|key| !recorded.contains(key)))
    else {
        return Ok(());
    };
    Err(Failure::training(format!(
        "{} does not contain what hook `{hook}` saved as `{key}`",
        checkpoint.display()
    )))
}

/// Every value of `metrics.json`, by name.
fn scalars(run: &Path, all: &mut RunValues) -> Result<(), RunDirError> {
    let path = run.join("metrics.json");
    let text = std::fs::read_to_string(&path).map_err(RunDirError::io("read", &path))?;
    let mut series: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines() {
        let line: BTreeMap<String, Json> = json_file::parse(&path, line.as_bytes())?;
        for (name, value) in line {
            let row = series.entry(format!("metrics.json {name}")).or_default();
            row.push_str(&value.to_string());
            row.push(' ');
        }
    }
    for (name, row) in series {
        all.put(ComparedAt::End, name, row);
    }
    Ok(())
}
