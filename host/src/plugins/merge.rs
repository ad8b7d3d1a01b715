//! A metric over all ranks: what each has gathered is exchanged and merged, in the order of ranks, so that all have the same.

use super::StateFailure;
use super::metric_object::MetricObject;
use super::state_io::{gather, give_back};
use crate::context::Context;
use crate::engine::{Piece, SavedState};
use crate::run::{from_json, safetensors_file, to_json};
use crate::world::World;
use hookrack_plugin_api::abi::HrStatus;
use serde_json::{Map, Value as Json};
use std::path::Path;

impl MetricObject {
    /// What the metrics of all ranks have gathered. Every rank calls it.
    pub(super) fn states(
        &self,
        context: &Context,
        world: &World,
    ) -> Result<Vec<SavedState>, String> {
        let own = gather(context, |writer| {
            // SAFETY: the object is alive, and the writer until the call returns.
            let status = self.call(|table, it| unsafe { (table.save_state)(it, writer) });
            self.endpoint.check(status).map_err(|why| StateFailure { panicked: false, why })
        });
        let bytes = to_bytes(&own.map_err(|failure| failure.why)?)?;
        let all = world.exchange(&bytes).map_err(|error| {
            if error.is_of_peers() { world.name_failure(&error) } else { error.to_string() }
        })?;
        all.iter().map(|bytes| from_bytes(bytes)).collect()
    }

    /// Forgets what it has gathered.
    pub(super) fn reset(&self) -> HrStatus {
        // SAFETY: the object was made by this table's `create` and is alive.
        self.call(|table, it| unsafe { (table.reset)(it) })
    }

    /// Adds what others have gathered.
    pub(super) fn merge(&self, context: &Context, states: &[SavedState]) -> Result<(), String> {
        states.iter().try_for_each(|state| {
            give_back(context, state, |reader| {
                // SAFETY: the object is alive, and the reader until the call returns.
                let merged = self.call(|table, it| unsafe { (table.merge)(it, reader) });
                self.endpoint.check(merged)
            })
        })
    }
}

/// A state on the wire: the length of its values, the values as JSON, its tensors as a safetensors file.
fn to_bytes(state: &SavedState) -> Result<Vec<u8>, String> {
    let values: Map<_, _> =
        state.values.iter().map(|(key, it)| (key.clone(), to_json(it))).collect();
    let values = serde_json::to_vec(&values).map_err(|error| error.to_string())?;
    let tensors = state.tensors.iter();
    let tensors: Vec<_> =
        tensors.map(|(key, it)| Piece::whole(key.clone(), it.shallow_clone())).collect();
    let mut file = Vec::new();
    safetensors_file::lay_out(&tensors, &mut file).map_err(|error| error.to_string())?;
    Ok([&(values.len() as u64).to_le_bytes(), values.as_slice(), &file].concat())
}

fn from_bytes(bytes: &[u8]) -> Result<SavedState, String> {
    let broken = || "the state of a metric arrived incomplete from another rank".to_owned();
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(broken)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| broken())?;
    let (values, file) = rest.split_at_checked(length).ok_or_else(broken)?;
    let values: Map<String, Json> = serde_json::from_slice(values).map_err(|_| broken())?;
    let values = values.into_iter().filter_map(|(key, it)| Some((key, from_json(&it)?))).collect();
    let tensors = safetensors_file::from_bytes(Path::new("a metric's state"), file);
    let tensors = tensors.map_err(|error| error.to_string())?.into_iter().collect();
    Ok(SavedState { values, tensors })
}
