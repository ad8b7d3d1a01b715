//! The parts of the loop around its points: micro-batches, validation and checkpoint slots, beginnings and ends.

use super::ending::Ending;
use super::error::TrainError;
use super::fit::{Result, Trainer};
use crate::engine::EngineError;
use crate::plugins::gather;
use crate::run::RunDirError;
use crate::run::checkpoint::{self, Checkpoint, Position};
use crate::torch::autograd::GradMode;
use hookrack_plugin_api::abi::{SLOT_LOSS, SLOT_OUTPUT};
use hookrack_plugin_api::{Phase, Point as P};
use tch::Tensor;

/// Micro-batches.
impl Trainer {
    /// Puts a micro-batch into the slots.
    pub(super) fn select(&mut self, micro: usize) -> Result<()> {
        let part = self.micros[micro];
        self.context.micro_weight.set(part.weight);
        if self.micros.len() == 1 {
            return Ok(());
        }
        if micro > 0 {
            self.keep_output()?;
        }
        let Some(batch) = &self.batch else { return Ok(()) };
        let batch = self.step(batch.narrow(part.start, part.rows))?;
        self.context.set_batch(batch.input, Some(batch.label));
        self.context.advance(|p| p.micro = u32::try_from(micro).unwrap_or(u32::MAX));
        Ok(())
    }

    fn keep_output(&mut self) -> Result<()> {
        let kept = {
            let current = self.context.current.borrow();
            current.tensor(SLOT_OUTPUT).map(Tensor::f_detach).transpose().map_err(EngineError::from)
        };
        self.outputs.extend(self.step(kept)?);
        Ok(())
    }

    /// After the last micro-batch: the slots hold the whole batch again, the gradients are clipped.
    pub(super) fn gather(&mut self) -> Result<()> {
        if self.micros.len() > 1 {
            self.keep_output()?;
            let whole = self.whole_batch();
            self.step(whole)?;
        }
        let clipped = self.context.finish_gradients();
        self.step(clipped)
    }

    fn whole_batch(&mut self) -> std::result::Result<(), EngineError> {
        let Some(batch) = &self.batch else { return Ok(()) };
        let output = Tensor::f_cat(&self.outputs, 0)?;
        self.outputs.clear();
        let loss = self.context.engine.borrow().loss(&output, &batch.label)?;
        self.context.set_batch(batch.input.shallow_clone(), Some(batch.label.shallow_clone()));
        let mut current = self.context.current.borrow_mut();
        current.set(SLOT_OUTPUT, Some(output));
        current.set(SLOT_LOSS, Some(loss));
        Ok(())
    }
}

/// Slots.
impl Trainer {
    /// Validates, if somebody asked and there is something to validate on.
    pub(super) fn validate_if_asked(&mut self) -> Result<()> {
        let asked = std::mem::take(&mut self.context.requests.borrow_mut().validate);
        if asked && self.loaders.val.is_some() { self.pass(Phase::Val) } else { Ok(()) }
    }

    /// Writes a checkpoint, if somebody asked and the run leaves anything.
    pub(super) fn save_if_asked(&mut self) -> Result<()> {
        let asked = std::mem::take(&mut self.context.requests.borrow_mut().save);
        if asked { self.save() } else { Ok(()) }
    }

    pub(super) fn save_when_interrupted(&mut self) -> Result<()> {
        if self.interrupt.received().is_some() { self.save() } else { Ok(()) }
    }

    fn save(&mut self) -> Result<()> {
        let Some(folder) = self.run.as_ref().map(crate::run::RunDir::checkpoints) else {
            return Ok(());
        };
        self.fire(P::BeforeSaveCheckpoint)?;
        std::fs::create_dir_all(&folder).map_err(RunDirError::io("create", &folder))?;
        let checkpoint = self.checkpoint()?;
        let path = checkpoint::write(&folder, &checkpoint)?;
        tracing::info!(path = %path.display(), "checkpoint written");
        self.fire(P::AfterSaveCheckpoint)
    }

    /// Everything that a checkpoint keeps.
    fn checkpoint(&self) -> Result<Checkpoint> {
        let engine = self.context.engine.borrow();
        let pairs = |tensors: Vec<crate::engine::NamedTensor>| {
            tensors.into_iter().map(|named| (named.name, named.tensor)).collect()
        };
        let mut checkpoint = Checkpoint {
            model: pairs(engine.model_state()),
            optimizer: pairs(engine.optimizer().state()),
            position: Position::of(&self.context.progress.get(), engine.lr_position()),
            ..Checkpoint::default()
        };
        drop(engine);
        for attached in self.rack.hooks() {
            let name = &attached.seat.name;
            let state = gather(&self.context, |writer| attached.instance.save_state(writer))
                .map_err(|why| RunDirError::HookState { doing: "save", hook: name.clone(), why })?;
            if !state.is_empty() {
                checkpoint.hooks.insert(name.clone(), state);
            }
        }
        Ok(checkpoint)
    }
}

/// Beginnings and ends.
impl Trainer {
    /// Runs `body` between `before_run` and `after_run`, with every hook attached, and says how it ended.
    pub(super) fn run(&mut self, body: impl FnOnce(&mut Self) -> Result<()>) -> Ending {
        let _no_grad = GradMode::set(false);
        let begun = self.fire_all([P::OnAttach, P::BeforeRun]).and_then(|()| self.restore());
        let outcome = begun.and_then(|()| body(self));
        self.note_failure(outcome.as_ref().err());
        let outcome = self.close(P::AfterRun, outcome);
        let outcome = self.close(P::OnDetach, outcome);
        self.context.writers.borrow_mut().finish();
        self.ending(outcome)
    }

    fn ending(&self, outcome: Result<()>) -> Ending {
        match outcome {
            Err(error) => Ending::Failed(error),
            Ok(()) => match (self.interrupt.received(), self.context.requests.borrow().stopped()) {
                (Some(signal), _) => Ending::Interrupted(signal),
                (None, Some(stop)) => Ending::Stopped(stop.clone()),
                (None, None) => Ending::Completed,
            },
        }
    }

    /// Tells the hooks that something failed; only the first failure is told.
    pub(super) fn note_failure(&mut self, error: Option<&TrainError>) {
        let Some(error) = error else {
            let code = self.ending(Ok(())).outcome().code();
            self.context.advance(|p| p.outcome = code);
            return;
        };
        if !self.context.failure.borrow().is_empty() {
            return;
        }
        *self.context.failure.borrow_mut() = error.to_string();
        self.context.advance(|p| p.outcome = hookrack_plugin_api::Outcome::Failed.code());
        if let Err(later) = self.rack.fire_isolated(P::OnException) {
            tracing::error!("while handling the failure: {later}");
        }
        // What was in the middle of an iteration stays with it.
        self.batch = None;
        self.outputs.clear();
    }

    /// Calls every hook of a closing point, whatever fails. The first error of the run is never masked.
    pub(super) fn close(&mut self, point: P, outcome: Result<()>) -> Result<()> {
        match (outcome, self.rack.fire_isolated(point)) {
            (Ok(()), closed) => closed.map_err(TrainError::from),
            (Err(first), Ok(())) => Err(first),
            (Err(first), Err(later)) => {
                tracing::error!("after the failure: {later}");
                Err(first)
            }
        }
    }

    /// Whether a hook or a signal asked for an end.
    pub(super) fn is_stopping(&self) -> bool {
        self.interrupt.received().is_some() || self.context.requests.borrow().stopped().is_some()
    }

    /// Whether training is over: asked for, or all done.
    pub(super) fn is_over(&self) -> bool {
        let progress = self.context.progress.get();
        progress.iter >= progress.max_iters || self.is_stopping()
    }
}
