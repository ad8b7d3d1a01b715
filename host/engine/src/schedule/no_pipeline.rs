//! `NoPipeline`: the whole model in one process, micro-batch after micro-batch.

use hookrack_plugin_api::prelude::Settings;

use super::{Schedule, ScheduleContext};
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
        Ok(Box::new(Schedule { parts: context.accumulation }))
    }
}
