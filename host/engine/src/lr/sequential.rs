//! `Sequential`: one schedule after the other; PyTorch's `SequentialLR`.

use hookrack_plugin_api::Value;
use hookrack_plugin_api::prelude::Settings;

use super::inner_schedule;
use super::shape::reached;
use super::span;
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;
use crate::tree::Tree;

/// Several schedules one after the other; each starts at its own step 0 and ends at the next milestone.
///
/// The length of each schedule is the number of steps from its milestone to the next one, or to the end of the run.
#[derive(Debug, Clone, Settings)]
pub(super) struct Sequential {
    /// The schedules, each `{ type = "…", … }`.
    schedules: Vec<Tree>,
    /// The steps at which the second schedule, the third, … start; values below 1 are fractions of the run.
    milestones: Vec<f64>,
    /// Count epochs as steps, not iterations, in every schedule.
    #[param(default)]
    by_epoch: bool,
}

impl Component<Horizon, dyn LrSchedule> for Sequential {
    const NAME: &'static str = "Sequential";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let Self { schedules, milestones, by_epoch } = self;
        let total = horizon.steps(by_epoch);
        check(schedules.len(), &milestones).map_err(Self::refuse)?;
        let milestones = span::milestones("milestones", &milestones, total);
        let milestones = milestones.map_err(Self::refuse)?;
        let begins: Vec<u64> = std::iter::once(0).chain(milestones.iter().copied()).collect();
        let ends = milestones.iter().copied().chain([total]);
        let parts = schedules.into_iter().zip(begins.iter().zip(ends)).enumerate();
        let parts = parts.map(|(index, (schedule, (&begin, end)))| {
            inner_schedule::build(schedule, by_epoch, end.saturating_sub(begin))
                .map_err(|why| Self::refuse_key(format!("schedules.{index}"), why))
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        Ok(Box::new(Segment { by_epoch, milestones, begins, parts }))
    }
}

/// The schedules in order, with the step at which each begins.
struct Segment {
    by_epoch: bool,
    milestones: Vec<u64>,
    begins: Vec<u64>,
    parts: Vec<Box<dyn LrSchedule>>,
}

impl Segment {
    /// The schedule that is active at a step, and its own step.
    fn turn(&self, step: u64) -> (usize, u64) {
        let index = reached(&self.milestones, step);
        (index, step - self.begins[index])
    }
}

impl LrSchedule for Segment {
    fn lr(&self, base: f64, step: u64) -> f64 {
        let (index, own) = self.turn(step);
        self.parts[index].lr(base, own)
    }

    fn by_epoch(&self) -> bool {
        self.by_epoch
    }

    fn momentum(&self, step: u64) -> Option<f64> {
        let (index, own) = self.turn(step);
        self.parts[index].momentum(own)
    }

    fn watched(&self) -> Option<&str> {
        self.parts.iter().find_map(|part| part.watched())
    }

    fn observe(&mut self, value: f64, step: u64) {
        let (index, own) = self.turn(step);
        self.parts[index].observe(value, own);
    }

    fn state(&self) -> Value {
        Value::List(self.parts.iter().map(|part| part.state()).collect())
    }

    fn load_state(&mut self, state: &Value) {
        let Value::List(states) = state else { return };
        for (part, state) in self.parts.iter_mut().zip(states) {
            part.load_state(state);
        }
    }
}

/// Whether there is a milestone between any two schedules, in ascending order.
fn check(schedules: usize, milestones: &[f64]) -> std::result::Result<(), String> {
    if schedules != milestones.len() + 1 {
        return Err(format!(
            "{schedules} schedules and {} milestones: there must be one milestone fewer than schedules",
            milestones.len()
        ));
    }
    let begins_above_0 = milestones.first().is_none_or(|first| *first > 0.0);
    if !begins_above_0 || milestones.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(format!("milestones = {milestones:?} must be increasing and above 0"));
    }
    Ok(())
}
