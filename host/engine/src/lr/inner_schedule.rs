//! A schedule within another one: `{ type = "…", … }` as a setting.

use super::{Horizon, LR_SCHEDULES, LrSchedule};
use crate::registry::{Build as _, Choice};
use crate::tree::Tree;

/// Builds a part of `steps` steps, with the same kind of step as the whole schedule.
pub(super) fn build(part: Tree, by_epoch: bool, steps: u64) -> Result<Box<dyn LrSchedule>, String> {
    let choice = Choice::from_table("schedule", part.0)?;
    let horizon = Horizon { iters: steps, epochs: steps };
    let schedule = choice.build(LR_SCHEDULES, &horizon).map_err(|error| error.to_string())?;
    if schedule.by_epoch() && !by_epoch {
        return Err(format!(
            "`{}` counts epochs, but the outer schedule counts iterations: set by_epoch on the outer one",
            choice.name
        ));
    }
    Ok(schedule)
}
