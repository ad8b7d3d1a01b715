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
use crate::Result;
use peer::{Message, Peer};

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
#[derive(Debug, Clone, Copy)]
#[must_use = "the numbers are there after `Mesh::finish`"]
pub struct PendingNumbers<T, const N: usize> {
    exchange: u32,
    own: [T; N],
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

    /// Combines each number with those of the other ranks, in the order of ranks, so that all have the same result.
    ///
    /// # Errors
    /// Another rank has failed, or does not join within the timeout.
    pub fn reduce<T: Number, const N: usize>(
        &self,
        own: [T; N],
        combine: impl Fn(T, T) -> T,
    ) -> Result<[T; N]> {
        let started = self.start(own)?;
        self.finish(started, combine)
    }

    /// Starts what [`reduce`](Self::reduce) does. Several exchanges may be on their way, and may be finished in any order.
    ///
    /// # Errors
    /// Another rank has failed.
    pub fn start<T: Number, const N: usize>(&self, own: [T; N]) -> Result<PendingNumbers<T, N>> {
        let exchange = self.started.get();
        self.started.set(exchange.wrapping_add(1));
        let message = Message::new(exchange, own.map(Number::to_bytes));
        let deadline = Instant::now() + self.timeout;
        let mut peers = self.peers.borrow_mut();
        peers.iter_mut().flatten().try_for_each(|peer| peer.send(&message, deadline))?;
        Ok(PendingNumbers { exchange, own })
    }

    /// Waits for the numbers of all ranks.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub fn finish<T: Number, const N: usize>(
        &self,
        started: PendingNumbers<T, N>,
        combine: impl Fn(T, T) -> T,
    ) -> Result<[T; N]> {
        self.activity.during(Collective { name: "all_reduce", group: self.name }, || {
            let PendingNumbers { exchange, own } = started;
            let deadline = Instant::now() + self.timeout;
            let mut whole = None;
            for peer in self.peers.borrow_mut().iter_mut() {
                let numbers = match peer {
                    Some(peer) => peer.receive(exchange, deadline)?.map(T::from_bytes),
                    None => own,
                };
                whole = Some(match whole {
                    Some(whole) => combined(whole, numbers, &combine),
                    None => numbers,
                });
            }
            Ok(whole.unwrap_or(own))
        })
    }
}

fn combined<T: Copy, const N: usize>(
    one: [T; N],
    other: [T; N],
    combine: &impl Fn(T, T) -> T,
) -> [T; N] {
    std::array::from_fn(|index| combine(one[index], other[index]))
}

#[cfg(test)]
mod tests;
