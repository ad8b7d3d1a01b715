//! The ranks of a run: connect, agree at the boundaries of the loop, and find out which one is missing.
//!
//! There are three process groups, so that their collectives do not interleave: one for the loop's agreement, one for the collectives
//! of hooks, and one for the engine's gradients.

mod heartbeat;
mod meet;
mod peers;
mod position;

pub use position::Position;

use crate::ranks::Ranks;
use crate::torch::TorchError;
use crate::torch::dist::{Backend, Group, Reduction, Store};
use heartbeat::Heartbeat;
use std::cell::{Cell, OnceCell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tch::Tensor;

/// The connection to the other ranks.
#[derive(Debug)]
pub struct World {
    ranks: Ranks,
    hosts: Vec<String>,
    timeout: Duration,
    store: Store,
    // The address of this rank for the others.
    host: String,
    // `None` once this rank has left.
    groups: RefCell<Option<Groups>>,
    heartbeat: RefCell<Option<Heartbeat>>,
    position: Arc<Position>,
    // Whether this rank has published how its run ended.
    has_told: Cell<bool>,
    // Where the logs of ranks are.
    folder: OnceCell<PathBuf>,
}

#[derive(Debug)]
struct Groups {
    control: Group,
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

    /// The position of this rank, which the others read.
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

    fn join(&self, name: &str, backend: Backend) -> Result<Group, TorchError> {
        let place = (self.ranks.rank, self.ranks.world);
        Group::join(&self.store, place, name, &self.host, backend, self.timeout)
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

    /// Sums a tensor over all ranks in place.
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
        let groups = groups.as_ref().ok_or_else(TorchError::left_the_ranks)?;
        act(groups)
    }

    /// Publishes a note for the other ranks.
    ///
    /// # Errors
    /// The store does not answer.
    pub fn leave_note(&self, key: &str, note: &[u8]) -> Result<(), TorchError> {
        self.store.set(&format!("note/{key}"), note)
    }

    /// Waits for a note.
    ///
    /// # Errors
    /// Nobody leaves it within the timeout.
    pub fn read_note(&self, key: &str) -> Result<Vec<u8>, TorchError> {
        self.store.wait_for(&format!("note/{key}"), self.timeout)
    }

    /// Leaves the others: a rank that waits for this one in a collective fails immediately.
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

    /// Leaves without waiting until the other ranks have finished. The rank that serves the store leaves last, so that the others can read
    /// from it why the run failed.
    pub fn leave(&self) {
        self.part();
        self.heartbeat.replace(None);
        let _ = self.store.set(&format!("done/{}", self.ranks.rank), b"");
        if self.ranks.is_main() && !self.ranks.agent_store {
            self.await_others();
        }
    }
}
