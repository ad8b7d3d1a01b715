//! `ReduceLROnPlateau`: reduces the rate when a metric stops improving; PyTorch's rule.

use hookrack_plugin_api::prelude::Settings;
use hookrack_plugin_api::{Better, Value};

use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Times `factor` when `metric` has not improved for more than `patience` epochs.
#[derive(Debug, Clone, Settings)]
pub(super) struct ReduceLrOnPlateau {
    /// Any scalar of the run by its full name, such as `val/Loss`, `val/Accuracy` or `train/loss`.
    #[param(monitor)]
    metric: String,
    /// Whether lower or higher is better.
    #[param(default)]
    mode: Direction,
    /// Factor by which the rate is reduced.
    #[param(default = 0.1, min = 0.0, max = 1.0)]
    factor: f64,
    /// Number of epochs without improvement that are allowed.
    #[param(default = 10)]
    patience: u64,
    /// Minimum improvement that counts.
    #[param(default = 1e-4, min = 0.0)]
    threshold: f64,
    /// Whether the threshold is relative to the best value or absolute.
    #[param(default)]
    threshold_mode: ThresholdMode,
    /// Epochs to wait after a reduction before counting again.
    #[param(default)]
    cooldown: u64,
    /// Lower bound of the rate.
    #[param(default, min = 0.0)]
    min_lr: f64,
    /// Minimum change of the rate; smaller reductions are ignored.
    #[param(default = 1e-8, min = 0.0)]
    eps: f64,
}

/// Which of two values is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Settings)]
enum Direction {
    #[default]
    Min,
    Max,
}

/// What a threshold is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Settings)]
enum ThresholdMode {
    #[default]
    Rel,
    Abs,
}

impl Component<Horizon, dyn LrSchedule> for ReduceLrOnPlateau {
    const NAME: &'static str = "ReduceLROnPlateau";
    /// iMIX's name.
    const ALIASES: &'static [&'static str] = &["ReduceOnPlateauSchedule"];

    fn build(self, _horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        if self.factor >= 1.0 {
            return Err(Self::refuse("factor = 1 would never lower the rate: must be below 1"));
        }
        if !self.metric.contains('/') {
            let metric = &self.metric;
            return Err(Self::refuse(format!(
                "metric = {metric:?}: add the phase, as in \"val/{metric}\""
            )));
        }
        Ok(Box::new(Plateau { rule: self, best: None, bad: 0, cooling: 0, reductions: 0 }))
    }
}

/// The schedule itself, with what it has seen.
struct Plateau {
    rule: ReduceLrOnPlateau,
    /// The best value, once there is one.
    best: Option<f64>,
    /// Epochs since.
    bad: u64,
    /// Remaining epochs of the cooldown.
    cooling: u64,
    /// The number of reductions.
    reductions: u64,
}

impl Plateau {
    /// NaN is never better.
    fn is_better(&self, value: f64) -> bool {
        let ReduceLrOnPlateau { mode, threshold_mode, threshold, .. } = self.rule;
        let Some(best) = self.best else { return !value.is_nan() };
        let better = match mode {
            Direction::Min => Better::Lower,
            Direction::Max => Better::Higher,
        };
        let sign = f64::from(Better::sign(Some(better)));
        let mark = match threshold_mode {
            ThresholdMode::Rel => best * (1.0 + sign * threshold),
            ThresholdMode::Abs => best + sign * threshold,
        };
        better.is_better(value, mark)
    }
}

impl LrSchedule for Plateau {
    fn lr(&self, base: f64, _step: u64) -> f64 {
        let ReduceLrOnPlateau { factor, min_lr, eps, .. } = self.rule;
        let mut rate = base;
        for _ in 0..self.reductions {
            let lower = f64::max(rate * factor, min_lr);
            if rate - lower <= eps {
                break;
            }
            rate = lower;
        }
        rate
    }

    fn by_epoch(&self) -> bool {
        true
    }

    fn watched(&self) -> Option<&str> {
        Some(&self.rule.metric)
    }

    fn observe(&mut self, value: f64, _step: u64) {
        if self.is_better(value) {
            (self.best, self.bad) = (Some(value), 0);
        } else {
            self.bad += 1;
        }
        if self.cooling > 0 {
            self.cooling -= 1;
            self.bad = 0;
        }
        if self.bad > self.rule.patience {
            self.reductions += 1;
            (self.cooling, self.bad) = (self.rule.cooldown, 0);
        }
    }

    fn state(&self) -> Value {
        let whole = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let numbers =
            [("bad", self.bad), ("cooling", self.cooling), ("reductions", self.reductions)];
        let numbers = numbers.map(|(key, number)| (key.to_owned(), whole(number)));
        let best = self.best.map(|best| ("best".to_owned(), Value::Float(best)));
        Value::Table(numbers.into_iter().chain(best).collect())
    }

    fn load_state(&mut self, state: &Value) {
        let whole = |key: &str| match state.field(key) {
            Some(Value::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        self.best = state.field("best").and_then(Value::as_f64);
        self.bad = whole("bad").unwrap_or(self.bad);
        self.cooling = whole("cooling").unwrap_or(self.cooling);
        self.reductions = whole("reductions").unwrap_or(self.reductions);
    }
}
