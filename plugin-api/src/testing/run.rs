//! Driving a fake trainer through passes and whole runs, in the order of the host's loop.

use super::FakeTrainer;
use crate::error::{Error, Result};
use crate::eval_pass::EvalPass;
use crate::phase::{Outcome, Phase};
use crate::point::Point as P;

/// Runs. Each returns the first failure, after the points that follow a failure in a real run, such as
/// `on_exception` and `after_run`. What was logged, requested and reached adds up over all runs of a trainer.
impl FakeTrainer {
    /// Trains from the first point to the last: `epochs` of `iters` iterations, a validation and a checkpoint
    /// after each. A requested stop ends the run; after a failure the same points follow as in a real run.
    ///
    /// `epochs` counts from the start of training: after a [`resume`](Self::resume) in epoch 2, or a `fit` of
    /// two epochs, `fit(3, …)` trains one more. The learning rate stays as it is, and the weights take plain
    /// steps of gradient descent. A stop that was requested stays requested.
    ///
    /// # Errors
    /// The first failure of a hook.
    pub fn fit(&mut self, epochs: u64, iters: u64) -> Result<()> {
        self.world.borrow().advance(|progress| {
            (progress.max_epochs, progress.max_iters) = (epochs, epochs * iters);
        });
        self.run(|t| t.train(epochs, iters))
    }

    /// Runs the test points over `iters` batches, as `hookrack eval` does.
    ///
    /// # Errors
    /// The first failure of a hook.
    pub fn test(&mut self, iters: u64) -> Result<()> {
        self.run(|t| t.pass(Phase::Test, iters))
    }

    /// Runs the prediction points over `iters` batches, as `hookrack predict` does. There is no label, and no
    /// loss.
    ///
    /// # Errors
    /// The first failure of a hook.
    pub fn predict(&mut self, iters: u64) -> Result<()> {
        self.run(|t| t.pass(Phase::Pred, iters))
    }

    /// Runs a validation on its own, outside of a run. Hooks are attached before, but `before_run` and
    /// `before_train` are not reached: fire them if the hook needs them.
    ///
    /// # Errors
    /// The first failure of a hook.
    pub fn validate(&mut self, iters: u64) -> Result<()> {
        self.attach()?;
        self.pass(Phase::Val, iters)
    }

    /// Runs a training iteration on its own, outside of a run. Hooks are attached before, as for
    /// [`validate`](Self::validate).
    ///
    /// # Errors
    /// The first failure of a hook.
    pub fn train_iter(&mut self) -> Result<()> {
        self.attach()?;
        self.iteration()
    }

    fn run(&mut self, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let begun = if self.has_begun {
            Ok(())
        } else {
            self.attach().and_then(|()| self.reach(P::BeforeRun))
        };
        let outcome = begun.and_then(|()| body(self));
        self.note_outcome(outcome.as_ref().err());
        let outcome = self.close(P::AfterRun, outcome);
        let outcome = self.close(P::OnDetach, outcome);
        (self.is_attached, self.has_begun) = (false, false);
        outcome
    }

    fn train(&mut self, epochs: u64, iters: u64) -> Result<()> {
        let outcome = self.reach(P::BeforeTrain).and_then(|()| self.epochs(epochs, iters));
        self.note_outcome(outcome.as_ref().err());
        let outcome = outcome.and_then(|()| {
            let iter = self.world.borrow().progress.get().iter;
            let is_saved = self.checkpoint.as_ref().is_some_and(|saved| saved.iter == iter);
            if self.is_stopping() && !is_saved { self.save() } else { Ok(()) }
        });
        self.note_outcome(outcome.as_ref().err());
        self.close(P::AfterTrain, outcome)
    }

    fn is_stopping(&self) -> bool {
        self.world.borrow().stop.is_some()
    }

    fn epochs(&mut self, epochs: u64, iters: u64) -> Result<()> {
        while self.world.borrow().progress.get().epoch < epochs && !self.is_stopping() {
            self.world.borrow().advance(|p| {
                (p.phase, p.epoch) = (Phase::Train.code(), p.epoch + 1);
                (p.inner_iter, p.inner_len) = (0, iters);
            });
            self.reach_all(&[P::BeforeEpoch, P::BeforeTrainEpoch])?;
            for done in 1..=iters {
                self.iteration()?;
                if self.is_stopping() && done < iters {
                    return Ok(());
                }
                if done < iters {
                    self.do_what_is_asked()?;
                }
            }
            self.reach_all(&[P::AfterTrainEpoch, P::AfterEpoch])?;
            if self.val_iters > 0 || self.is_validation_requested() {
                self.pass(Phase::Val, self.val_iters)?;
            }
            self.reach(P::AfterCycle)?;
            self.save()?;
        }
        Ok(())
    }

    /// Serves the requests of hooks in the middle of an epoch.
    fn do_what_is_asked(&mut self) -> Result<()> {
        if self.is_validation_requested() {
            self.pass(Phase::Val, self.val_iters)?;
        }
        if self.is_checkpoint_requested() { self.save() } else { Ok(()) }
    }

    fn iteration(&mut self) -> Result<()> {
        let micros = self.micro_batches;
        {
            let mut world = self.world.borrow_mut();
            world.advance(|p| {
                (p.phase, p.iter, p.inner_iter) =
                    (Phase::Train.code(), p.iter + 1, p.inner_iter + 1);
                (p.samples, p.micro, p.micros) = (p.samples + p.batch_size, 0, micros);
            });
            world.begin_iteration();
        }
        self.reach_all(&[P::BeforeIter, P::BeforeTrainIter])?;
        for micro in 0..micros {
            self.world.borrow().advance(|p| p.micro = micro);
            self.role(P::OnTrainForward)?;
            self.reach_all(&[P::AfterForward, P::BeforeBackward])?;
            self.role(P::OnIterBackward)?;
            self.reach(P::AfterBackward)?;
        }
        self.reach_all(&[P::BeforeClipGrad, P::BeforeOptimizerStep])?;
        self.role(P::OnOptimizerStep)?;
        self.reach(P::AfterOptimizerStep)?;
        self.role(P::OnLrAdjust)?;
        self.reach_all(&[P::AfterTrainIter, P::AfterIter])?;
        self.world.borrow_mut().end_iteration();
        Ok(())
    }

    /// A pass without training; the progress of training is restored afterwards.
    fn pass(&mut self, phase: Phase, iters: u64) -> Result<()> {
        let Some(pass) = EvalPass::of(phase) else { return Ok(()) };
        let before = self.world.borrow().progress.get();
        self.world.borrow_mut().wants_validation = false;
        self.world.borrow().advance(|p| {
            (p.phase, p.inner_iter, p.inner_len) = (phase.code(), 0, iters);
            (p.micro, p.micros) = (0, 1);
        });
        let outcome = self.reach_all(pass.enter).and_then(|()| {
            let outcome = self.reach_all(pass.begin).and_then(|()| self.batches(pass, iters));
            self.close(pass.close, outcome)?;
            self.reach_all(pass.leave)
        });
        self.world.borrow().advance(|p| {
            (p.phase, p.inner_iter, p.inner_len) =
                (before.phase, before.inner_iter, before.inner_len);
            (p.micro, p.micros) = (before.micro, before.micros);
        });
        outcome
    }

    fn batches(&mut self, pass: EvalPass, iters: u64) -> Result<()> {
        for _ in 0..iters {
            self.world.borrow().advance(|p| p.inner_iter += 1);
            self.world.borrow_mut().begin_iteration();
            self.reach_all(pass.before_iter)?;
            self.role(pass.forward)?;
            self.reach_all(pass.after_iter)?;
            self.world.borrow_mut().end_iteration();
        }
        self.reach_all(pass.end)
    }

    /// Sets the outcome of the run. Hooks learn of the first failure at `on_exception`.
    fn note_outcome(&mut self, error: Option<&Error>) {
        let Some(error) = error else {
            let stopped = self.is_stopping();
            let outcome = if stopped { Outcome::Stopped } else { Outcome::Completed };
            self.world.borrow().advance(|p| p.outcome = outcome.code());
            return;
        };
        if !self.world.borrow().failure.is_empty() {
            return;
        }
        let failed_point = self.reached.last().map_or(u32::MAX, |point| point.code());
        self.world.borrow_mut().failure = error.to_string();
        self.world.borrow().advance(|p| {
            (p.outcome, p.failed_point) = (Outcome::Failed.code(), failed_point);
        });
        // The first failure is returned; later ones are not what the test is about.
        let _ = self.close(P::OnException, Ok(()));
        self.world.borrow_mut().end_iteration();
    }
}
