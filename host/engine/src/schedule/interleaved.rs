//! `Interleaved1F1B`: 1F1B over several chunks of layers on each stage.

use hookrack_plugin_api::prelude::Settings;

use super::layout::Layout;
use super::table::Order;
use super::{PipelineSize, Schedule, ScheduleContext, SplitRule};
use crate::error::Result;
use crate::registry::Component;

/// Pipeline: 1F1B with several chunks of layers on each stage (Narayanan et al., 2021). A micro-batch passes through all stages once
/// per chunk: stages wait less for each other, for more messages and more activations.
#[derive(Debug, Clone, Settings)]
pub struct Interleaved1F1B {
    /// Stages and micro-batches.
    #[param(flatten)]
    pub size: PipelineSize,
    /// Chunks of layers per stage.
    #[param(default = 2, min = 2, max = 64)]
    pub chunks: u32,
    /// How layers are split among the stages: `"params"` balances their parameters, `"time"` the time of a pass, measured before
    /// the run; a list sets the number of layers of each chunk, in model order.
    #[param(default)]
    pub split: SplitRule,
}

impl Interleaved1F1B {
    /// The order of its passes.
    pub const ORDER: Order = Order { warm_up };
}

impl Component<ScheduleContext, Schedule> for Interleaved1F1B {
    const NAME: &'static str = "Interleaved1F1B";

    fn build(self, context: &ScheduleContext) -> Result<Box<Schedule>> {
        let Self { size, chunks, split } = self;
        let schedule = Schedule::pipeline(Self::ORDER, size, chunks, split);
        context.refuse_accumulation(schedule).map_err(|why| Self::refuse_key("microbatches", why))
    }
}

/// The first backward pass is that of the last chunk, on the last stage; each stage before is two passes further from it.
fn warm_up(layout: &Layout, stage: u32) -> u32 {
    (layout.chunks - 1) * layout.round(0) + 2 * (layout.stages - 1 - stage)
}
