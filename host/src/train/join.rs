//! Makes a trainer one of several ranks.

use super::fit::Trainer;
use crate::config::DistributedSection;
use crate::engine::DataParallel;
use crate::torch::dist::{Backend, BucketSizes, ReducerOptions};
use crate::torch::rng;
use crate::world::{World, WorldError};
use std::rc::Rc;

impl Trainer {
    /// Joins the other ranks: takes over the parameters of rank 0, and seeds this rank's own random numbers.
    ///
    /// # Errors
    /// A rank is gone, or its model differs.
    pub fn join(
        &mut self,
        world: &Rc<World>,
        config: &DistributedSection,
    ) -> Result<(), WorldError> {
        let ranks = world.ranks();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let (rank, size) = (number(ranks.rank), number(ranks.world));
        self.context.advance(|p| (p.rank, p.world) = (rank, size));
        let provenance = &mut self.provenance;
        (provenance.rank, provenance.world) = (rank, size);
        provenance.threads = u64::try_from(tch::get_num_threads()).unwrap_or(1);
        world
            .position()
            .name_hooks(self.rack.hooks().iter().map(|it| it.spec.name.clone()).collect());
        self.rack.report_to(Rc::clone(world));
        let joined = {
            let mut engine = self.context.engine.borrow_mut();
            let is_cuda = engine.device().is_cuda();
            let backend = if is_cuda { Backend::Nccl } else { Backend::Gloo };
            let group = world.gradient_group(backend);
            group
                .map_err(Into::into)
                .and_then(|group| engine.join(DataParallel::new(group, reducer_options(config))))
        };
        joined.map_err(|error| WorldError(format!("rank {rank} of {size}: {error}")))?;
        if rank > 0 {
            let seed = self.context.progress.get().seed;
            rng::seed(seed_of(seed, 0, rank));
        }
        let _ = self.context.world.set(Rc::clone(world));
        Ok(())
    }
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
