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
pub(super) struct StateRecorder {
    at: u64,
    is_done: bool,
    recorded: RecordedState,
}

/// A state as text, key by key.
pub fn as_text(hook: &str, state: &SavedState) -> Vec<RecordedKey> {
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
    pub fn record_state_at(&mut self, at: u64) {
        self.state_recorder =
            Some(StateRecorder { at, is_done: false, recorded: RecordedState::default() });
    }

    /// The recorded state.
    pub fn recorded(&self) -> Option<&RecordedState> {
        self.state_recorder.as_ref().map(|recorder| &recorder.recorded)
    }

    /// Records the state of every hook and metric, if due.
    pub(super) fn record_state_if_due(&mut self) {
        let iter = self.context.progress.get().iter;
        let Some(recorder) = self
            .state_recorder
            .as_mut()
            .filter(|recorder| !recorder.is_done && recorder.at == iter)
        else {
            return;
        };
        recorder.is_done = true;
        for attached in self.rack.hooks().iter().filter(|attached| !attached.disabled) {
            let name = &attached.spec.name;
            match gather(&self.context, |writer| attached.instance.save_state(writer)) {
                Ok(state) => recorder.recorded.there.extend(as_text(name, &state)),
                Err(failure) => {
                    tracing::warn!("could not read the state of hook `{name}`: {}", failure.why);
                }
            }
        }
    }

    /// Records the state that hooks saved for a checkpoint.
    pub(super) fn record_saved<'a>(
        &mut self,
        states: impl Iterator<Item = (&'a String, &'a SavedState)>,
    ) {
        if let Some(recorder) = &mut self.state_recorder {
            recorder.recorded.last =
                states.flat_map(|(hook, state)| as_text(hook, state)).collect();
        }
    }
}
