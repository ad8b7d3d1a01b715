//! Learning rate schedules: from a step to its rate.

mod bert_warmup;
mod constant;
mod cosine;
mod curve;
mod cyclic;
mod inner_schedule;
mod linear;
mod linear_non_zero;
mod one_cycle;
mod plateau;
mod polynomial;
mod pythia;
mod row;
mod sequential;
mod shape;
mod span;
mod step_decay;
mod table;
mod warmup;
mod warmup_rules;

pub use table::LR_SCHEDULES;

use hookrack_plugin_api::Value;

use super::registry::{Built, ComponentKind};

/// How long the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// Iterations of the whole run.
    pub iters: u64,
    /// Epochs of the whole run, including a last one that is cut short.
    pub epochs: u64,
}

impl Horizon {
    /// The steps that a schedule makes.
    pub fn steps(self, by_epoch: bool) -> u64 {
        if by_epoch { self.epochs } else { self.iters }
    }
}

/// A schedule. A pure function of the step, so that a resumed run needs only the step; only a schedule that
/// monitors a metric has state.
pub trait LrSchedule: Send {
    /// The rate at `step`, counted from 0, of a group whose own rate is `base`.
    fn lr(&self, base: f64, step: u64) -> f64;

    /// Whether a step is an epoch; otherwise it is an iteration.
    fn by_epoch(&self) -> bool;

    /// The momentum at a step, or Adam's first beta, if the schedule changes it too.
    fn momentum(&self, _step: u64) -> Option<f64> {
        None
    }

    /// The scalar that it monitors at the end of each epoch, such as `val/Loss`.
    fn watched(&self) -> Option<&str> {
        None
    }

    /// Receives the value of the scalar at a step.
    fn observe(&mut self, _value: f64, _step: u64) {}

    /// Its state.
    fn state(&self) -> Value {
        Value::empty()
    }

    /// Restores what [`state`](Self::state) returned; missing keys keep their values.
    fn load_state(&mut self, _state: &Value) {}
}

impl Built for dyn LrSchedule {
    const KIND: ComponentKind = ComponentKind::LrScheduler;
}

#[cfg(test)]
mod golden_curves;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::registry::{Build as _, Choice};

    fn build(name: &str, settings: &[(&str, Value)], steps: u64) -> Result<Box<dyn LrSchedule>> {
        let horizon = Horizon { iters: steps, epochs: steps };
        Choice::new(name, settings).build(LR_SCHEDULES, &horizon)
    }

    fn refusal(name: &str, settings: &[(&str, Value)]) -> String {
        build(name, settings, 100).err().unwrap().to_string()
    }

    fn steps(values: &[i64]) -> Value {
        Value::List(values.iter().map(|&value| value.into()).collect())
    }

    fn part(name: &str, settings: &[(&str, Value)]) -> Value {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        Value::Table(std::iter::once(("type".to_owned(), name.into())).chain(settings).collect())
    }

    #[test]
    fn a_schedule_by_epoch_counts_epochs() {
        let settings = [("by_epoch", true.into()), ("warmup_steps", 1_i64.into())];
        let horizon = Horizon { iters: 1000, epochs: 3 };
        let schedule = Choice::new("CosineAnnealingWarmupLR", &settings)
            .build(LR_SCHEDULES, &horizon)
            .unwrap();
        assert!(schedule.by_epoch());
        assert!(schedule.lr(1.0, 3).abs() < 1e-12);
    }

    #[test]
    fn milestones_out_of_order_are_refused() {
        for (name, key) in [
            ("MultiStepLR", "milestones"),
            ("MultiStepWarmupLR", "milestones"),
            ("WarmupMultiStepLR", "milestones"),
            ("PythiaScheduler", "lr_steps"),
            ("MultiStepScheduler", "lr_steps"),
        ] {
            let text = refusal(name, &[(key, steps(&[30, 10]))]);
            assert!(text.contains(name) && text.contains(key), "{text}");
            assert!(text.contains("10 comes after 30"), "{text}");
        }
    }

    #[test]
    fn a_rise_into_the_first_step_of_a_multi_step_scheduler_is_refused() {
        let settings = [
            ("lr_steps", steps(&[5])),
            ("use_warmup", true.into()),
            ("warmup_iterations", 5_i64.into()),
        ];
        let text = refusal("MultiStepScheduler", &settings);
        assert!(text.contains("warmup_iterations = 5"), "{text}");
        assert!(build("PythiaScheduler", &settings, 10).is_ok());
    }

    #[test]
    fn factors_that_cannot_be_used_are_refused() {
        for name in ["LambdaLR", "MultiplicativeLR"] {
            assert!(refusal(name, &[("factors", Value::List(vec![]))]).contains("empty"));
            let text = refusal(name, &[("factors", Value::List(vec![1.0.into(), (-1.0).into()]))]);
            assert!(text.contains("-1"), "{text}");
        }
    }

    #[test]
    fn a_sequence_that_does_not_fit_together_is_refused() {
        let two = Value::List(vec![part("LinearLR", &[]), part("StepLR", &[])]);
        let text = |schedules: &Value, milestones: &[i64]| {
            let settings = [("schedules", schedules.clone()), ("milestones", steps(milestones))];
            refusal("Sequential", &settings)
        };
        assert!(text(&two, &[]).contains("2 schedules and 0 milestones"));
        assert!(text(&two, &[0]).contains("must be increasing"));
        let three =
            Value::List(vec![part("StepLR", &[]), part("StepLR", &[]), part("StepLR", &[])]);
        assert!(text(&three, &[7, 7]).contains("must be increasing"));
        let wrong = Value::List(vec![part("StepLR", &[]), part("StepLr2", &[])]);
        let text = text(&wrong, &[7]);
        assert!(text.contains("schedules.1") && text.contains("did you mean `StepLR`"), "{text}");
    }

    #[test]
    fn a_part_counts_as_the_whole_does() {
        let by_epoch = part("StepLR", &[("by_epoch", true.into())]);
        let settings = [("warmup_steps", 3_i64.into()), ("schedule", by_epoch)];
        assert!(refusal("Warmup", &settings).contains("by_epoch"));
        let mut settings = settings.to_vec();
        settings.push(("by_epoch", true.into()));
        assert!(build("Warmup", &settings, 9).unwrap().by_epoch());
        let text = refusal("Warmup", &[("warmup_steps", 1_i64.into()), ("schedule", 3_i64.into())]);
        assert!(text.contains("schedule: expected a table with a `type`"), "{text}");
    }
}
