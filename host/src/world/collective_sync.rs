//! Collectives of hooks: the ranks synchronize before each one, so that none waits for a rank whose hook has failed.
//!
//! A hook that fails on one rank under `disable` or `warn` may leave other ranks waiting in a collective. The rank that failed leaves
//! a note; the waiting ranks find it, and the hook fails there too. An abandoned synchronization still counts on the rank that
//! abandoned it: the other ranks see a mismatch and retry.

use super::World;
use crate::torch::TorchError;
use crate::torch::dist::Reduction;
use hookrack_plugin_api::Point;
use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;
use tch::Tensor;

/// How often a waiting rank checks whether another one has failed.
const PATIENCE: Duration = Duration::from_millis(200);

/// A call of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookCall {
    /// The hook's name.
    pub hook: String,
    /// The code of the point at which it is called.
    pub point: u32,
    /// The iteration of training.
    pub iter: u64,
}

/// A call that failed on a rank that continues training.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FailedCall {
    call: HookCall,
    // The hook is not called again.
    is_last: bool,
    why: String,
}

impl FailedCall {
    /// Whether this rank will not take part in the collectives of `call`.
    fn ends(&self, call: &HookCall) -> bool {
        self.call == *call || (self.is_last && self.call.hook == call.hook)
    }
}

/// Why a collective of a hook did not take place.
#[derive(Debug)]
pub enum CollectiveError {
    /// Another rank failed or timed out.
    Peer(TorchError),
    /// The ranks do not make the same calls.
    Apart(String),
}

impl World {
    /// Waits until every rank is in the same collective of the same hook.
    ///
    /// # Errors
    /// Another rank failed or timed out, the hook has failed on another rank, or ranks are in different hooks.
    pub fn sync_collective(
        &self,
        call: &HookCall,
        collective: &str,
    ) -> Result<(), CollectiveError> {
        loop {
            if self.all_ready(call, collective)? {
                return Ok(());
            }
            let failed = self.failed_calls();
            if let Some(apart) = failed_elsewhere(&failed, call) {
                return Err(CollectiveError::Apart(apart));
            }
            // Only a rank whose hook failed abandons a synchronization.
            if failed.iter().all(|(_, calls)| calls.is_empty()) {
                return Err(CollectiveError::Apart(format!(
                    "another rank is not in {collective} of this hook: every rank must make the same calls at the same points"
                )));
            }
        }
    }

    /// Whether all ranks are in the same collective.
    ///
    /// # Errors
    /// The hook has failed on another rank.
    fn all_ready(&self, call: &HookCall, collective: &str) -> Result<bool, CollectiveError> {
        let own = mark(call, collective);
        let marks =
            Tensor::f_from_slice(&[own, -own]).map_err(|it| CollectiveError::Peer(it.into()))?;
        self.sync_count.set(self.sync_count.get() + 1);
        let started = self.with(|groups| groups.hooks.all_reduce_start(&marks, Reduction::Max));
        let meeting = started.map_err(CollectiveError::Peer)?;
        while !meeting.wait_for(PATIENCE).map_err(CollectiveError::Peer)? {
            if let Some(apart) = failed_elsewhere(&self.failed_calls(), call) {
                return Err(CollectiveError::Apart(apart));
            }
        }
        let marks: Vec<i64> =
            Vec::try_from(marks).map_err(|it: tch::TchError| CollectiveError::Peer(it.into()))?;
        Ok(marks == [own, -own])
    }

    /// The number of synchronizations that this rank has completed or abandoned.
    pub fn sync_count(&self) -> i64 {
        self.sync_count.get()
    }

    /// Joins the synchronizations that other ranks started without this one, up to number `count`.
    pub fn catch_up(&self, count: i64) -> Result<(), TorchError> {
        while self.sync_count.get() < count {
            self.sync_count.set(self.sync_count.get() + 1);
            let nothing = Tensor::f_from_slice(&[i64::MIN, i64::MIN])?;
            self.with(|groups| groups.hooks.all_reduce(&nothing, Reduction::Max))?;
        }
        Ok(())
    }

    /// Reports to the other ranks that a call has failed and that this rank continues training.
    pub fn report_failed_call(
        &self,
        hook: &str,
        point: Point,
        iter: u64,
        is_last: bool,
        why: &str,
    ) {
        let call = HookCall { hook: hook.to_owned(), point: point.code(), iter };
        let mut failed = self.failed.borrow_mut();
        failed.retain(|it| it.is_last || it.call.iter == iter);
        failed.push(FailedCall { call, is_last, why: why.to_owned() });
        let note = serde_json::to_vec(&*failed).unwrap_or_default();
        if let Err(error) = self.leave_note(&key(self.ranks.rank), &note) {
            tracing::debug!("could not report the failed hook to the other ranks: {error}");
        }
    }

    /// The calls that have failed on other ranks.
    fn failed_calls(&self) -> Vec<(usize, Vec<FailedCall>)> {
        let others = (0..self.ranks.world).filter(|rank| *rank != self.ranks.rank);
        let read = |rank| {
            let note = self.find_note(&key(rank)).ok().flatten();
            let calls = note.and_then(|note| serde_json::from_slice(&note).ok());
            (rank, calls.unwrap_or_default())
        };
        others.map(read).collect()
    }
}

fn key(rank: usize) -> String {
    format!("failed_calls/{rank}")
}

/// The message if another rank will not take part in the collectives of this call.
fn failed_elsewhere(failed: &[(usize, Vec<FailedCall>)], call: &HookCall) -> Option<String> {
    failed.iter().find_map(|(rank, calls)| {
        let found = calls.iter().find(|failed| failed.ends(call))?;
        Some(format!("it has failed on rank {rank}: {}", found.why))
    })
}

/// A hash of a collective of a call, the same on all ranks.
fn mark(call: &HookCall, collective: &str) -> i64 {
    let mut hasher = DefaultHasher::new();
    (&call.hook, call.point, call.iter, collective).hash(&mut hasher);
    // Non-negative, so that it can be negated.
    i64::try_from(hasher.finish() >> 1).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(hook: &str, iter: u64) -> HookCall {
        HookCall { hook: hook.to_owned(), point: 7, iter }
    }

    #[test]
    fn a_failed_call_is_not_waited_for_and_neither_is_any_call_of_a_disabled_hook() {
        let failed = |is_last| FailedCall { call: call("a", 3), is_last, why: "no".to_owned() };
        for (is_last, waits) in [(false, call("a", 4)), (true, call("b", 3))] {
            assert!(!failed(is_last).ends(&waits));
        }
        for (is_last, waits) in [(false, call("a", 3)), (true, call("a", 4))] {
            assert!(failed(is_last).ends(&waits));
        }
    }
}
