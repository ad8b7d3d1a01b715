//! Learning rate schedules: from a step's number to the rate.

mod bert_warmup;
mod constant;
mod cosine_annealing;
mod cosine_annealing_warm_restarts;
mod cosine_annealing_warmup;
mod cyclic;
mod exponential;
mod factors;
mod flat_annealing;
mod hugging_face;
mod linear;
mod linear_non_zero;
mod linear_warmup;
mod multi_step;
mod one_cycle;
mod part;
mod plateau;
mod polynomial;
mod pythia;
mod rise;
mod rule;
mod sequential;
mod shape;
mod span;
mod step;
mod warmup;
mod warmup_cosine;
mod warmup_polynomial;
mod warmup_stairs;

pub use constant::ConstantLr;
pub use cosine_annealing_warmup::CosineAnnealingWarmupLr;
pub use rise::{Divisor, LinearRise};

use hookrack_plugin_api::Value;

use super::registry::Entry;

/// How long the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// Iterations of the whole run.
    pub iters: u64,
    /// Epochs of the whole run, the last one begun counted whole.
    pub epochs: u64,
}

impl Horizon {
    /// The steps that a schedule makes.
    pub fn steps(self, by_epoch: bool) -> u64 {
        if by_epoch { self.epochs } else { self.iters }
    }
}

/// A schedule. A pure function of the step, so that a resumed run needs nothing but the step's number; only one that
/// follows a metric has something to remember.
pub trait LrSchedule: Send {
    /// The rate for step `step`, which begins at 0, of a group whose own rate is `base`.
    fn lr(&self, base: f64, step: u64) -> f64;

    /// Whether a step is an epoch; else it is an iteration.
    fn by_epoch(&self) -> bool;

    /// The momentum for a step, or Adam's first beta, where the schedule moves it too.
    fn momentum(&self, _step: u64) -> Option<f64> {
        None
    }

    /// The scalar whose value it wants to be told at the end of each epoch, such as `val/Loss`.
    fn watched(&self) -> Option<&str> {
        None
    }

    /// Takes the value that the scalar has at a step.
    fn observe(&mut self, _value: f64, _step: u64) {}

    /// What it remembers of the values.
    fn memory(&self) -> Value {
        Value::empty()
    }

    /// Takes up what [`memory`](Self::memory) gave; what is not there stays as it is.
    fn recall(&mut self, _memory: &Value) {}
}

/// Every schedule that a config can name.
pub static LR_SCHEDULES: &[Entry<Horizon, dyn LrSchedule>] = &[
    Entry::of::<ConstantLr>(),
    // ColossalAI's, with PyTorch's where the name is the same.
    Entry::of::<cosine_annealing::CosineAnnealingLr>(),
    Entry::of::<CosineAnnealingWarmupLr>(),
    Entry::of::<flat_annealing::FlatAnnealingLr>(),
    Entry::of::<flat_annealing::FlatAnnealingWarmupLr>(),
    Entry::of::<linear_warmup::LinearWarmupLr>(),
    Entry::of::<linear_warmup::LinearWarmupDecay>(),
    Entry::of::<multi_step::MultiStepLr>(),
    Entry::of::<multi_step::MultiStepWarmupLr>(),
    Entry::of::<one_cycle::OneCycleLr>(),
    Entry::of::<polynomial::PolynomialLr>(),
    Entry::of::<polynomial::PolynomialWarmupLr>(),
    Entry::of::<step::StepLr>(),
    Entry::of::<exponential::ExponentialLr>(),
    Entry::of::<factors::LambdaLr>(),
    Entry::of::<factors::MultiplicativeLr>(),
    // LiBai's.
    Entry::of::<warmup_cosine::WarmupCosineLr>(),
    Entry::of::<warmup_cosine::WarmupCosineAnnealingLr>(),
    Entry::of::<warmup_stairs::WarmupStepLr>(),
    Entry::of::<warmup_stairs::WarmupMultiStepLr>(),
    Entry::of::<warmup_stairs::WarmupExponentialLr>(),
    Entry::of::<warmup_polynomial::WarmupPolynomialLr>(),
    // iMIX's.
    Entry::of::<linear_non_zero::WarmupLinearScheduleNonZero>(),
    Entry::of::<bert_warmup::BertWarmupLinearLr>(),
    Entry::of::<hugging_face::ConstantSchedule>(),
    Entry::of::<hugging_face::WarmupConstantSchedule>(),
    Entry::of::<hugging_face::WarmupLinearSchedule>(),
    Entry::of::<hugging_face::WarmupCosineSchedule>(),
    Entry::of::<hugging_face::WarmupCosineWithHardRestartsSchedule>(),
    Entry::of::<hugging_face::WarmupPolynomialSchedule>(),
    Entry::of::<pythia::MultiStepScheduler>(),
    Entry::of::<pythia::PythiaScheduler>(),
    // PyTorch's own.
    Entry::of::<cosine_annealing_warm_restarts::CosineAnnealingWarmRestarts>(),
    Entry::of::<cyclic::CyclicLr>(),
    Entry::of::<linear::LinearLr>(),
    Entry::of::<plateau::ReduceLrOnPlateau>(),
    // Made of others.
    Entry::of::<sequential::Sequential>(),
    Entry::of::<warmup::WarmedUp>(),
];

#[cfg(test)]
mod golden_curves;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::registry::Choice;

    fn build(name: &str, settings: &[(&str, Value)], steps: u64) -> Result<Box<dyn LrSchedule>> {
        let horizon = Horizon { iters: steps, epochs: steps };
        Choice::new(name, settings).build("lr scheduler", LR_SCHEDULES, &horizon)
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
            .build("lr scheduler", LR_SCHEDULES, &horizon)
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
        assert!(text(&two, &[0]).contains("must rise"));
        let three =
            Value::List(vec![part("StepLR", &[]), part("StepLR", &[]), part("StepLR", &[])]);
        assert!(text(&three, &[7, 7]).contains("must rise"));
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
        assert!(text.contains("is no schedule"), "{text}");
    }
}
