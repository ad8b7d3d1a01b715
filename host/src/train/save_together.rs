//! Checkpoints written by several ranks: each writes what it owns, and rank 0 moves the checkpoint into place when all have finished.
//! If a rank is killed before that, the previous checkpoint is still the newest.

use super::fit::{Result, Trainer, located};
use super::stage_states::{HookStates, StageParams, StageSummary};
use crate::engine::Engine;
use crate::run::checkpoint::{Captured, Contents, Draft, Portion, Snapshot, Written};
use crate::run::{RunDir, RunDirError};
use crate::world::World;
use hookrack_plugin_api::Point as P;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::rc::Rc;

/// What rank 0 sends to the others about a checkpoint.
#[derive(Serialize, Deserialize)]
enum SaveStart {
    /// All ranks write to this folder.
    In(PathBuf),
    /// The run keeps no checkpoints.
    Nowhere,
    /// It could not be started.
    Failed(String),
}

impl Trainer {
    /// The other ranks, if each has something of its own to save.
    pub(super) fn fellow_writers(&self) -> Option<Rc<World>> {
        let engine = self.context.engine.borrow();
        let is_divided = engine.shard().world > 1 || engine.stage().is_some();
        self.context.world.get().filter(|_| is_divided).map(Rc::clone)
    }

    /// What this rank writes of model and optimizer. Of the ranks with the same stage, the first one writes the model; each writes its
    /// share of a sharded optimizer.
    pub(super) fn owned(&self) -> Vec<Portion> {
        let engine = self.context.engine.borrow();
        let (shard, copy) = (engine.shard(), engine.rank().rank);
        let (stage, stages) = stage_of(&engine);
        let is_first = copy == 0;
        let model = is_first.then(|| {
            let tensors = engine.model_state().into_iter().map(Into::into).collect();
            Portion { contents: Contents::Model, index: stage, of: stages, tensors }
        });
        let optimizer = (is_first || shard.world > 1).then(|| Portion {
            contents: Contents::Optimizer,
            index: stage * shard.world + shard.rank,
            of: stages * shard.world,
            tensors: engine.optimizer_state(),
        });
        model.into_iter().chain(optimizer).collect()
    }

    /// What this rank writes of the hooks' tensors, in a pipeline; merges the states that rank 0 records into `captured`.
    fn hook_portion(
        &mut self,
        world: &World,
        captured: Option<&mut Captured>,
    ) -> Result<Option<Portion>> {
        let (params, (stage, stages), copy) = {
            let engine = self.context.engine.borrow();
            if engine.stage().is_none() {
                return Ok(None);
            }
            (StageParams::of(&engine), stage_of(&engine), engine.rank().rank)
        };
        let mut own = HookStates::new();
        if captured.is_none() {
            (own, _) = self.hook_states()?;
        }
        let hooks = captured.map_or(&mut own, |captured| &mut captured.hooks);
        let mut all: Vec<StageSummary> =
            self.locate(world.exchange_json(&params.summary(hooks)))?;
        // The first ranks are the stages of the first pipeline.
        all.truncate(stages);
        params.complete(hooks, &all);
        let tensors = params.tensors(hooks, &all);
        let portion = Portion { contents: Contents::Hooks, index: stage, of: stages, tensors };
        Ok((copy == 0).then_some(portion))
    }

    /// The names of the frozen parameters of all stages. A collective.
    fn all_frozen(&self, world: &World) -> Result<Option<Vec<String>>> {
        let own = {
            let engine = self.context.engine.borrow();
            if engine.stage().is_none() {
                return Ok(None);
            }
            engine.frozen()
        };
        let all: Vec<Vec<String>> = self.locate(world.exchange_json(&own))?;
        let mut names = all.concat();
        names.sort();
        names.dedup();
        Ok(Some(names))
    }

    /// Copies what this rank owns, for a thread to write. A collective.
    pub(super) fn save_together(&mut self, world: &World) -> Result<()> {
        self.complete_part(world)?;
        // A checkpoint of the same iteration would use the folder that is being moved into place.
        self.saving.background.wait()?;
        let rng = self.random_states()?;
        let draft = self.begin_draft(world)?;
        self.fire(P::BeforeSaveCheckpoint)?;
        let iter = self.context.progress.get().iter;
        let is_main = self.run.is_some();
        if is_main {
            // A checkpoint contains the writers' marks, but not what waits to be written.
            self.context.write_media()?;
        }
        let frozen = self.all_frozen(world)?;
        let mut captured = if is_main { Some(self.capture(rng)?) } else { None };
        if let (Some(captured), Some(frozen)) = (&mut captured, frozen) {
            captured.engine.set_frozen(frozen);
        }
        let hooks = self.hook_portion(world, captured.as_mut())?;
        let asked_by = self.context.requests.borrow_mut().take_savers(iter);
        self.saving.saved_at = Some(iter);
        if let Some(draft) = draft {
            let run = captured.as_ref().map(|captured| (captured, asked_by));
            let owned: Vec<_> = self.owned().into_iter().chain(hooks).collect();
            let snapshot = Snapshot::take(&owned, run, self.saving.background.buffers())?;
            let files = self.context.writers.borrow().files()?;
            self.saving.background.begin_part(draft, snapshot, files)?;
        }
        self.fire(P::AfterSaveCheckpoint)
    }

    /// The folder that all ranks write to, created by rank 0; `None` if the run keeps no checkpoints.
    fn begin_draft(&self, world: &World) -> Result<Option<Draft>> {
        let iter = self.context.progress.get().iter;
        let folder =
            self.run.as_ref().map(RunDir::checkpoints).filter(|_| self.saving.keeps_checkpoints);
        let own = folder.map(|folder| Draft::new(&folder, iter)).transpose();
        let begun = match &own {
            Ok(Some(draft)) => SaveStart::In(draft.folder().to_owned()),
            Ok(None) => SaveStart::Nowhere,
            Err(error) => SaveStart::Failed(error.to_string()),
        };
        let all = self.locate(world.exchange_json(&begun))?;
        let own = own?;
        if own.is_some() {
            return Ok(own);
        }
        match all.into_iter().next().unwrap_or(SaveStart::Nowhere) {
            SaveStart::In(folder) => Ok(Some(Draft::of_another(folder))),
            SaveStart::Nowhere => Ok(None),
            SaveStart::Failed(why) => Err(RunDirError::OtherRank { rank: 0, why }.into()),
        }
    }

    /// Completes the checkpoint that the ranks are writing, if there is one: waits until all parts are on disk. A collective.
    pub(super) fn complete_part(&mut self, world: &World) -> Result<()> {
        let rules = self.context.requests.borrow().rules().to_vec();
        let context = &self.context;
        self.saving.background.finish_part(rules, |own| {
            let own = own.map_err(ToString::to_string);
            let all = located(context, world.exchange_json(&own))?;
            let read = |(rank, written): (usize, std::result::Result<Written, String>)| {
                written.map_err(|why| RunDirError::OtherRank { rank, why }.into())
            };
            all.into_iter().enumerate().map(read).collect()
        })
    }
}

/// The number of this process's stage, and the number of stages.
fn stage_of(engine: &Engine) -> (usize, usize) {
    engine.stage().map_or((0, 1), |it| (it.number as usize, it.layout.stages as usize))
}
