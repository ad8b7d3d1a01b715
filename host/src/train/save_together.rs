//! Checkpoints that several ranks write: each puts what it owns on the disk, and rank 0 gives the whole its place when all have said
//! that theirs is there. Until then the previous checkpoint is the newest, whoever is killed.

use super::fit::{Result, Trainer};
use crate::engine::EngineError;
use crate::run::checkpoint::{Contents, Draft, Portion, Snapshot, Written};
use crate::run::{RunDir, RunDirError};
use crate::world::World;
use hookrack_plugin_api::Point as P;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::rc::Rc;

/// What rank 0 tells the others about a checkpoint.
#[derive(Serialize, Deserialize)]
enum Begun {
    /// They add to this folder.
    In(PathBuf),
    /// The run keeps no checkpoints.
    Nowhere,
    /// It could not be begun.
    Failed(String),
}

impl Trainer {
    /// The other ranks, where each has something of its own to save.
    pub(super) fn fellow_writers(&self) -> Option<Rc<World>> {
        let is_sharded = self.context.engine.borrow().shard().world > 1;
        self.context.world.get().filter(|_| is_sharded).map(Rc::clone)
    }

    /// What this rank owns of the large tensors of a checkpoint. A rank that keeps only some parameters owns a portion of the model
    /// too.
    pub(super) fn owned(&self) -> Vec<Portion> {
        let engine = self.context.engine.borrow();
        let shard = engine.shard();
        let model = (shard.rank == 0).then(|| {
            let tensors = engine.model_state().into_iter().map(Into::into).collect();
            Portion::all(Contents::Model, tensors)
        });
        let optimizer = Portion {
            contents: Contents::Optimizer,
            index: shard.rank,
            of: shard.world,
            tensors: engine.optimizer_state(),
        };
        model.into_iter().chain([optimizer]).collect()
    }

    /// Takes a copy of what this rank owns, which a thread writes. All ranks call it.
    pub(super) fn save_together(&mut self, world: &World) -> Result<()> {
        self.complete_part(world)?;
        // One of the same iteration would be begun in the folder that takes its place now.
        self.background.wait()?;
        let rng = self.random_states()?;
        let draft = self.begin_draft(world)?;
        self.fire(P::BeforeSaveCheckpoint)?;
        let iter = self.context.progress.get().iter;
        let is_main = self.run.is_some();
        if is_main {
            // What waits to be written is in no checkpoint; where the writers stand is.
            self.context.write_media()?;
        }
        let captured = if is_main { Some(self.capture(rng)?) } else { None };
        let asked_by = self.context.requests.borrow_mut().take_savers(iter);
        self.saved_at = Some(iter);
        if let Some(draft) = draft {
            let run = captured.as_ref().map(|captured| (captured, asked_by));
            let snapshot = Snapshot::take(&self.owned(), run, self.background.buffers())?;
            let files = self.context.writers.borrow().files()?;
            self.background.begin_part(draft, snapshot, files)?;
        }
        self.fire(P::AfterSaveCheckpoint)
    }

    /// The folder that all ranks add to, begun by rank 0; `None` where the run keeps no checkpoints.
    fn begin_draft(&self, world: &World) -> Result<Option<Draft>> {
        let iter = self.context.progress.get().iter;
        let folder = self.run.as_ref().map(RunDir::checkpoints).filter(|_| self.keeps_checkpoints);
        let own = folder.map(|folder| Draft::new(&folder, iter)).transpose();
        let begun = match &own {
            Ok(Some(draft)) => Begun::In(draft.folder().to_owned()),
            Ok(None) => Begun::Nowhere,
            Err(error) => Begun::Failed(error.to_string()),
        };
        let begun = serde_json::to_vec(&begun).unwrap_or_default();
        let all = self.locate(world.exchange(&begun).map_err(EngineError::from))?;
        let own = own?;
        if own.is_some() {
            return Ok(own);
        }
        let first = all.first().and_then(|begun| serde_json::from_slice(begun).ok());
        match first.unwrap_or(Begun::Nowhere) {
            Begun::In(folder) => Ok(Some(Draft::of_another(folder))),
            Begun::Nowhere => Ok(None),
            Begun::Failed(why) => Err(RunDirError::OtherRank { rank: 0, why }.into()),
        }
    }

    /// Completes the checkpoint that the ranks are writing, if there is one: waits until all parts are on the disk. All ranks call it.
    pub(super) fn complete_part(&mut self, world: &World) -> Result<()> {
        let rules = self.context.requests.borrow().rules().to_vec();
        let progress = self.context.progress.get();
        self.background.finish_part(rules, |own| {
            let written = serde_json::to_vec(&own.map_err(ToString::to_string)).unwrap_or_default();
            let all = world.exchange(&written).map_err(|why| super::error::TrainError::Step {
                epoch: progress.epoch,
                iter: progress.iter,
                why: why.into(),
            })?;
            let read = |(rank, bytes): (usize, &Vec<u8>)| {
                let written = serde_json::from_slice::<std::result::Result<Written, String>>(bytes);
                let written = written.unwrap_or_else(|error| Err(error.to_string()));
                written.map_err(|why| RunDirError::OtherRank { rank, why }.into())
            };
            all.iter().enumerate().map(read).collect()
        })
    }
}
