//! The trainer and its loop.

use super::ending::Ending;
use super::error::TrainError;
use super::interrupt::{Interrupt, Signal};
use super::limits::Limits;
use super::loaders::Loaders;
use super::micro_batches::Iteration;
use super::on_request::Saving;
use super::stage_clock::{Measured, StageClock};
use super::start::Starting;
use super::state_recorder::StateRecorder;
use crate::context::Context;
use crate::dispatch::{HookCost, Rack};
use crate::engine::lr::Horizon;
use crate::engine::schedule::{Action, MicroPart};
use crate::engine::{Engine, EngineError};
use crate::position;
use crate::run::RunDir;
use crate::run::checkpoint::EpochStage;
use crate::torch::autograd::GradMode;
use hookrack_plugin_api::{Phase, Point as P};
use serde_json::Value as Json;
use std::rc::Rc;
use std::time::Instant;

/// The result of every step of the loop.
pub(super) type Result<T> = std::result::Result<T, TrainError>;

/// Runs training, evaluation and prediction, and calls the hooks at every point.
pub struct Trainer {
    pub(super) context: Rc<Context>,
    pub(super) rack: Rack,
    pub(super) loaders: Loaders,
    pub(super) run: Option<RunDir>,
    pub(super) interrupt: Interrupt,
    // The signal that all ranks agreed on.
    pub(super) agreed: Option<Signal>,
    // The limits of the config, from which the length follows.
    pub(super) configured: Horizon,
    pub(super) limits: Limits,
    pub(super) starting: Starting,
    pub(super) epoch: EpochState,
    pub(super) iteration: Iteration,
    pub(super) saving: Saving,
    // The passes of a stage of a pipeline in time.
    pub(super) clock: StageClock,
    // The recorded state of hooks, for `verify-resume`.
    pub(super) state_recorder: Option<StateRecorder>,
    pub(super) results: Results,
}

/// Which parts of the current epoch are done, and how many of its batches were drawn.
pub(super) struct EpochState {
    pub(super) stage: EpochStage,
    pub(super) drawn: u64,
}

/// What a run leaves for its caller.
#[derive(Default)]
pub(super) struct Results {
    // The outputs of a prediction.
    pub(super) predictions: Vec<tch::Tensor>,
    // The cost of hooks on all ranks.
    pub(super) rank_costs: Option<Json>,
    // The passes of all stages of a pipeline.
    pub(super) measured: Option<Measured>,
}

impl Trainer {
    /// Trains. The whole loop is here; [`hookrack_plugin_api::point`] draws it.
    pub fn fit(&mut self) -> Ending {
        self.run(Self::train)
    }

    fn train(&mut self) -> Result<()> {
        let begun = self.fire(P::BeforeTrain).and_then(|()| self.load_if_requested());
        let begun = begun.and_then(|()| self.started());
        let outcome = begun.and_then(|()| self.epochs());
        let outcome = self.note_failure(outcome);
        let outcome = outcome.and_then(|()| self.save_when_cut_short());
        let outcome = self.finish_saving(outcome);
        // Saving may fail too, and hooks must know of a failure before `after_train`.
        let outcome = self.note_failure(outcome);
        let outcome = self.close(P::AfterTrain, outcome);
        outcome.and_then(|()| self.await_others())
    }

    fn epochs(&mut self) -> Result<()> {
        self.agree()?;
        self.finish_resumed_iteration()?;
        while self.begin_epoch() {
            if self.enter(EpochStage::Iterations) {
                self.fire_all(&[P::BeforeEpoch, P::BeforeTrainEpoch])?;
            }
            while self.fetch()? {
                self.fire_all(&[P::BeforeIter, P::BeforeTrainIter])?;
                self.weigh_batch()?;
                for action in self.begin_actions()?.iter() {
                    self.act(*action)?;
                }
                self.unscale()?;
                self.fire(P::BeforeClipGrad)?;
                self.clip()?;
                self.fire(P::BeforeOptimizerStep)?;
                self.role(P::OnOptimizerStep)?;
                self.fire(P::AfterOptimizerStep)?;
                self.adjust_lr(false)?;
                self.gather_losses()?;
                self.record_iter_time();
                self.fire_all(&[P::AfterTrainIter, P::AfterIter])?;
                self.release()?;
                self.agree()?;
                self.validate_within_epoch()?;
                self.save_if_requested()?;
            }
            if self.is_cut_short() {
                break;
            }
            if self.enter(EpochStage::Closed) {
                self.adjust_lr(true)?;
                self.fire_all(&[P::AfterTrainEpoch, P::AfterEpoch])?;
                self.agree()?;
            }
            self.validate_if_requested()?;
            if self.is_cut_short() {
                break;
            }
            self.context.pass_metric_to_schedule();
            self.fire(P::AfterCycle)?;
            self.enter(EpochStage::Done);
            self.agree()?;
            self.save_if_requested()?;
        }
        Ok(())
    }

    /// One action of the schedule: a pass of a micro-batch, a tensor sent or received, or the end of all micro-batches.
    fn act(&mut self, action: Action) -> Result<()> {
        self.begin_action(action);
        let done = match action {
            Action::Forward(part) => self.pass_forward(part),
            Action::Backward(part) => self.pass_backward(part),
            Action::Send(message) => self.with_engine(|engine| engine.send(message)),
            Action::Recv(message) => self.with_engine(|engine| engine.recv(message)),
            Action::Reduce => self.join_micro_batches(),
        };
        self.end_action(action);
        done
    }

    fn pass_forward(&mut self, part: MicroPart) -> Result<()> {
        self.before_forward(part)?;
        self.role(P::OnTrainForward)?;
        self.fire(P::AfterForward)
    }

    fn pass_backward(&mut self, part: MicroPart) -> Result<()> {
        self.before_backward(part);
        self.fire(P::BeforeBackward)?;
        self.role(P::OnIterBackward)?;
        self.fire(P::AfterBackward)?;
        self.after_backward(part)
    }

    /// Moves to the next epoch, or continues the one in which a checkpoint was taken; false after the last one.
    fn begin_epoch(&mut self) -> bool {
        let progress = self.context.progress.get();
        let is_open = self.epoch.stage != EpochStage::Done;
        if !is_open && (progress.epoch >= progress.max_epochs || self.is_over()) {
            return false;
        }
        let (epoch, inner_iter, drawn) = if is_open {
            (progress.epoch, progress.inner_iter, self.epoch.drawn)
        } else {
            (progress.epoch + 1, 0, 0)
        };
        let inner_len = self.epoch_len(inner_iter, drawn);
        // Epochs of the data count from 0.
        self.loaders.train.begin(epoch.saturating_sub(1), drawn);
        self.context.advance(|p| {
            (p.phase, p.epoch) = (Phase::Train, epoch);
            (p.inner_iter, p.inner_len) = (inner_iter, inner_len);
        });
        if !is_open {
            self.epoch.stage = EpochStage::Begun;
        }
        tracing::debug!("epoch {epoch} begins, {inner_iter} of {inner_len} iterations done");
        true
    }

    /// The number of iterations of an epoch, given the iterations done and the batches drawn so far.
    pub(super) fn epoch_len(&self, inner_iter: u64, drawn: u64) -> u64 {
        let left = self.loaders.train.batches().saturating_sub(drawn);
        inner_iter + left.div_ceil(self.iteration.group)
    }

    /// Enters a stage of the epoch; false if a resumed run had entered it before.
    fn enter(&mut self, stage: EpochStage) -> bool {
        let is_new = self.epoch.stage < stage;
        self.epoch.stage = self.epoch.stage.max(stage);
        is_new
    }

    /// Fetches the rows of the next iteration and splits them into micro-batches; false at the end of the epoch or of training.
    fn fetch(&mut self) -> Result<bool> {
        if self.context.world.get().is_none() {
            self.check_limits();
        }
        if self.epoch.stage > EpochStage::Iterations || self.is_over() {
            return Ok(false);
        }
        self.iteration.began = Instant::now();
        let Some(batch) = self.fetch_iteration()? else { return Ok(false) };
        let Iteration { rows, began, micros, .. } = &self.iteration;
        let (rows, data_time) = (rows.unsigned_abs(), began.elapsed().as_secs_f64());
        let micros = u32::try_from(micros.len()).unwrap_or(u32::MAX);
        self.context.advance(|p| {
            p.iter += 1;
            p.inner_iter += 1;
            p.samples += rows;
            (p.micro, p.micros, p.batch_size, p.data_time, p.iter_time) =
                (0, micros, rows, data_time, 0.0);
        });
        self.context.set_batch(batch.input.shallow_clone(), Some(batch.label.shallow_clone()));
        self.iteration.batch = Some(batch);
        position::at_iter(self.context.progress.get().iter);
        Ok(true)
    }

    /// Drops the batch and everything computed from it: nothing leaks into the next iteration.
    fn release(&mut self) -> Result<()> {
        self.iteration.batch = None;
        self.locate(self.context.end_iteration())
    }

    /// At the end of an iteration or of an epoch, whichever the schedule counts.
    fn adjust_lr(&mut self, is_epoch: bool) -> Result<()> {
        let is_due = self.context.engine.borrow().lr_by_epoch() == is_epoch;
        if is_due { self.role(P::OnLrAdjust) } else { Ok(()) }
    }

    fn record_iter_time(&self) {
        let seconds = self.iteration.began.elapsed().as_secs_f64();
        self.context.advance(|p| p.iter_time = seconds);
    }

    /// The cost of hooks so far.
    pub fn costs(&self) -> Vec<HookCost> {
        self.rack.costs()
    }

    /// What the run and its hooks share.
    pub fn context(&self) -> &Rc<Context> {
        &self.context
    }

    pub(super) fn fire(&mut self, point: P) -> Result<()> {
        Ok(self.rack.fire(point)?)
    }

    pub(super) fn fire_all(&mut self, points: &[P]) -> Result<()> {
        points.iter().try_for_each(|point| self.fire(*point))
    }

    /// Calls the hook of a role, with gradient recording on if the phase and the role need it.
    pub(super) fn role(&mut self, point: P) -> Result<()> {
        let _mode = GradMode::set(self.context.records_gradients(point));
        self.fire(point)
    }

    /// Runs a fallible call of the engine.
    pub(super) fn with_engine<T>(
        &self,
        act: impl FnOnce(&Engine) -> std::result::Result<T, EngineError>,
    ) -> Result<T> {
        self.locate(act(&self.context.engine.borrow()))
    }

    /// Adds epoch and iteration to an error of the engine or of libtorch.
    pub(super) fn locate<T, E: Into<EngineError>>(
        &self,
        result: std::result::Result<T, E>,
    ) -> Result<T> {
        located(&self.context, result)
    }
}

/// Adds epoch and iteration to an error of the engine or of libtorch.
pub(super) fn located<T, E: Into<EngineError>>(
    context: &Context,
    result: std::result::Result<T, E>,
) -> Result<T> {
    result.map_err(|why| {
        let progress = context.progress.get();
        TrainError::Step { epoch: progress.epoch, iter: progress.iter, why: why.into() }
    })
}
