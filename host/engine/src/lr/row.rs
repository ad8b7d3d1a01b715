//! A row of the table of schedules: a warm-up, a curve, and the kind of step.

use hookrack_plugin_api::prelude::Settings;
use hookrack_plugin_api::{Describe, Param, Value};

use super::curve::{Curve, Rate};
use super::warmup_rules::WarmupRule;
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::{ComponentName, Entry};

/// What a step of a schedule is.
#[derive(Debug, Clone, Copy, Settings)]
pub(super) struct Steps {
    /// Count epochs as steps, not iterations.
    #[param(default = false)]
    pub(super) by_epoch: bool,
}

/// The settings of a row.
#[derive(serde::Deserialize)]
struct RowSettings<R, C> {
    #[serde(flatten)]
    rise: R,
    #[serde(flatten)]
    curve: C,
    #[serde(flatten)]
    steps: Steps,
}

/// The schedule of this name: a warm-up and a curve.
pub(super) const fn row<R: WarmupRule, C: Curve>(
    name: &'static str,
    doc: &'static str,
) -> Entry<Horizon, dyn LrSchedule> {
    Entry { name, aliases: &[], doc, params: params::<R, C>, build: build::<R, C> }
}

fn params<R: WarmupRule, C: Curve>() -> Vec<Param> {
    [R::params(), C::params(), Steps::params()].concat()
}

fn build<R: WarmupRule, C: Curve>(
    subject: ComponentName,
    settings: Value,
    horizon: &Horizon,
) -> Result<Box<dyn LrSchedule>> {
    let RowSettings::<R, C> { rise, curve, steps } = subject.read(&params::<R, C>(), settings)?;
    let total = horizon.steps(steps.by_epoch);
    let rate = rise.before(total, curve).map_err(|why| subject.refuse(why))?;
    Ok(rule(steps.by_epoch, rate))
}

/// A schedule that is a pure function of the step.
struct Rule {
    by_epoch: bool,
    rate: Rate,
}

impl LrSchedule for Rule {
    fn lr(&self, base: f64, step: u64) -> f64 {
        (self.rate)(base, step)
    }

    fn by_epoch(&self) -> bool {
        self.by_epoch
    }
}

/// The schedule whose rate at a step is `rate(base, step)`.
pub(super) fn rule(by_epoch: bool, rate: Rate) -> Box<dyn LrSchedule> {
    Box::new(Rule { by_epoch, rate })
}
