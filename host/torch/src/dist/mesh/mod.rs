//! A connection between every two ranks, for a few numbers of each: what the loop exchanges in every iteration.
//!
//! Such messages cost latency, not bandwidth. Gloo sends and receives on a thread of its own, which competes with the training thread for
//! a core and for the lock of each connection. Here the training thread writes to the sockets and reads from them itself, and may compute
//! between the two.

mod connect;
mod interface;
mod peer;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::activity::{Activity, Collective};
use super::group::Member;
use super::store::Store;
use crate::{Result, TorchError};
use peer::Peer;

/// Connections to all other ranks. Every rank must start the same exchanges in the same order.
#[derive(Debug)]
pub struct Mesh {
    name: &'static str,
    timeout: Duration,
    activity: Arc<Activity>,
    // By rank; `None` for this one.
    peers: RefCell<Vec<Option<Peer>>>,
    started: Cell<u32>,
}

/// Numbers of all ranks that are on their way.
#[derive(Debug)]
#[must_use = "the numbers are there after `Mesh::finish`"]
pub struct Gathering<T> {
    exchange: u32,
    own: Vec<T>,
}

/// A number that ranks exchange.
pub trait Number: Copy {
    /// Its bytes.
    fn to_bytes(self) -> [u8; 8];

    /// The number that has these bytes.
    fn from_bytes(bytes: [u8; 8]) -> Self;
}

impl Number for f64 {
    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }
}

impl Number for i64 {
    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }
}

impl Mesh {
    /// Connects to all other ranks, whose addresses are in the store. A collective is reported as one of group `name`.
    ///
    /// # Errors
    /// A rank does not connect within the timeout, or an address is not one of its machine.
    pub fn join(store: &Store, member: &Member, name: &'static str) -> Result<Self> {
        let peers = connect::connect(&store.below(&format!("mesh/{name}"))?, member)?;
        Ok(Self {
            name,
            timeout: member.timeout,
            activity: Arc::clone(&member.activity),
            peers: RefCell::new(peers),
            started: Cell::new(0),
        })
    }

    /// The numbers of every rank, in the order of ranks. All ranks must pass the same number of them.
    ///
    /// # Errors
    /// Another rank has failed, or does not join within the timeout.
    pub fn gather<T: Number>(&self, own: &[T]) -> Result<Vec<T>> {
        let started = self.start(own)?;
        self.finish(started)
    }

    /// Starts what [`gather`](Self::gather) does. Several exchanges may be on their way, and may be finished in any order.
    ///
    /// # Errors
    /// Another rank has failed.
    pub fn start<T: Number>(&self, own: &[T]) -> Result<Gathering<T>> {
        let exchange = self.started.get();
        self.started.set(exchange.wrapping_add(1));
        let message = peer::message(exchange, own.iter().map(|number| number.to_bytes()));
        let deadline = Instant::now() + self.timeout;
        let mut peers = self.peers.borrow_mut();
        peers.iter_mut().flatten().try_for_each(|peer| peer.send(&message, deadline))?;
        Ok(Gathering { exchange, own: own.to_vec() })
    }

    /// Waits for the numbers of all ranks.
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    pub fn finish<T: Number>(&self, started: Gathering<T>) -> Result<Vec<T>> {
        self.activity.during(Collective { name: "all_gather", group: self.name }, || {
            let Gathering { exchange, own } = started;
            let deadline = Instant::now() + self.timeout;
            let mut peers = self.peers.borrow_mut();
            let mut all = Vec::with_capacity(peers.len() * own.len());
            for peer in peers.iter_mut() {
                match peer {
                    Some(peer) => all.extend(numbers::<T>(peer, exchange, own.len(), deadline)?),
                    None => all.extend_from_slice(&own),
                }
            }
            Ok(all)
        })
    }
}

/// The numbers of one rank.
fn numbers<T: Number>(
    peer: &mut Peer,
    exchange: u32,
    count: usize,
    deadline: Instant,
) -> Result<impl Iterator<Item = T>> {
    let bytes = peer.receive(exchange, deadline)?;
    if bytes.len() != count * 8 {
        let (got, rank) = (bytes.len() / 8, peer.rank());
        let why = format!("it sent {got} numbers instead of {count}: the ranks are out of step");
        return Err(TorchError::of_peer(rank, why));
    }
    Ok((0..count).map(move |index| {
        let mut number = [0; 8];
        number.copy_from_slice(&bytes[index * 8..][..8]);
        T::from_bytes(number)
    }))
}

#[cfg(test)]
mod tests;
