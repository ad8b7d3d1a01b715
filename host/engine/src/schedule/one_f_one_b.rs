//! `OneFOneB`: one backward pass after each forward pass, as soon as a stage can.

use hookrack_plugin_api::prelude::Settings;

use super::table::Order;
use super::{PipelineSize, Schedule, ScheduleContext, SplitRule};
use crate::error::Result;
use crate::registry::Component;

/// Pipeline: one backward pass after each forward pass, as soon as a stage can (1F1B; PipeDream-Flush, Narayanan et al., 2020). As fast
/// as `GPipe`; a stage keeps the activations of at most as many micro-batches as there are stages.
#[derive(Debug, Clone, Settings)]
pub struct OneFOneB {
    /// Stages and micro-batches.
    #[param(flatten)]
    pub size: PipelineSize,
    /// How layers are split among the stages: `"params"` balances their parameters, `"time"` the time of a pass, measured before
    /// the run; a list sets the number of layers of each.
    #[param(default)]
    pub split: SplitRule,
}

impl OneFOneB {
    /// The order of its passes.
    pub const ORDER: Order = Order { warm_up: |layout, stage| layout.stages - 1 - stage };
}

impl Component<ScheduleContext, Schedule> for OneFOneB {
    const NAME: &'static str = "OneFOneB";

    fn build(self, context: &ScheduleContext) -> Result<Box<Schedule>> {
        let Self { size, split } = self;
        let schedule = Schedule::pipeline(Self::ORDER, size, 1, split);
        context.refuse_accumulation(schedule).map_err(|why| Self::refuse_key("microbatches", why))
    }
}
