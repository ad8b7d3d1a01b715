//! What `verify-resume` compares: everything of a run's last checkpoint, every value of `metrics.json`, and what each hook and
//! metric holds, as the live objects say it.

use super::exit::Failure;
use crate::engine::SavedState;
use crate::run::RunDirError;
use crate::run::checkpoint::{self, Checkpoint, name_of};
use crate::train::{Held, HeldKey, described};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use tch::Tensor;

/// When something was so; what went wrong first is told first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum When {
    Resumed,
    End,
}

/// The name of something that is compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fact {
    when: When,
    name: String,
}

impl fmt::Display for Fact {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = match self.when {
            When::Resumed => "right after the resume",
            When::End => "at the end",
        };
        write!(out, "{}, {when}", self.name)
    }
}

/// What is compared, as text.
#[derive(Default)]
pub(super) struct Facts(BTreeMap<Fact, String>);

impl Facts {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// What is not the same in both, or only in one.
    pub(super) fn differing(&self, other: &Self) -> Vec<Fact> {
        let names: BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        names.into_iter().filter(|name| self.0.get(*name) != other.0.get(*name)).cloned().collect()
    }

    fn put(&mut self, when: When, name: impl Into<String>, is: String) {
        self.0.insert(Fact { when, name: name.into() }, is);
    }

    fn hold(&mut self, when: When, keys: Vec<HeldKey>) {
        for HeldKey { hook, key, is } in keys {
            self.put(when, format!("hook {hook} {key}"), is);
        }
    }

    fn tensors(&mut self, part: &str, tensors: Vec<(String, Tensor)>) -> Result<(), RunDirError> {
        for (name, tensor) in tensors {
            self.put(When::End, format!("{part} {name}"), checkpoint::fingerprint(&tensor)?);
        }
        Ok(())
    }
}

/// What a run has come to at iteration `iter`, and what its hooks held on the way.
///
/// # Errors
/// The run left something else than it should, or its checkpoint is not what its hooks hold.
pub(super) fn facts(run: &Path, held: &Path, iter: u64) -> Result<Facts, Failure> {
    let path = run.join("checkpoints").join(name_of(iter));
    let Checkpoint { model, optimizer, engine, hooks, rng, facts } = checkpoint::read(&path)?;
    let held = read_held(held)?;
    compare_saved(&path, &hooks, &held.last)?;
    let mut all = Facts::default();
    all.hold(When::Resumed, held.there);
    all.hold(When::End, held.last);
    all.tensors("model", model)?;
    all.tensors("optimizer", optimizer)?;
    all.tensors("engine", engine.tensors.into_iter().collect())?;
    all.put(When::End, "engine", format!("{:?}", engine.values));
    all.put(When::End, "random numbers", format!("{rng:?}"));
    all.put(When::End, "position", format!("{:?}", facts.position));
    for reading in &facts.metrics {
        let name = format!("metric {} {}", reading.phase, reading.name);
        all.put(When::End, name, format!("{reading:?}"));
    }
    for series in &facts.events {
        all.put(When::End, format!("scalar {}", series.name), format!("{series:?}"));
    }
    scalars(run, &mut all)?;
    Ok(all)
}

fn read_held(path: &Path) -> Result<Held, RunDirError> {
    let bytes = std::fs::read(path).map_err(RunDirError::io("read", path))?;
    serde_json::from_slice(&bytes).map_err(|error| RunDirError::damaged(path, error.to_string()))
}

/// Refuses a checkpoint that does not give back what the hooks gave it.
fn compare_saved(
    checkpoint: &Path,
    saved: &BTreeMap<String, SavedState>,
    held: &[HeldKey],
) -> Result<(), Failure> {
    let saved: Vec<_> = saved.iter().flat_map(|(hook, state)| described(hook, state)).collect();
    let lost = held.iter().find(|key| !saved.contains(key));
    let Some(HeldKey { hook, key, .. }) =
        lost.or_else(|| saved.iter().find(|key| !held.contains(key)))
    else {
        return Ok(());
    };
    Err(Failure::training(format!(
        "{} does not contain what hook `{hook}` saved as `{key}`",
        checkpoint.display()
    )))
}

/// Every value of `metrics.json`, by name.
fn scalars(run: &Path, all: &mut Facts) -> Result<(), RunDirError> {
    let path = run.join("metrics.json");
    let text = std::fs::read_to_string(&path).map_err(RunDirError::io("read", &path))?;
    let mut series: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines() {
        let line: serde_json::Map<String, Json> = serde_json::from_str(line)
            .map_err(|error| RunDirError::damaged(&path, error.to_string()))?;
        for (name, value) in line {
            let row = series.entry(format!("metrics.json {name}")).or_default();
            row.push_str(&value.to_string());
            row.push(' ');
        }
    }
    for (name, row) in series {
        all.put(When::End, name, row);
    }
    Ok(())
}
