//! Restores a checkpoint.

use super::fit::{Result, Trainer};
use super::join::seed_of;
use super::length::{Standing, length};
use super::stage_states::StageParams;
use crate::engine::{Engine, EngineError, SavedTensors as _};
use crate::plugins::give_back;
use crate::run::checkpoint::{Checkpoint, CheckpointState, EpochStage, Position};
use crate::run::{RunDirError, from_json};
use crate::torch::rng::{self, RngState};
use hookrack_plugin_api::Point;
use tch::Kind;

/// The checkpoint that a run starts from.
pub struct Resume {
    /// Its contents.
    pub checkpoint: Checkpoint,
    /// Continue without a state that does not fit: that of a hook that rejects it, or of another optimizer.
    pub force: bool,
    /// Restore the optimizer too; passes without training do not step it.
    pub with_optimizer: bool,
}

impl Trainer {
    /// Makes the run start from a checkpoint.
    pub fn resume_from(&mut self, resume: Resume) {
        self.starting.resume = Some(resume);
    }

    /// Restores the checkpoint, if there is one, and fires the points around it.
    pub(super) fn restore(&mut self) -> Result<()> {
        let Some(resume) = self.starting.resume.take() else { return Ok(()) };
        if resume.with_optimizer {
            let measured = self.measure(&resume.checkpoint.state.position);
            self.locate(measured)?;
        }
        self.restore_engine(&resume).or_else(|why| self.refuse(&resume.checkpoint, why))?;
        let Resume { checkpoint, force, .. } = resume;
        self.restore_hooks(&checkpoint, force)?;
        let Checkpoint { rng, rank_rng, state, .. } = checkpoint;
        let world = state.provenance.world;
        self.restore_state(state);
        self.starting.rng = self.own_rng(world, rng, rank_rng);
        self.fire(Point::AfterLoadCheckpoint)?;
        self.record_state_if_due();
        Ok(())
    }

    /// The random state that this rank resumes with: its own if the number of ranks is the same, otherwise a new one, except on rank 0.
    fn own_rng(&self, world: u32, first: RngState, others: Vec<RngState>) -> Option<RngState> {
        let progress = self.context.progress.get();
        let Some(index) = progress.rank.checked_sub(1) else { return Some(first) };
        if world == progress.world {
            return others.into_iter().nth(index as usize);
        }
        rng::seed(seed_of(progress.seed, progress.iter, progress.rank));
        let device = self.context.engine.borrow().device();
        rng::state(device).ok()
    }

    /// Restores the random state and the work that the last iteration of the checkpoint still had to do. Runs after `before_train`, whose hooks
    /// may have drawn random numbers.
    pub(super) fn finish_resumed_iteration(&mut self) -> Result<()> {
        let Some(rng) = self.starting.rng.take() else { return Ok(()) };
        let device = self.context.engine.borrow().device();
        self.locate(rng::set_state(&rng, device))?;
        if self.epoch.stage == EpochStage::Iterations {
            let progress = self.context.progress.get();
            let inner_iter = progress.inner_iter;
            // A checkpoint that is taken here has the position in the data.
            self.loaders.train.begin(progress.epoch.saturating_sub(1), self.epoch.drawn);
            let inner_len = self.epoch_len(inner_iter, self.epoch.drawn);
            self.context.advance(|p| p.inner_len = inner_len);
            self.validate_within_epoch()?;
            self.save_if_requested()?;
        }
        Ok(())
    }

    /// Sets the length of the run from where it stands: epochs may be longer or shorter than when it began.
    fn measure(&self, position: &Position) -> std::result::Result<(), EngineError> {
        let Position { epoch, iter, inner_iter, drawn, stage, .. } = *position;
        let is_open = stage <= EpochStage::Iterations;
        let drawn = drawn.unwrap_or(inner_iter);
        let rest = if is_open { self.epoch_len(0, drawn) } else { 0 };
        let in_epoch = self.epoch_len(0, 0).max(1);
        let horizon = length(self.configured, in_epoch, Standing { epoch, iter, rest });
        self.context.advance(|p| (p.max_epochs, p.max_iters) = (horizon.epochs, horizon.iters));
        self.context.engine.borrow_mut().set_horizon(horizon)
    }

    fn restore_engine(&self, resume: &Resume) -> std::result::Result<(), EngineError> {
        let Checkpoint { model, optimizer, engine: saved, state, .. } = &resume.checkpoint;
        let mut engine = self.context.engine.borrow_mut();
        engine.load_model_state(model)?;
        // Only trainable parameters have state.
        engine.recall(saved)?;
        if resume.with_optimizer {
            match engine.load_optimizer_state(optimizer) {
                // A mismatch is found before anything is changed.
                Err(why @ EngineError::State { .. }) if resume.force => {
                    tracing::warn!("the optimizer starts without state: {why}");
                }
                loaded => loaded?,
            }
        }
        engine.set_lr_position(state.position.lr_position);
        engine.load_state(saved)?;
        let lr = engine.lr();
        drop(engine);
        self.context.advance(|p| p.lr = lr);
        Ok(())
    }

    /// The error of a checkpoint that could not be restored: one of another model names the files, others have a position.
    fn refuse(&self, checkpoint: &Checkpoint, why: EngineError) -> Result<()> {
        match why {
            EngineError::State { what, why } => {
                let path = checkpoint.model.folder().to_owned();
                Err(RunDirError::Misfit { path, why: format!("{what}: {why}") }.into())
            }
            why => self.locate(Err(why)),
        }
    }

    /// Reads the tensors of each hook's state that belong to this process, one hook after the other.
    fn restore_hooks(&mut self, checkpoint: &Checkpoint, force: bool) -> Result<()> {
        let without = &checkpoint.state.without;
        let params = StageParams::of(&self.context.engine.borrow());
        let kinds = kinds(&self.context.engine.borrow(), checkpoint);
        for attached in self.rack.hooks_mut() {
            let state = checkpoint.hook_state(&attached.spec.name, |key| params.wants(key))?;
            let Some(mut state) = state else {
                if without.contains(&attached.spec.name) {
                    let hook = &attached.spec.name;
                    tracing::warn!("hook `{hook}` starts without state: it could not save it");
                }
                continue;
            };
            let converted = params.convert(&mut state, kinds);
            let given = converted.and_then(|()| params.own_part(&state)).and_then(|state| {
                give_back(&self.context, &state, |reader| attached.instance.load_state(reader))
            });
            let hook = attached.spec.name.clone();
            match given {
                Ok(()) => {}
                Err(why) if force => tracing::warn!("hook `{hook}` starts without state: {why}"),
                Err(why) => return Err(RunDirError::StateRefused { hook, why }.into()),
            }
        }
        Ok(())
    }

    fn restore_state(&mut self, state: CheckpointState) {
        let position = state.position;
        let context = &self.context;
        context.advance(|p| {
            (p.epoch, p.iter, p.inner_iter) = (position.epoch, position.iter, position.inner_iter);
            p.samples = position.samples;
        });
        self.epoch.stage = position.stage;
        self.epoch.drawn = position.drawn.unwrap_or(position.inner_iter);
        self.saving.saved_at = Some(position.iter);
        let mut requests = context.requests.borrow_mut();
        requests.validate = position.validate;
        state.savers.iter().for_each(|who| requests.save(who));
        let mut events = context.events.borrow_mut();
        events.restore(&state.events);
        context.metrics.borrow_mut().restore(state.metrics, &mut events);
        let mut shared = context.states.borrow_mut();
        for (key, value) in &state.shared {
            // A value that a hook of this process has set is newer.
            if let (false, Some(value)) = (shared.contains_key(key), from_json(value)) {
                shared.insert(key.clone(), value);
            }
        }
    }
}

/// The type of parameters in a checkpoint, and in this run.
fn kinds(engine: &Engine, checkpoint: &Checkpoint) -> (Kind, Kind) {
    let now = engine.kind();
    let first = engine.params().iter().find(|param| param.tensor.numel() > 0);
    let saved = first.and_then(|param| checkpoint.model.elements(&param.name, 0..1).ok());
    (saved.map_or(now, |saved| saved.kind()), now)
}
