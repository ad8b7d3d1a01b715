//! The position of a rank, as reported to the other ranks.

use crate::engine::schedule::Action;
use crate::position;
use crate::torch::dist::Activity;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

/// The position of a rank: where its training thread is, and the collective that it waits in.
#[derive(Debug, Default)]
pub(super) struct Position {
    // The current action of a pipeline stage.
    action: Mutex<Option<Action>>,
    activity: Arc<Activity>,
}

impl Position {
    /// Sets the current action of a pipeline stage; `None` after the last one of an iteration.
    pub(super) fn at_action(&self, action: Option<Action>) {
        *self.action.lock().unwrap_or_else(PoisonError::into_inner) = action;
    }

    /// The record of this rank's collectives.
    pub(super) fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// As text: iteration, point, hook, and the collective that it waits in.
    pub(super) fn describe(&self) -> String {
        let mut text = position::current().to_string();
        if let Some(action) = *self.action.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = write!(text, ", {action}");
        }
        if let Some(collective) = self.activity.current() {
            let _ = write!(text, ", {collective}");
        }
        text
    }
}
