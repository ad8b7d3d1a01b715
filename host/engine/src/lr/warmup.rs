//! `Warmup`: a warm-up before, or over, any other schedule.

use hookrack_plugin_api::Value;
use hookrack_plugin_api::prelude::Settings;

use super::inner_schedule;
use super::span;
use super::warmup_rules::{Divisor, Method, OverlappingWarmup, risen};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;
use crate::tree::Tree;

/// A warm-up before any schedule, or with `shift = false` over its first steps.
///
/// With `shift` the schedule starts after the warm-up and covers the rest of the run, as in `ColossalAI`, whose warm-up is
/// `base (t + 1) / (w + 1)`, or `/ w` by `warmup_divisor`, unless `warmup_factor` is set. Without `shift` the schedule runs from step 0
/// and the warm-up leads to its rate at `warmup_steps`, as in LiBai.
#[derive(Debug, Clone, Settings)]
pub(super) struct WarmedUp {
    /// Steps of the warm-up.
    warmup_steps: Option<u64>,
    /// Length of the warm-up as a fraction of the run, instead of `warmup_steps`.
    #[param(min = 0.0, max = 1.0)]
    warmup_ratio: Option<f64>,
    /// Divisor of `t + 1` in `ColossalAI`'s warm-up of `w` steps. Default: `"w+1"`.
    warmup_divisor: Option<Divisor>,
    /// The schedule, `{ type = "…", … }`.
    schedule: Tree,
    /// Start the schedule after the warm-up, not at the same time.
    #[param(default = true)]
    shift: bool,
    /// Factor at the start of the warm-up.
    #[param(min = 0.0)]
    warmup_factor: Option<f64>,
    /// Form of a warm-up with a factor, or without a shift.
    #[param(default)]
    warmup_method: Method,
    /// Count epochs as steps, not iterations, in both.
    #[param(default)]
    by_epoch: bool,
}

impl Component<Horizon, dyn LrSchedule> for WarmedUp {
    const NAME: &'static str = "Warmup";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let Self { shift, warmup_factor, warmup_method: method, by_epoch, .. } = self;
        let total = horizon.steps(by_epoch);
        let steps = self.steps(total).map_err(Self::refuse)?;
        let own = if shift { total.saturating_sub(steps) } else { total };
        let divisor = self.warmup_divisor.unwrap_or(Divisor::Next).of(steps);
        let inner = inner_schedule::build(self.schedule, by_epoch, own)
            .map_err(|why| Self::refuse_key("schedule", why))?;
        let rise = (!shift || warmup_factor.is_some()).then(|| OverlappingWarmup {
            factor: warmup_factor.unwrap_or(0.0),
            steps,
            ratio: None,
            method,
        });
        let late = if shift { steps } else { 0 };
        Ok(Box::new(Warmed { inner, steps, divisor, late, rise, by_epoch }))
    }
}

impl WarmedUp {
    fn steps(&self, total: u64) -> std::result::Result<u64, String> {
        match (self.warmup_steps, self.warmup_ratio) {
            (None, None) => {
                Err("the warm-up has no length: set warmup_steps or warmup_ratio".into())
            }
            (steps, ratio) => span::rise("warmup_steps", steps.unwrap_or(0), ratio, total),
        }
    }
}

/// A schedule with a warm-up before or over it.
struct Warmed {
    inner: Box<dyn LrSchedule>,
    /// Steps of the warm-up.
    steps: u64,
    /// What `ColossalAI`'s rise divides by.
    divisor: u64,
    /// The step at which the schedule begins.
    late: u64,
    /// The warm-up over the schedule; `None` for `ColossalAI`'s, which is before it.
    rise: Option<OverlappingWarmup>,
    by_epoch: bool,
}

impl Warmed {
    fn own(&self, step: u64) -> u64 {
        step.saturating_sub(self.late)
    }
}

impl LrSchedule for Warmed {
    fn lr(&self, base: f64, step: u64) -> f64 {
        match self.rise {
            None => {
                let then = |base, own| self.inner.lr(base, own);
                risen(self.steps, self.divisor, &then, base, step)
            }
            Some(rise) => rise.over(&|base, at| self.inner.lr(base, self.own(at)), base, step),
        }
    }

    fn by_epoch(&self) -> bool {
        self.by_epoch
    }

    fn momentum(&self, step: u64) -> Option<f64> {
        self.inner.momentum(self.own(step))
    }

    fn watched(&self) -> Option<&str> {
        self.inner.watched()
    }

    /// The metric is not monitored during the warm-up.
    fn observe(&mut self, value: f64, step: u64) {
        if step >= self.steps {
            self.inner.observe(value, self.own(step));
        }
    }

    fn state(&self) -> Value {
        self.inner.state()
    }

    fn load_state(&mut self, state: &Value) {
        self.inner.load_state(state);
    }
}
