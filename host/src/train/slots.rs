//! The slots of the loop in which validation and checkpoints happen, when somebody asked for them.

use super::fit::{Result, Trainer};
use crate::plugins::gather;
use crate::run::checkpoint::{self, Checkpoint, Position};
use crate::run::{RunDir, RunDirError};
use hookrack_plugin_api::{Phase, Point as P};

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

    /// A run that was asked to end early leaves a checkpoint, unless it has just written one.
    pub(super) fn save_when_cut_short(&mut self) -> Result<()> {
        let iter = self.context.progress.get().iter;
        let is_saved = iter == 0 || self.saved_at == Some(iter);
        if self.is_stopping() && !is_saved { self.save() } else { Ok(()) }
    }

    fn save(&mut self) -> Result<()> {
        let Some(folder) = self.run.as_ref().map(RunDir::checkpoints) else {
            return Ok(());
        };
        self.fire(P::BeforeSaveCheckpoint)?;
        std::fs::create_dir_all(&folder).map_err(RunDirError::io("create", &folder))?;
        let checkpoint = self.checkpoint()?;
        let path = checkpoint::write(&folder, &checkpoint)?;
        self.saved_at = Some(checkpoint.position.iter);
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
        // What was switched off is not called again, not even for its state: it may have panicked.
        for attached in self.rack.hooks().iter().filter(|attached| !attached.disabled) {
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
