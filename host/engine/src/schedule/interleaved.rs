//! `Interleaved1F1B`: 1F1B over several chunks of layers on each stage.

use hookrack_plugin_api::prelude::Settings;

use super::layout::Layout;
use super::table::Order;
use super::{Schedule, ScheduleContext, Split};
use crate::error::Result;
use crate::registry::Component;

/// Pipeline: 1F1B with several chunks of layers on each stage (Narayanan et al., 2021). A micro-batch goes round the stages once
/// per chunk: stages wait less for each other, for more messages and more activations.
#[derive(Debug, Clone, Settings)]
pub struct Interleaved1F1B {
    /// Stages of the pipeline, each on a rank of its own.
    #[param(default = 2, min = 1, max = 1024)]
    pub stages: u32,
    /// Micro-batches of each batch. Must divide the batch.
    #[param(default = 8, min = 1, max = 65536)]
    pub microbatches: u32,
    /// Chunks of layers on each stage.
    #[param(default = 2, min = 2, max = 64)]
    pub chunks: u32,
    /// How layers are divided among the stages: `"params"` balances their parameters, `"time"` the time of a pass, measured before
    /// the run; a list has the number of layers of each chunk, in the order of the model.
    #[param(default)]
    pub split: Split,
}

impl Interleaved1F1B {
    /// The order of its passes.
    pub const ORDER: Order = Order { warm_up };
}

impl Component<ScheduleContext, Schedule> for Interleaved1F1B {
    const NAME: &'static str = "Interleaved1F1B";

    fn build(self, context: &ScheduleContext) -> Result<Box<Schedule>> {
        let Self { stages, microbatches, chunks, split } = self;
        let schedule = Schedule::pipeline(Self::ORDER, stages, microbatches, chunks, split);
        context.refuse_accumulation(schedule).map_err(|why| Self::refuse_key("microbatches", why))
    }
}

/// The first backward pass is that of the last chunk, on the last stage; each stage before is two passes further from it.
fn warm_up(layout: &Layout, stage: u32) -> u32 {
    (layout.chunks - 1) * layout.round(0) + 2 * (layout.stages - 1 - stage)
}
