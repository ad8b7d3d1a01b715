//! The places in the loop where requested validations and checkpoints happen.

use super::fit::{Result, Trainer};
use super::loaders::EvalSet;
use crate::first_failure::first_failure;
use crate::run::checkpoint::{Background, Provenance, Snapshot};
use crate::run::{RunDir, safetensors_file};
use hookrack_plugin_api::Point as P;

/// What is known about the checkpoints of a run.
pub(super) struct Saving {
    /// Writes them.
    pub(super) background: Background,
    /// Where they come from.
    pub(super) provenance: Provenance,
    /// The iteration of the last one.
    pub(super) saved_at: Option<u64>,
    /// Whether any are written.
    pub(super) keeps_checkpoints: bool,
}

impl Saving {
    pub(super) fn new(provenance: Provenance) -> Self {
        let background = Background::default();
        Self { background, provenance, saved_at: None, keeps_checkpoints: true }
    }
}

impl Trainer {
    /// Validates, if requested and if there is validation data. A validation that a signal interrupts stays requested:
    /// the resumed run repeats it.
    pub(super) fn validate_if_requested(&mut self) -> Result<()> {
        let asked = std::mem::take(&mut self.context.requests.borrow_mut().validate);
        if asked && self.loaders.val.is_some() {
            let is_whole = self.pass(EvalSet::Val)?;
            self.context.requests.borrow_mut().validate = !is_whole;
        }
        Ok(())
    }

    /// Validates after an iteration, if requested. In the last one of an epoch it waits for the end of the epoch, so that there is only
    /// one validation if it is due by iteration and by epoch.
    pub(super) fn validate_within_epoch(&mut self) -> Result<()> {
        if self.closes_epoch() { Ok(()) } else { self.validate_if_requested() }
    }

    /// Writes a checkpoint, if requested and if the run has a directory; fails if the previous one could not be written.
    pub(super) fn save_if_requested(&mut self) -> Result<()> {
        self.saving.background.poll()?;
        self.reserve_memory()?;
        self.check_save_at();
        let requests = self.context.requests.borrow();
        // A requested validation comes first. After an interrupted one the run ends, and saves that it is still to be
        // done.
        let due = !requests.savers().is_empty() && !requests.validate;
        drop(requests);
        if due {
            self.save()?;
            self.wait_if_requested()?;
        }
        self.record_state_if_due();
        Ok(())
    }

    /// Allocates memory for the first copy of model, optimizer and hooks' tensors in advance, if a hook writes checkpoints.
    /// An upper bound: the tensors that hooks hold, without asking for their state.
    fn reserve_memory(&mut self) -> Result<()> {
        let is_wanted = self.run.is_some()
            && self.saving.keeps_checkpoints
            && !self.context.requests.borrow().rules().is_empty();
        let arena = self.context.arena.borrow();
        if !is_wanted || !self.saving.background.wants_reserve(arena.owned_len()) {
            return Ok(());
        }
        let owned = self.owned();
        let sizes = owned.iter().map(|portion| safetensors_file::size(&portion.tensors));
        let mut sizes = sizes.collect::<std::result::Result<Vec<_>, _>>()?;
        sizes.push(safetensors_file::room_for(arena.owned()));
        self.saving.background.reserve(arena.owned_len(), sizes);
        Ok(())
    }

    /// A run that ends early writes a checkpoint, unless it has just written one.
    pub(super) fn save_when_cut_short(&mut self) -> Result<()> {
        let iter = self.context.progress.get().iter;
        let is_saved = iter == 0 || self.saving.saved_at == Some(iter);
        if self.is_stopping() && !is_saved { self.save() } else { Ok(()) }
    }

    /// Waits for a checkpoint that is still being written. The first error of the run is never masked.
    pub(super) fn finish_saving(&mut self, outcome: Result<()>) -> Result<()> {
        let outcome = match self.fellow_writers() {
            Some(world) if outcome.is_ok() => self.complete_part(&world),
            _ => outcome,
        };
        // After a failure the other ranks have left.
        self.saving.background.abandon_part();
        first_failure(outcome, self.saving.background.wait())
    }

    /// Writes no checkpoint from now on. Hooks still save their state, and the points around it still fire.
    pub fn keep_no_checkpoints(&mut self) {
        self.saving.keeps_checkpoints = false;
    }

    /// Saves. A rank on which that fails, or a hook at the points around it, ends the run on all of them in this iteration.
    fn save(&mut self) -> Result<()> {
        self.save_own()?;
        self.await_others()
    }

    /// Copies everything, which a thread then writes in the background. The step waits only for the copy, and for
    /// the previous checkpoint if that is not written yet.
    fn save_own(&mut self) -> Result<()> {
        if let Some(world) = self.fellow_writers() {
            return self.save_together(&world);
        }
        let rng = self.random_states()?;
        let Some(folder) = self.run.as_ref().map(RunDir::checkpoints) else {
            return self.leave_saving_to_main();
        };
        self.fire(P::BeforeSaveCheckpoint)?;
        self.saving.background.wait()?;
        // Pending records are not part of a checkpoint; the positions of the writers are.
        self.context.write_media()?;
        let captured = self.capture(rng)?;
        let iter = captured.state.position.iter;
        let asked_by = self.context.requests.borrow_mut().take_savers(iter);
        self.saving.saved_at = Some(iter);
        if !self.saving.keeps_checkpoints {
            return self.fire(P::AfterSaveCheckpoint);
        }
        let run = Some((&captured, asked_by));
        let snapshot = Snapshot::take(&self.owned(), run, self.saving.background.buffers())?;
        let rules = self.context.requests.borrow().rules().to_vec();
        let files = self.context.writers.borrow().files()?;
        self.saving.background.begin(&folder, snapshot, rules, files)?;
        self.fire(P::AfterSaveCheckpoint)
    }

    /// Rank 0 writes; the points fire on the other ranks too. A run without a directory writes none.
    fn leave_saving_to_main(&mut self) -> Result<()> {
        if self.context.world.get().is_none() {
            self.context.requests.borrow_mut().take_savers(0);
            return Ok(());
        }
        self.fire(P::BeforeSaveCheckpoint)?;
        let iter = self.context.progress.get().iter;
        self.context.requests.borrow_mut().take_savers(iter);
        self.saving.saved_at = Some(iter);
        self.fire(P::AfterSaveCheckpoint)
    }
}
