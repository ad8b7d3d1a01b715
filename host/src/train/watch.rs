//! Records the state of every hook and metric, from the live objects: at an iteration, and in the last checkpoint.
//!
//! `hookrack verify-resume` compares two runs with it. State is not saved twice for a checkpoint, and nothing is recorded
//! unless requested.

use super::fit::Trainer;
use crate::engine::SavedState;
use crate::plugins::gather;
use crate::run::checkpoint::fingerprint;
use crate::run::to_json;
use serde::{Deserialize, Serialize};

/// The recorded state of hooks and metrics.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RecordedState {
    /// After the requested iteration; in a run resumed there, right after the resume.
    pub there: Vec<RecordedKey>,
    /// When the last checkpoint was taken.
    pub last: Vec<RecordedKey>,
}

/// One value or tensor of a hook or metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedKey {
    /// The instance.
    pub hook: String,
    /// The key.
    pub key: String,
    /// The value, or type, shape and checksum of the tensor.
    pub is: String,
}

/// Records the state of hooks.
pub(super) struct Watch {
    at: u64,
    is_done: bool,
    held: RecordedState,
}

/// A state as text, key by key.
pub fn described(hook: &str, state: &SavedState) -> Vec<RecordedKey> {
    let line =
        |key: &str, is: String| RecordedKey { hook: hook.to_owned(), key: key.to_owned(), is };
    let values = state.values.iter().map(|(key, value)| line(key, to_json(value).to_string()));
    let tensors = state.tensors.iter().map(|(key, tensor)| {
        line(key, fingerprint(tensor).unwrap_or_else(|error| error.to_string()))
    });
    values.chain(tensors).collect()
}

impl Trainer {
    /// Records the state of hooks: after iteration `at`, and in the last checkpoint.
    pub fn watch(&mut self, at: u64) {
        self.watch = Some(Watch { at, is_done: false, held: RecordedState::default() });
    }

    /// The recorded state.
    pub fn held(&self) -> Option<&RecordedState> {
        self.watch.as_ref().map(|watch| &watch.held)
    }

    /// Records the state of every hook and metric, if due.
    pub(super) fn look(&mut self) {
        let iter = self.context.progress.get().iter;
        let Some(watch) = self.watch.as_mut().filter(|watch| !watch.is_done && watch.at == iter)
        else {
            return;
        };
        watch.is_done = true;
        for attached in self.rack.hooks().iter().filter(|attached| !attached.disabled) {
            let name = &attached.spec.name;
            match gather(&self.context, |writer| attached.instance.save_state(writer)) {
                Ok(state) => watch.held.there.extend(described(name, &state)),
                Err(failure) => {
                    tracing::warn!("could not read the state of hook `{name}`: {}", failure.why);
                }
            }
        }
    }

    /// Records the state that hooks saved for a checkpoint.
    pub(super) fn note_held<'a>(
        &mut self,
        states: impl Iterator<Item = (&'a String, &'a SavedState)>,
    ) {
        if let Some(watch) = &mut self.watch {
            watch.held.last = states.flat_map(|(hook, state)| described(hook, state)).collect();
        }
    }
}
