//! Every schedule against curves that `scripts/golden/lr_curves.py` wrote, over a whole run.

use std::collections::BTreeSet;
use std::path::Path;

use hookrack_plugin_api::Value;
use serde_json::Value as Json;

use super::{Horizon, LR_SCHEDULES, LrSchedule};
use crate::registry::{Build as _, Choice};
use crate::tree::Tree;

struct Golden {
    file: String,
    name: String,
    settings: Vec<(String, Value)>,
    base: f64,
    rates: Vec<f64>,
    /// The momenta, if the schedule changes them.
    momenta: Option<Vec<f64>>,
    /// The metric that the schedule receives before each rate.
    told: Option<Vec<f64>>,
}

fn golden() -> Vec<Golden> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lr/golden");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .map(|p| read(&p))
        .collect()
}

fn read(path: &Path) -> Golden {
    let json: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let Tree(Value::Table(settings)) = serde_json::from_value(json["settings"].clone()).unwrap()
    else {
        unreachable!()
    };
    let numbers = |key: &str| {
        let list = json[key].as_array()?;
        Some(list.iter().map(|number| number.as_f64().unwrap()).collect::<Vec<_>>())
    };
    Golden {
        file: path.file_name().unwrap().to_string_lossy().into_owned(),
        name: json["type"].as_str().unwrap().to_owned(),
        settings,
        base: json["base"].as_f64().unwrap(),
        rates: numbers("rates").unwrap(),
        momenta: numbers("momenta"),
        told: numbers("told"),
    }
}

impl Golden {
    fn build(&self, by_epoch: bool, steps: u64) -> Box<dyn LrSchedule> {
        let mut settings = self.settings.clone();
        let mut horizon = Horizon { iters: steps, epochs: 7 };
        if by_epoch {
            settings.push(("by_epoch".to_owned(), true.into()));
            horizon = Horizon { iters: 12_345, epochs: steps };
        }
        let choice = Choice { name: self.name.clone(), settings: Value::Table(settings) };
        let built = choice.build(LR_SCHEDULES, &horizon);
        built.unwrap_or_else(|error| panic!("{}: {error}", self.file))
    }

    /// Within 1e-9 of the rate; where a rate is all but 0, within 1e-9 of a millionth of the base rate.
    fn check(&self, schedule: &mut dyn LrSchedule) {
        for (step, &wanted) in (0..).zip(&self.rates) {
            if let Some(told) = &self.told {
                schedule.observe(told[usize::try_from(step).unwrap()], step);
            }
            self.check_momentum(schedule, step);
            let found = schedule.lr(self.base, step);
            let tolerance = 1e-9 * wanted.abs().max(1e-6 * self.base);
            let near = (found - wanted).abs() <= tolerance;
            assert!(near, "{}, step {step}: {found}, not {wanted}", self.file);
        }
    }
}

impl Golden {
    /// Within 1e-9, and none at all where PyTorch's schedule leaves it alone.
    fn check_momentum(&self, schedule: &dyn LrSchedule, step: u64) {
        let wanted = self.momenta.as_ref().map(|all| all[usize::try_from(step).unwrap()]);
        let found = schedule.momentum(step);
        let near = match (found, wanted) {
            (Some(found), Some(wanted)) => (found - wanted).abs() <= 1e-9,
            (found, wanted) => found == wanted,
        };
        assert!(near, "{}, step {step}: momentum {found:?}, not {wanted:?}", self.file);
    }

    /// Whether the schedule itself defines what a step is.
    fn has_steps_of_its_own(&self) -> bool {
        self.name == "ConstantLR" || self.told.is_some()
    }
}

#[test]
fn every_schedule_is_its_golden_curve() {
    for golden in golden() {
        let steps = golden.rates.len() as u64;
        let mut schedule = golden.build(false, steps);
        assert_eq!(schedule.by_epoch(), golden.told.is_some());
        golden.check(schedule.as_mut());
    }
}

/// Half the values, then a new schedule with the state of the first.
#[test]
fn a_schedule_that_follows_a_metric_resumes_where_it_was() {
    for golden in golden().into_iter().filter(|golden| golden.told.is_some()) {
        let told = golden.told.clone().unwrap();
        let (mut first, mut second) = (golden.build(false, 1), golden.build(false, 1));
        let half = told.len() / 2;
        told[..half].iter().for_each(|value| first.observe(*value, 0));
        second.load_state(&first.state());
        for (value, wanted) in told[half..].iter().zip(&golden.rates[half..]) {
            second.observe(*value, 0);
            let found = second.lr(golden.base, 0);
            assert!((found - wanted).abs() <= 1e-12, "{}: {found}, not {wanted}", golden.file);
        }
    }
}

#[test]
fn nan_is_never_better_and_a_rise_before_a_plateau_hides_it() {
    let settings = r#"{"warmup_steps":2,"by_epoch":true,"schedule":{"type":"ReduceOnPlateauSchedule","metric":"val/Loss","patience":0}}"#;
    let Tree(settings) = serde_json::from_str(settings).unwrap();
    let choice = Choice { name: "Warmup".to_owned(), settings };
    let horizon = Horizon { iters: 100, epochs: 10 };
    let mut schedule = choice.build(LR_SCHEDULES, &horizon).unwrap();
    assert_eq!(schedule.watched(), Some("val/Loss"));
    let rates: Vec<f64> = (0..6)
        .map(|step| {
            schedule.observe(if step == 4 { 0.5 } else { f64::NAN }, step);
            schedule.lr(0.3, step)
        })
        .collect();
    for (found, wanted) in rates.iter().zip([0.1, 0.2, 0.03, 0.003, 0.003, 0.0003]) {
        assert!((found - wanted).abs() < 1e-12, "{rates:?}");
    }
}

#[test]
fn by_epoch_it_is_the_same_curve_over_epochs() {
    for golden in golden().into_iter().filter(|golden| !golden.has_steps_of_its_own()) {
        let mut schedule = golden.build(true, golden.rates.len() as u64);
        assert!(schedule.by_epoch(), "{}", golden.file);
        golden.check(schedule.as_mut());
    }
}

#[test]
fn no_schedule_is_without_a_golden_curve() {
    let drawn: BTreeSet<String> = golden().into_iter().map(|golden| golden.name).collect();
    let known: BTreeSet<String> = LR_SCHEDULES.iter().map(|entry| entry.name.to_owned()).collect();
    assert_eq!(drawn, known);
}

/// A config of a long run must also pass a trial of a few steps: the run then ends within its warm-up.
#[test]
fn runs_shorter_than_a_rise_and_runs_of_no_step_have_rates_that_can_be_used() {
    for golden in golden() {
        for steps in [0, 1, 2, 3, 10] {
            let schedule = golden.build(false, steps);
            for step in (0..=steps + 3).chain([1_000_000_000_000]) {
                let rate = schedule.lr(golden.base, step);
                assert!(
                    rate.is_finite() && rate >= 0.0,
                    "{}, {step} of {steps}: {rate}",
                    golden.file
                );
            }
        }
    }
}
