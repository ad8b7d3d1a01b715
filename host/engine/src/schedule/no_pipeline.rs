//! `NoPipeline`: the whole model in one process, micro-batch after micro-batch.

use hookrack_plugin_api::prelude::Settings;

use super::table::Order;
use super::{PipelineSize, Schedule, ScheduleContext, SplitRule};
use crate::error::Result;
use crate::registry::Component;

/// The whole model in one process; each batch goes through it in `train.accumulation` micro-batches.
#[derive(Debug, Clone, Settings)]
pub struct NoPipeline {}

impl Component<ScheduleContext, Schedule> for NoPipeline {
    const NAME: &'static str = "NoPipeline";

    fn build(self, context: &ScheduleContext) -> Result<Box<Schedule>> {
        if context.accumulation == 0 {
            return Err(Self::refuse("accumulation = 0: must be at least 1"));
        }
        let microbatches = u32::try_from(context.accumulation).unwrap_or(u32::MAX);
        let size = PipelineSize { stages: 1, microbatches };
        Ok(Box::new(Schedule::pipeline(Self::ORDER, size, 1, SplitRule::Params)))
    }
}

impl NoPipeline {
    /// The order of its passes.
    pub const ORDER: Order = Order { warm_up: |_layout, _stage| 0 };
}
