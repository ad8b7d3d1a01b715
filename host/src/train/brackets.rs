//! The start and end of a run: what fires around it, however it ends. [`Point::fires_on`] has the table.

#[cfg(doc)]
use hookrack_plugin_api::Point;

use super::ending::Ending;
use super::error::TrainError;
use super::fit::{Result, Trainer};
use super::micro_batches::PartResults;
use crate::dispatch::HookError;
use crate::torch::autograd::GradMode;
use hookrack_plugin_api::{Outcome, Point as P};

/// The first of two failures; the later one goes to the log.
pub(super) fn first_failure(outcome: Result<()>, later: Result<()>) -> Result<()> {
    match (outcome, later) {
        (Ok(()), later) => later,
        (Err(first), Ok(())) => Err(first),
        (Err(first), Err(later)) => {
            tracing::error!("after the failure: {later}");
            Err(first)
        }
    }
}

impl Trainer {
    /// Runs `body` between `before_run` and `after_run`, with every hook attached, and returns how it ended.
    pub(super) fn run(&mut self, body: impl FnOnce(&mut Self) -> Result<()>) -> Ending {
        let _no_grad = GradMode::set(false);
        let begun = self.fire_all([P::OnAttach, P::BeforeRun]).and_then(|()| self.restore());
        let outcome = begun.and_then(|()| body(self));
        self.note_failure(outcome.as_ref().err());
        // Decided here: a signal that comes while hooks say good-bye changes nothing any more.
        let ending = self.ending_without_failure();
        let outcome = self.close(P::AfterRun, outcome);
        let outcome = self.close(P::OnDetach, outcome);
        let written = self.context.writers.borrow_mut().finish().map_err(TrainError::from);
        first_failure(outcome, written).map_or_else(Ending::Failed, |()| ending)
    }

    /// Attaches and detaches every hook, and nothing else; returns all failures, whatever the error policies.
    pub fn try_attaching(&mut self) -> Vec<HookError> {
        let _no_grad = GradMode::set(false);
        let failures = self.rack.fire_each(P::OnAttach);
        failures.into_iter().chain(self.rack.fire_each(P::OnDetach)).collect()
    }

    fn ending_without_failure(&self) -> Ending {
        match (self.interrupt.received(), self.context.requests.borrow().stopped()) {
            (Some(signal), _) => Ending::Interrupted(signal),
            (None, Some(stop)) => Ending::Stopped(stop.clone()),
            (None, None) => Ending::Completed,
        }
    }

    /// Fires `on_exception`; only for the first failure.
    pub(super) fn note_failure(&mut self, error: Option<&TrainError>) {
        let Some(error) = error else {
            let outcome = self.ending_without_failure().outcome();
            self.context.advance(|p| p.outcome = Some(outcome));
            return;
        };
        if !self.context.failure.borrow().is_empty() {
            return;
        }
        *self.context.failure.borrow_mut() = error.to_string();
        let point = match error {
            TrainError::Hook(error) => Some(error.point),
            TrainError::Step { .. } | TrainError::Files(_) => None,
        };
        self.context.advance(|p| (p.outcome, p.failed_point) = (Some(Outcome::Failed), point));
        if let Err(later) = self.rack.fire_isolated(P::OnException) {
            tracing::error!("while handling the failure: {later}");
        }
        // What was in the middle of an iteration stays with it.
        self.batch = None;
        self.parts = PartResults::default();
    }

    /// Calls every hook of a closing point, whatever fails. The first error of the run is never masked.
    pub(super) fn close(&mut self, point: P, outcome: Result<()>) -> Result<()> {
        first_failure(outcome, self.rack.fire_isolated(point).map_err(TrainError::from))
    }

    /// Whether a hook or a signal requested a stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.interrupt.received().is_some() || self.context.requests.borrow().stopped().is_some()
    }

    /// Whether the epoch in progress ends here, without its closing points: a signal does not wait for them, a hook's
    /// request only for an epoch that is whole.
    pub(super) fn is_cut_short(&self) -> bool {
        let progress = self.context.progress.get();
        let is_whole = progress.inner_iter >= progress.inner_len;
        self.interrupt.received().is_some() || (self.is_stopping() && !is_whole)
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
