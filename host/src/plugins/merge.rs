//! A metric over all ranks: what each has gathered is exchanged and merged, in the order of the data, so that all have the same. A
//! failure on one rank is a failure on all.

use super::StateFailure;
use super::metric_object::MetricObject;
use super::state_io::{gather, give_back};
use crate::context::Context;
use crate::engine::{SavedState, TensorShard};
use crate::run::{from_json, safetensors_file, to_json};
use crate::world::World;
use hookrack_plugin_api::abi::{HrStatus, TrainerHandle};
use serde_json::{Map, Value as Json};
use std::path::Path;

/// What calls of a metric give.
pub(super) type Outcome<T> = Result<T, StateFailure>;

// How a message begins.
const STATES: u8 = 0;
const FAILED: u8 = 1;
const PANICKED: u8 = 2;

/// The messages of all ranks, in order; a failure if one of them failed. A collective: every rank calls it.
pub(super) fn exchange(world: &World, own: Outcome<Vec<u8>>) -> Outcome<Vec<Vec<u8>>> {
    let message = match &own {
        Ok(states) => [&[STATES], states.as_slice()].concat(),
        Err(it) => [&[if it.panicked { PANICKED } else { FAILED }], it.why.as_bytes()].concat(),
    };
    let all = world.exchange(&message).map_err(|error| {
        failed(if error.is_of_peers() { world.name_failure(&error) } else { error.to_string() })
    })?;
    own?;
    let read_message = |(rank, message): (usize, Vec<u8>)| match message.split_first() {
        Some((&STATES, states)) => Ok(states.to_vec()),
        Some((&code, why)) => Err(StateFailure {
            panicked: code == PANICKED,
            why: format!("on rank {rank}: {}", String::from_utf8_lossy(why)),
        }),
        None => Err(failed(broken())),
    };
    all.into_iter().enumerate().map(read_message).collect()
}

impl MetricObject {
    /// What it gathers from the batch alone, for the wire.
    pub(super) fn state_of_batch(
        &self,
        context: &Context,
        handle: &TrainerHandle,
    ) -> Outcome<Vec<u8>> {
        self.done(self.reset())?;
        // Only the last stage of a pipeline has an output to measure.
        if !context.is_elsewhere() {
            self.done(self.update(handle))?;
        }
        let state = gather(context, |writer| self.done(self.save(writer)))?;
        to_bytes(&state).map_err(failed)
    }

    /// Adds what a batch gave, wherever it was.
    pub(super) fn merge_batch(&self, context: &Context, state: &[u8]) -> Outcome<()> {
        let state = from_bytes(state).map_err(failed)?;
        let mut panicked = false;
        let merged = give_back(context, &state, |reader| {
            let status = self.merge(reader);
            panicked = status == HrStatus::PANIC;
            self.endpoint.check(status)
        });
        merged.map_err(|why| StateFailure { panicked, why })
    }

    /// What became of a call.
    pub(super) fn done(&self, status: HrStatus) -> Outcome<()> {
        let panicked = status == HrStatus::PANIC;
        self.endpoint.check(status).map_err(|why| StateFailure { panicked, why })
    }

    /// A failure, as that of the metric's own call.
    pub(super) fn status_of(&self, outcome: Outcome<()>) -> HrStatus {
        let Err(StateFailure { panicked, why }) = outcome else { return HrStatus::OK };
        self.endpoint.set_error(&why);
        if panicked { HrStatus::PANIC } else { HrStatus::ERROR }
    }
}

/// The states of batches of a pass on one rank, one after the other.
#[derive(Default)]
pub(super) struct BatchStates(Vec<u8>);

impl BatchStates {
    /// Takes that of the next batch.
    pub(super) fn push(&mut self, state: &[u8]) {
        self.0.extend((state.len() as u64).to_le_bytes());
        self.0.extend(state);
    }

    /// On the wire.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// The states in the messages of the ranks, in the order of the data: they took batches in turn.
pub(super) fn in_turn(messages: &[Vec<u8>]) -> Outcome<Vec<&[u8]>> {
    let mut rest: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    let mut states = Vec::new();
    while rest.iter().any(|rest| !rest.is_empty()) {
        for rest in rest.iter_mut().filter(|rest| !rest.is_empty()) {
            let (state, after) = split(rest).ok_or_else(|| failed(broken()))?;
            states.push(state);
            *rest = after;
        }
    }
    Ok(states)
}

/// What follows a length, and what follows that.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

fn failed(why: String) -> StateFailure {
    StateFailure { panicked: false, why }
}

fn broken() -> String {
    "the state of a metric arrived incomplete from another rank".to_owned()
}

/// A state on the wire: the length of its values, the values as JSON, its tensors as a safetensors file.
fn to_bytes(state: &SavedState) -> Result<Vec<u8>, String> {
    let values: Map<_, _> =
        state.values.iter().map(|(key, it)| (key.clone(), to_json(it))).collect();
    let values = serde_json::to_vec(&values).map_err(|error| error.to_string())?;
    let tensors = state.tensors.iter();
    let tensors: Vec<_> =
        tensors.map(|(key, it)| TensorShard::whole(key.clone(), it.shallow_clone())).collect();
    let mut file = Vec::new();
    safetensors_file::lay_out(&tensors, &mut file).map_err(|error| error.to_string())?;
    Ok([&(values.len() as u64).to_le_bytes(), values.as_slice(), &file].concat())
}

fn from_bytes(bytes: &[u8]) -> Result<SavedState, String> {
    let (values, file) = split(bytes).ok_or_else(broken)?;
    let values: Map<String, Json> = serde_json::from_slice(values).map_err(|_| broken())?;
    let values = values.into_iter().filter_map(|(key, it)| Some((key, from_json(&it)?))).collect();
    let tensors = safetensors_file::from_bytes(Path::new("a metric's state"), file);
    let tensors = tensors.map_err(|error| error.to_string())?.into_iter().collect();
    Ok(SavedState { values, tensors })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_batches_are_put_in_the_order_of_the_data() {
        let messages = |states: &[&[u8]]| {
            let mut all = BatchStates::default();
            for state in states {
                all.push(state);
            }
            all.into_bytes()
        };
        let messages =
            [messages(&[b"0", b"three", b"6"]), messages(&[b"one", b""]), messages(&[b"2", b"5"])];
        let found = in_turn(&messages).unwrap_or_default();
        let wanted: [&[u8]; 7] = [b"0", b"one", b"2", b"three", b"", b"5", b"6"];
        assert_eq!(found, wanted);
        assert!(in_turn(&[vec![9, 0]]).is_err());
    }
}
