//! The start and end of a run: what fires around it, however it ends. [`Point::fires_on`] has the table.

#[cfg(doc)]
use hookrack_plugin_api::Point;

use super::ending::Ending;
use super::error::TrainError;
use super::fit::{Result, Trainer};
use crate::dispatch::HookError;
use crate::first_failure::first_failure;
use crate::torch::autograd::GradMode;
use hookrack_plugin_api::{Outcome, Point as P};

impl Trainer {
    /// Runs `body` between `before_run` and `after_run`, with every hook attached, and returns how it ended.
    pub(super) fn run(&mut self, body: impl FnOnce(&mut Self) -> Result<()>) -> Ending {
        let _no_grad = GradMode::set(false);
        let begun = self.fire_all(&[P::OnAttach, P::BeforeRun]).and_then(|()| self.restore());
        let outcome = begun.and_then(|()| body(self));
        let outcome = self.note_failure(outcome);
        // Decided here: a signal that arrives during the closing points has no effect.
        let ending = self.ending_without_failure();
        let outcome = self.close(P::AfterRun, outcome);
        let outcome = self.close(P::OnDetach, outcome);
        let written = self.context.writers.borrow_mut().finish();
        let outcome = first_failure(outcome, written);
        let outcome = self.end_together(outcome);
        if outcome.is_ok() {
            self.gather_costs();
            self.gather_times();
        }
        self.leave_ranks(outcome.is_ok());
        outcome.map_or_else(Ending::Failed, |()| ending)
    }

    /// Attaches and detaches every hook, and nothing else; returns all failures, regardless of the error policies.
    pub fn try_attaching(&mut self) -> Vec<HookError> {
        let _no_grad = GradMode::set(false);
        let failures = self.rack.fire_each(P::OnAttach);
        failures.into_iter().chain(self.rack.fire_each(P::OnDetach)).collect()
    }

    fn ending_without_failure(&self) -> Ending {
        match (self.signal(), self.context.requests.borrow().stopped()) {
            (Some(signal), _) => Ending::Interrupted(signal),
            (None, Some(stop)) => Ending::Stopped(stop.clone()),
            (None, None) => Ending::Completed,
        }
    }

    /// Fires `on_exception`, for the first failure only. If another rank caused it, the returned error names that rank.
    pub(super) fn note_failure(&mut self, outcome: Result<()>) -> Result<()> {
        let Err(error) = outcome else {
            let outcome = self.ending_without_failure().outcome();
            self.context.advance(|p| p.outcome = Some(outcome));
            return Ok(());
        };
        if !self.context.failure.borrow().is_empty() {
            return Err(error);
        }
        let error = self.blame(error);
        self.note_error(&error);
        Err(error)
    }

    fn note_error(&mut self, error: &TrainError) {
        *self.context.failure.borrow_mut() = error.to_string();
        let point = match error {
            TrainError::Hook(error) => Some(error.point),
            TrainError::Step { .. } | TrainError::Files(_) | TrainError::Rank(_) => None,
        };
        self.context.advance(|p| (p.outcome, p.failed_point) = (Some(Outcome::Failed), point));
        if let Err(later) = self.rack.fire_isolated(P::OnException) {
            tracing::error!("while handling the failure: {later}");
        }
        // The state of an iteration in progress is discarded with it.
        self.iteration.discard();
    }

    /// Calls every hook of a closing point, even if one fails. The first error of the run is never masked.
    pub(super) fn close(&mut self, point: P, outcome: Result<()>) -> Result<()> {
        first_failure(outcome, self.rack.fire_isolated(point))
    }

    /// Whether a hook or a signal requested a stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.signal().is_some() || self.context.requests.borrow().stopped().is_some()
    }

    /// Whether the current epoch ends here, without its closing points: always after a signal, and after a hook's request unless the epoch
    /// is complete.
    pub(super) fn is_cut_short(&self) -> bool {
        let progress = self.context.progress.get();
        let is_whole = progress.inner_iter >= progress.inner_len;
        self.signal().is_some() || (self.is_stopping() && !is_whole)
    }

    /// Whether the iteration that is done is the last of its epoch, whose closing points follow.
    pub(super) fn closes_epoch(&self) -> bool {
        let progress = self.context.progress.get();
        let is_last =
            progress.inner_iter >= progress.inner_len || progress.iter >= progress.max_iters;
        is_last && !self.is_cut_short()
    }

    /// Whether training is over: stopped or complete.
    pub(super) fn is_over(&self) -> bool {
        let progress = self.context.progress.get();
        progress.iter >= progress.max_iters || self.is_stopping()
    }
}
