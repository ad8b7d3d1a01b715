//! Makes a trainer one of several ranks.

use super::fit::Trainer;
use super::grid::Grid;
use crate::config::{ConfigErrors, DistributedSection, ExecutionMode, ResolvedConfig};
use crate::engine::data::Rank;
use crate::engine::{DataParallel, Engine, EngineError};
use crate::torch::dist::{Backend, BucketSizes, ReducerOptions};
use crate::torch::rng;
use crate::world::{World, WorldError};
use std::rc::Rc;

impl Trainer {
    /// Joins the other ranks once all of them have their trainer: takes over the parameters of rank 0, and seeds this rank's own random
    /// numbers.
    ///
    /// # Errors
    /// Another rank failed or timed out, or its model differs.
    pub fn join(
        &mut self,
        world: &Rc<World>,
        config: &DistributedSection,
    ) -> Result<(), WorldError> {
        let ranks = world.ranks();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let (rank, size) = (number(ranks.rank), number(ranks.world));
        self.context.advance(|p| (p.rank, p.world) = (rank, size));
        let provenance = &mut self.saving.provenance;
        (provenance.rank, provenance.world) = (rank, size);
        provenance.threads = u64::try_from(tch::get_num_threads()).unwrap_or(1);
        self.rack.report_to(Rc::clone(world));
        // A rank that could not start has left, and is named here: in making a group the others would wait for it until the timeout.
        world.await_all()?;
        let joined = join_engine(&mut self.context.engine.borrow_mut(), world, config);
        joined.map_err(|error| match &error {
            EngineError::Torch(why) if why.is_of_peers() => WorldError(world.name_failure(why)),
            error => WorldError(format!("rank {rank} of {size}: {error}")),
        })?;
        if rank > 0 {
            let seed = self.context.progress.get().seed;
            rng::seed(seed_of(seed, 0, rank));
        }
        let _ = self.context.world.set(Rc::clone(world));
        Ok(())
    }
}

/// Connects the engine: to the ranks that have the same stage, and to the other stages of its pipeline.
fn join_engine(
    engine: &mut Engine,
    world: &World,
    config: &DistributedSection,
) -> Result<(), EngineError> {
    let ranks = world.ranks();
    let stages = engine.stage().map_or(1, |stage| stage.layout.stages as usize);
    let grid = Grid { stages, data: ranks.world / stages };
    let (stage, copy) = (grid.stage_of(ranks.rank), grid.copy_of(ranks.rank));
    let is_cuda = engine.device().is_cuda();
    let backend = if is_cuda { Backend::Nccl } else { Backend::Gloo };
    let group = world.group("gradients", stage, copy, backend)?;
    let mesh = world.mesh("gradients", stage, copy)?;
    engine.join(DataParallel::new(group, mesh, reducer_options(config)))?;
    if config.sync_batch_norm {
        engine.sync_norms(world.group("norms", stage, copy, backend)?);
    }
    if stages > 1 {
        let place = Rank { rank: stage, world: stages };
        engine.join_pipeline(world.group("pipeline", copy.rank, place, backend)?)?;
    }
    Ok(())
}

/// Refuses batch norms over all ranks where the host does not compute them itself.
pub(super) fn check_norms(config: &ResolvedConfig, engine: &Engine) -> Result<(), ConfigErrors> {
    const KEY: &str = "distributed.sync_batch_norm";
    let model = engine.model();
    if !config.distributed.sync_batch_norm {
        return Ok(());
    }
    if !model.is_graph() {
        if model.info().norm_ranks.is_none() {
            tracing::warn!("{KEY} has no effect: the model has no batch norm");
        }
        return Ok(());
    }
    let (why, help) = if config.train.mode == ExecutionMode::Graph {
        (
            "statistics over all ranks cannot be part of a graph",
            "set train.mode = \"eager\", or sync_batch_norm = false",
        )
    } else {
        (
            "the batch norms of a TorchScript file use the rows of their own rank",
            "set sync_batch_norm = false, or use a built-in model",
        )
    };
    Err(config.refuse(KEY, why, help))
}

/// The config of gradient reduction.
pub(crate) fn reducer_options(config: &DistributedSection) -> ReducerOptions {
    let first = BucketSizes::default().first;
    let cap = bytes(config.bucket_mb);
    ReducerOptions {
        buckets: BucketSizes { first: first.min(cap), cap },
        find_unused: config.find_unused_parameters,
        half: config.fp16_compression,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the config has a range"
)]
fn bytes(megabytes: f64) -> usize {
    (megabytes * f64::from(1 << 20)) as usize
}

/// The seed of a rank's random numbers from an iteration on; different on each rank.
pub(super) fn seed_of(seed: u64, iter: u64, rank: u32) -> u64 {
    crate::engine::data::Prng::new(&[seed, iter, u64::from(rank)]).next_u64()
}
