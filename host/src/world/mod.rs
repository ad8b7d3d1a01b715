//! The ranks of a run as one: they meet, agree at boundaries, and name the one that is missing.
//!
//! Three process groups, so that nothing gets in the way of anything else: one for what the loop agrees on, one for the collectives
//! of hooks, and one that the engine sums gradients with.

mod meet;
mod network;
mod peers;
mod position;
mod store_client;

pub use position::Position;

use crate::ranks::Ranks;
use crate::torch::TorchError;
use crate::torch::dist::{Backend, Group, Member, Reduction, Store};
use std::cell::{Cell, OnceCell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use store_client::{PERIOD, StoreClient};
use tch::Tensor;

/// The other ranks, as long as this one is with them.
#[derive(Debug)]
pub struct World {
    ranks: Ranks,
    hosts: Vec<String>,
    // For joining groups; all else goes by the client, which never waits for long.
    store: Store,
    member: Member,
    // Gone once this rank has left.
    groups: RefCell<Option<Groups>>,
    client: RefCell<Option<StoreClient>>,
    position: Arc<Position>,
    // Whether this rank has said how its run ended.
    has_told: Cell<bool>,
    // Where the logs of ranks are.
    folder: OnceCell<PathBuf>,
}

#[derive(Debug)]
struct Groups {
    control: Group,
    hooks: Group,
}

/// Why ranks cannot train together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WorldError(pub(crate) String);

impl World {
    /// This process and the others.
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Notes where the logs of ranks are: what libtorch recorded of the last collectives goes there when one fails.
    pub fn keep_records_in(&self, folder: PathBuf) {
        let _ = self.folder.set(folder);
    }

    /// Where this rank is, for the others to read.
    pub fn position(&self) -> &Arc<Position> {
        &self.position
    }

    /// A group of all ranks, for the engine.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn gradient_group(&self, backend: Backend) -> Result<Group, TorchError> {
        self.join("gradients", backend)
    }

    fn join(&self, name: &'static str, backend: Backend) -> Result<Group, TorchError> {
        Group::join(&self.store, &self.member, name, backend)
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Store) -> Result<T, TorchError> + Send + 'static,
    ) -> Result<T, TorchError> {
        let client = self.client.borrow();
        client.as_ref().map_or_else(|| Err(parted()), |client| client.ask(question))
    }

    /// Replaces each number by its maximum over all ranks.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn agree<const N: usize>(&self, numbers: [i64; N]) -> Result<[i64; N], TorchError> {
        let tensor = Tensor::f_from_slice(&numbers)?;
        self.with(|groups| groups.control.all_reduce(&tensor, Reduction::Max))?;
        let agreed: Vec<i64> = Vec::try_from(tensor)?;
        Ok(std::array::from_fn(|index| agreed[index]))
    }

    /// The bytes of every rank, in the order of ranks.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn exchange(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TorchError> {
        self.with(|groups| groups.control.all_gather_bytes(bytes))
    }

    /// Sums a tensor over all ranks, in its place.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn sum(&self, tensor: &Tensor) -> Result<(), TorchError> {
        self.with(|groups| groups.control.all_reduce(tensor, Reduction::Sum))
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
        let groups = groups.as_ref().ok_or_else(parted)?;
        act(groups)
    }

    /// Lets the others read a note of this rank's.
    ///
    /// # Errors
    /// The store does not answer.
    pub fn leave_note(&self, key: &str, note: &[u8]) -> Result<(), TorchError> {
        let (key, note) = (format!("note/{key}"), note.to_owned());
        self.ask(move |store| store.set(&key, &note))
    }

    /// Waits for a note.
    ///
    /// # Errors
    /// Nobody leaves it within the timeout.
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

    /// Leaves the others: whoever waits for this rank in a collective fails at once.
    pub fn part(&self) {
        self.groups.replace(None);
    }

    /// Waits until every rank has finished, and leaves.
    pub fn finish(&self) {
        if let Err(error) = self.with(|groups| groups.control.barrier()) {
            tracing::debug!("at the end of the run: {error}");
        }
        self.leave();
    }

    /// Leaves without waiting for the run's end on other ranks. The rank that serves the store leaves last: the others read there
    /// why it failed.
    pub fn leave(&self) {
        self.part();
        let done = format!("done/{}", self.ranks.rank);
        let told = self.ask(move |store| store.set(&done, b""));
        if told.is_ok() && self.ranks.is_main() && !self.ranks.agent_store {
            self.await_others();
        }
        self.client.replace(None);
    }
}

fn parted() -> TorchError {
    TorchError::new("the ranks have parted")
}
