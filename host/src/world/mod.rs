//! The ranks of a run: connect, agree at the boundaries of the loop, and find out which one is missing.
//!
//! Process groups are separate, so that their collectives do not interleave: one of all ranks for the loop's agreement, one for the
//! collectives of hooks; and those of the engine, for gradients, batch norms over ranks, and the stages of a pipeline.

mod collective_sync;
mod connect;
mod deadlines;
mod network;
mod peers;
mod position;
mod store_client;

pub use collective_sync::{CollectiveError, HookCall};

use crate::engine::data::Rank;
use crate::engine::schedule::Action;
use crate::ranks::Ranks;
use crate::torch::TorchError;
use crate::torch::dist::{Backend, Group, Member, Mesh, PendingNumbers, Store};
use collective_sync::FailedCall;
use deadlines::Deadlines;
use position::Position;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::{Cell, OnceCell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use store_client::{PERIOD, StoreClient};
use tch::{Device, Tensor};

/// The connection to the other ranks.
#[derive(Debug)]
pub struct World {
    ranks: Ranks,
    hosts: Vec<String>,
    // Only for joining groups; everything else uses the client, whose requests time out.
    store: Store,
    member: Member,
    deadlines: Deadlines,
    // `None` once this rank has left.
    groups: RefCell<Option<Groups>>,
    client: RefCell<Option<StoreClient>>,
    position: Arc<Position>,
    // Calls of hooks that failed here, and the number of synchronizations for collectives of hooks.
    failed: RefCell<Vec<FailedCall>>,
    sync_count: Cell<i64>,
    // Whether this rank has reported how its run ended.
    has_reported: Cell<bool>,
    // The rank that stopped responding or hangs, once it is known: nobody waits for it any more.
    blamed: Cell<Option<usize>>,
    // The failure of another rank, once a collective has met it.
    named: RefCell<Option<String>>,
    // The folder of the ranks' logs.
    folder: OnceCell<PathBuf>,
}

#[derive(Debug)]
struct Groups {
    control: Group,
    // Of the same ranks.
    mesh: Mesh,
    hooks: Group,
}

/// Why the ranks cannot train together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WorldError(pub(crate) String);

impl World {
    /// This process and the others.
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Sets the folder of the ranks' logs, where the flight recorder is dumped when a collective fails.
    pub fn keep_records_in(&self, folder: PathBuf) {
        let _ = self.folder.set(folder);
    }

    /// Notes what a stage of a pipeline does, for the other ranks; `None` after the last action of an iteration.
    pub fn at_action(&self, action: Option<Action>) {
        self.position.at_action(action);
    }

    /// A process group for the engine: the ranks that pass the same `number`, with `place` as their position in it.
    pub fn group(
        &self,
        name: &'static str,
        number: usize,
        place: Rank,
        backend: Backend,
    ) -> Result<Group, TorchError> {
        Group::join(&self.store.below(&number.to_string())?, &self.member(place), name, backend)
    }

    /// Connections for numbers between the same ranks.
    pub fn mesh(&self, name: &'static str, number: usize, place: Rank) -> Result<Mesh, TorchError> {
        Mesh::join(&self.store.below(&number.to_string())?, &self.member(place), name)
    }

    /// This process at a position in some of the ranks.
    fn member(&self, place: Rank) -> Member {
        let Member { network, timeout, activity, .. } = &self.member;
        Member {
            rank: place.rank,
            world: place.world,
            network: network.clone(),
            timeout: *timeout,
            activity: Arc::clone(activity),
        }
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Store) -> Result<T, TorchError> + Send + 'static,
    ) -> Result<T, TorchError> {
        let client = self.client.borrow();
        client
            .as_ref()
            .map_or_else(|| Err(TorchError::left_the_ranks()), |client| client.ask(question))
    }

    /// Replaces each number by its maximum over all ranks.
    pub fn agree<const N: usize>(&self, numbers: [i64; N]) -> Result<[i64; N], TorchError> {
        self.with(|groups| groups.mesh.reduce(numbers, i64::max))
    }

    /// The bytes of every rank, in the order of ranks.
    pub fn exchange(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TorchError> {
        self.with(|groups| groups.control.all_gather_bytes(bytes))
    }

    /// What every rank sends, in the order of ranks, as JSON.
    ///
    /// # Errors
    /// Another rank failed or timed out, or sent something else.
    pub fn exchange_json<S: Serialize, R: DeserializeOwned>(
        &self,
        own: &S,
    ) -> Result<Vec<R>, TorchError> {
        let failed = |error: serde_json::Error| TorchError::new(&error.to_string());
        let all = self.exchange(&serde_json::to_vec(own).map_err(failed)?)?;
        all.iter().map(|bytes| serde_json::from_slice(bytes).map_err(failed)).collect()
    }

    /// Starts to sum a number over all ranks.
    ///
    /// # Errors
    /// This rank has left the others.
    pub fn sum_start(&self, number: f64) -> Result<PendingNumbers<f64, 1>, TorchError> {
        self.with(|groups| groups.mesh.start([number]))
    }

    /// The sum of the numbers of all ranks.
    pub fn summed(&self, started: PendingNumbers<f64, 1>) -> Result<f64, TorchError> {
        let [sum] = self.with(|groups| groups.mesh.finish(started, |one, other| one + other))?;
        Ok(sum)
    }

    /// The group for collectives of hooks.
    ///
    /// # Errors
    /// This rank has left the others.
    pub fn for_hooks<T>(
        &self,
        collective: impl FnOnce(&Group) -> Result<T, TorchError>,
    ) -> Result<T, TorchError> {
        self.with(|groups| collective(&groups.hooks))
    }

    fn with<T>(&self, act: impl FnOnce(&Groups) -> Result<T, TorchError>) -> Result<T, TorchError> {
        let groups = self.groups.borrow();
        let groups = groups.as_ref().ok_or_else(TorchError::left_the_ranks)?;
        act(groups)
    }

    /// Publishes a note for the other ranks.
    pub fn leave_note(&self, key: &str, note: &[u8]) -> Result<(), TorchError> {
        let (key, note) = (format!("note/{key}"), note.to_owned());
        self.ask(move |store| store.set(&key, &note))
    }

    /// Waits for a note.
    ///
    /// # Errors
    /// No rank publishes it within the timeout.
    pub fn read_note(&self, key: &str) -> Result<Vec<u8>, TorchError> {
        let deadline = Instant::now() + self.member.timeout;
        let key = format!("note/{key}");
        loop {
            let asked = key.clone();
            if let Some(note) = self.ask(move |store| store.get(&asked))? {
                return Ok(note);
            }
            if Instant::now() > deadline {
                let seconds = self.member.timeout.as_secs();
                return Err(TorchError::new(&format!("TCPStore: no {key} within {seconds} s")));
            }
            thread::sleep(PERIOD / 50);
        }
    }

    /// A note, if a rank has published it.
    fn find_note(&self, key: &str) -> Result<Option<Vec<u8>>, TorchError> {
        let key = format!("note/{key}");
        self.ask(move |store| store.get(&key))
    }

    /// Waits until every rank is here.
    ///
    /// # Errors
    /// Another rank failed or timed out; the error names it.
    pub fn await_all(&self) -> Result<(), WorldError> {
        let met = self.with(|groups| groups.control.barrier());
        met.map_err(|error| WorldError(self.name_failure(&error)))
    }

    /// Leaves the process groups: a rank that waits for this one in a collective fails immediately.
    pub fn leave_groups(&self) {
        self.groups.replace(None);
    }

    /// Waits until every rank has finished, and leaves.
    pub fn finish(&self) {
        if let Err(error) = self.with(|groups| groups.control.barrier()) {
            tracing::debug!("at the end of the run: {error}");
        }
        self.leave();
    }

    /// Leaves without waiting until the other ranks have finished. The rank that serves the store leaves last, so that the others can read
    /// from it why the run failed.
    pub fn leave(&self) {
        if self.check_out(b"").is_ok() && self.ranks.is_main() && !self.ranks.agent_store {
            self.await_others();
        }
        self.client.replace(None);
    }

    /// As [`leave`](Self::leave), with a message for the main rank, to which it returns those of all ranks: `None` for a rank that does not
    /// leave within a few seconds.
    pub fn leave_with(&self, message: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
        let told = self.check_out(message);
        let all = self.ranks.is_main().then(|| {
            if told.is_ok() {
                self.await_others();
            }
            let of_rank = |rank| {
                let found = self.ask(move |store| store.get(&done(rank))).ok().flatten();
                if rank == self.ranks.rank { Some(message.to_owned()) } else { found }
            };
            (0..self.ranks.world).map(of_rank).collect()
        });
        self.client.replace(None);
        all
    }

    fn check_out(&self, message: &[u8]) -> Result<(), TorchError> {
        self.leave_groups();
        let (key, message) = (done(self.ranks.rank), message.to_owned());
        self.ask(move |store| store.set(&key, &message))
    }
}

/// The key of a rank that has left.
fn done(rank: usize) -> String {
    format!("done/{rank}")
}

/// Runs a collective in place of a group that has tensors on the CPU only. One on another device is copied there and back, which waits for
/// the device.
///
/// # Errors
/// Those of the collective, and of the copies.
pub fn through_cpu(
    tensor: &Tensor,
    collective: impl FnOnce(&Tensor) -> Result<(), TorchError>,
) -> Result<(), TorchError> {
    if tensor.device() == Device::Cpu {
        return collective(tensor);
    }
    let copy = tensor.f_to_device(Device::Cpu)?;
    collective(&copy)?;
    let mut tensor = tensor.shallow_clone();
    Ok(tensor.f_copy_(&copy)?)
}
