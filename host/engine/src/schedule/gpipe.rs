//! `GPipe`: all forward passes, then all backward passes.

use hookrack_plugin_api::prelude::Settings;

use super::table::Order;
use super::{PipelineSize, Schedule, ScheduleContext, SplitRule};
use crate::error::Result;
use crate::registry::Component;

/// Pipeline: all forward passes of an iteration, then all backward passes (Huang et al., 2018). A stage keeps the activations of
/// every micro-batch.
#[derive(Debug, Clone, Settings)]
pub struct GPipe {
    /// Stages and micro-batches.
    #[param(flatten)]
    pub size: PipelineSize,
    /// How layers are split among the stages: `"params"` balances their parameters, `"time"` the time of a pass, measured before
    /// the run; a list sets the number of layers of each.
    #[param(default)]
    pub split: SplitRule,
}

impl GPipe {
    /// The order of its passes.
    pub const ORDER: Order = Order { warm_up: |layout, _stage| layout.passes() };
}

impl Component<ScheduleContext, Schedule> for GPipe {
    const NAME: &'static str = "GPipe";

    fn build(self, context: &ScheduleContext) -> Result<Box<Schedule>> {
        let Self { size, split } = self;
        let schedule = Schedule::pipeline(Self::ORDER, size, 1, split);
        context.refuse_accumulation(schedule).map_err(|why| Self::refuse_key("microbatches", why))
    }
}
