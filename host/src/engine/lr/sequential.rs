//! `Sequential`: one schedule after the other; PyTorch's `SequentialLR`.

use hookrack_plugin_api::prelude::Deserialize;

use super::part::{self, Part};
use super::rule::rule;
use super::shape::reached;
use super::{Horizon, LrSchedule};
use crate::engine::error::Result;
use crate::engine::registry::Component;

/// Runs schedules one after the other; the next one begins at the next milestone, with its own step 0.
///
/// A schedule that lasts for the whole run lasts here from its milestone to the next one, or to the end.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sequential {
    /// The schedules, each `{ type = "…", … }`.
    schedules: Vec<Part>,
    /// The steps at which the second one, the third one, … begin.
    milestones: Vec<u64>,
    /// Count epochs as steps, not iterations, in every schedule.
    #[serde(default)]
    by_epoch: bool,
}

impl Component<Horizon, dyn LrSchedule> for Sequential {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "Sequential";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        self.check().map_err(Self::refuse)?;
        let Self { schedules, milestones, by_epoch } = self;
        let total = horizon.steps(by_epoch);
        let begins: Vec<u64> = std::iter::once(0).chain(milestones.iter().copied()).collect();
        let ends = milestones.iter().copied().chain([total]);
        let parts = schedules.iter().zip(begins.iter().zip(ends)).enumerate();
        let parts = parts.map(|(index, (schedule, (&begin, end)))| {
            part::build(schedule, by_epoch, end.saturating_sub(begin))
                .map_err(|why| Self::refuse(format!("schedules.{index}: {why}")))
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        Ok(rule(by_epoch, move |base, step| {
            let index = reached(&milestones, step);
            parts[index].lr(base, step - begins[index])
        }))
    }
}

impl Sequential {
    fn check(&self) -> std::result::Result<(), String> {
        let (schedules, milestones) = (self.schedules.len(), &self.milestones);
        if schedules != milestones.len() + 1 {
            return Err(format!(
                "{schedules} schedules and {} milestones; there is one milestone between two schedules",
                milestones.len()
            ));
        }
        if milestones.first() == Some(&0) || milestones.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(format!("milestones = {milestones:?} must rise, and begin above 0"));
        }
        Ok(())
    }
}
