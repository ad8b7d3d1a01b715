//! Collectives of hooks: the ranks meet before each, so that one whose hook has failed is not waited for.
//!
//! A hook that fails on one rank under `disable` or `warn` may leave others in a collective of its own. That rank leaves a note; who
//! waits finds it, and the hook fails there too. A meeting that was given up still has a number on that rank: the others see that
//! they are not of one mind, and try again with the next.

use super::World;
use crate::torch::TorchError;
use crate::torch::dist::Reduction;
use hookrack_plugin_api::Point;
use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;
use tch::Tensor;

/// How long a rank waits before it looks whether another has failed.
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

/// A call that failed on a rank, which trains on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FailedCall {
    call: HookCall,
    // The hook is not called again.
    is_last: bool,
    why: String,
}

impl FailedCall {
    /// Whether a rank that is in `call` waits in vain.
    fn ends(&self, call: &HookCall) -> bool {
        self.call == *call || (self.is_last && self.call.hook == call.hook)
    }
}

/// Why a collective of a hook did not take place.
#[derive(Debug)]
pub enum NotMet {
    /// A rank is gone.
    Peer(TorchError),
    /// The ranks do not call the same.
    Apart(String),
}

impl World {
    /// Waits until every rank is in the same collective of the same hook.
    ///
    /// # Errors
    /// A rank is gone, or the hook has failed on another one, or ranks are in different hooks.
    pub fn meet_in(&self, call: &HookCall, collective: &str) -> Result<(), NotMet> {
        loop {
            if self.are_of_one_mind(call, collective)? {
                return Ok(());
            }
            let failed = self.failed_calls();
            if let Some(apart) = told(&failed, call) {
                return Err(NotMet::Apart(apart));
            }
            // Somebody has given a meeting up; without a failure nobody has.
            if failed.iter().all(|(_, calls)| calls.is_empty()) {
                return Err(NotMet::Apart(format!(
                    "another rank is not in {collective} of this hook: every rank must make the same calls at the same points"
                )));
            }
        }
    }

    /// Whether all ranks are in the same collective. An error once the hook is known to have failed on another rank.
    fn are_of_one_mind(&self, call: &HookCall, collective: &str) -> Result<bool, NotMet> {
        let own = mark(call, collective);
        let marks = Tensor::f_from_slice(&[own, -own]).map_err(|it| NotMet::Peer(it.into()))?;
        self.meetings.set(self.meetings.get() + 1);
        let started = self.with(|groups| groups.hooks.all_reduce_start(&marks, Reduction::Max));
        let meeting = started.map_err(NotMet::Peer)?;
        while !meeting.wait_for(PATIENCE).map_err(NotMet::Peer)? {
            if let Some(apart) = told(&self.failed_calls(), call) {
                return Err(NotMet::Apart(apart));
            }
        }
        let marks: Vec<i64> =
            Vec::try_from(marks).map_err(|it: tch::TchError| NotMet::Peer(it.into()))?;
        Ok(marks == [own, -own])
    }

    /// How many meetings this rank has had or given up.
    pub fn meetings(&self) -> i64 {
        self.meetings.get()
    }

    /// Makes up for meetings that other ranks had without this one, of which the furthest has had `count`.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn catch_up(&self, count: i64) -> Result<(), TorchError> {
        while self.meetings.get() < count {
            self.meetings.set(self.meetings.get() + 1);
            let nothing = Tensor::f_from_slice(&[i64::MIN, i64::MIN])?;
            self.with(|groups| groups.hooks.all_reduce(&nothing, Reduction::Max))?;
        }
        Ok(())
    }

    /// Tells the others that a call has failed, and that this rank trains on.
    pub fn tell_failed_call(&self, hook: &str, point: Point, iter: u64, is_last: bool, why: &str) {
        let call = HookCall { hook: hook.to_owned(), point: point.code(), iter };
        let mut failed = self.failed.borrow_mut();
        failed.retain(|it| it.is_last || it.call.iter == iter);
        failed.push(FailedCall { call, is_last, why: why.to_owned() });
        let note = serde_json::to_vec(&*failed).unwrap_or_default();
        if let Err(error) = self.leave_note(&key(self.ranks.rank), &note) {
            tracing::debug!("the other ranks could not be told: {error}");
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

/// In words, who does not come to a collective of this call.
fn told(failed: &[(usize, Vec<FailedCall>)], call: &HookCall) -> Option<String> {
    failed.iter().find_map(|(rank, calls)| {
        let found = calls.iter().find(|failed| failed.ends(call))?;
        Some(format!("it has failed on rank {rank}: {}", found.why))
    })
}

/// A number for a collective of a call, the same on all ranks.
fn mark(call: &HookCall, collective: &str) -> i64 {
    let mut hasher = DefaultHasher::new();
    (&call.hook, call.point, call.iter, collective).hash(&mut hasher);
    // Without a sign, so that it can be negated.
    i64::try_from(hasher.finish() >> 1).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(hook: &str, iter: u64) -> HookCall {
        HookCall { hook: hook.to_owned(), point: 7, iter }
    }

    #[test]
    fn a_call_that_failed_is_waited_for_in_vain_and_so_is_every_call_after_the_last() {
        let failed = |is_last| FailedCall { call: call("a", 3), is_last, why: "no".to_owned() };
        for (is_last, waits) in [(false, call("a", 4)), (true, call("b", 3))] {
            assert!(!failed(is_last).ends(&waits));
        }
        for (is_last, waits) in [(false, call("a", 3)), (true, call("a", 4))] {
            assert!(failed(is_last).ends(&waits));
        }
    }
}
