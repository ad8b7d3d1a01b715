//! Every schedule against curves that `scripts/golden/lr_curves.py` wrote, over a whole run.

use std::collections::BTreeSet;
use std::path::Path;

use hookrack_plugin_api::Value;
use serde_json::Value as Json;

use super::{Horizon, LR_SCHEDULES, LrSchedule, part};
use crate::engine::registry::Choice;

struct Golden {
    file: String,
    name: String,
    settings: Vec<(String, Value)>,
    base: f64,
    rates: Vec<f64>,
}

fn golden() -> Vec<Golden> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine/lr/golden");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .map(|p| read(&p))
        .collect()
}

fn read(path: &Path) -> Golden {
    let json: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let Value::Table(settings) = part::value(&json["settings"]) else { unreachable!() };
    Golden {
        file: path.file_name().unwrap().to_string_lossy().into_owned(),
        name: json["type"].as_str().unwrap().to_owned(),
        settings,
        base: json["base"].as_f64().unwrap(),
        rates: json["rates"].as_array().unwrap().iter().map(|r| r.as_f64().unwrap()).collect(),
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
        let built = choice.build("lr scheduler", LR_SCHEDULES, &horizon);
        built.unwrap_or_else(|error| panic!("{}: {error}", self.file))
    }

    /// Within 1e-9 of the rate; where a rate is all but 0, within 1e-9 of a millionth of the base rate.
    fn check(&self, schedule: &dyn LrSchedule) {
        for (step, &wanted) in (0..).zip(&self.rates) {
            let found = schedule.lr(self.base, step);
            let tolerance = 1e-9 * wanted.abs().max(1e-6 * self.base);
            let near = (found - wanted).abs() <= tolerance;
            assert!(near, "{}, step {step}: {found}, not {wanted}", self.file);
        }
    }
}

#[test]
fn every_schedule_is_its_golden_curve() {
    for golden in golden() {
        let steps = golden.rates.len() as u64;
        let schedule = golden.build(false, steps);
        assert!(!schedule.by_epoch());
        golden.check(schedule.as_ref());
    }
}

#[test]
fn by_epoch_it_is_the_same_curve_over_epochs() {
    for golden in golden().into_iter().filter(|golden| golden.name != "ConstantLR") {
        let schedule = golden.build(true, golden.rates.len() as u64);
        assert!(schedule.by_epoch(), "{}", golden.file);
        golden.check(schedule.as_ref());
    }
}

#[test]
fn no_schedule_is_without_a_golden_curve() {
    let drawn: BTreeSet<String> = golden().into_iter().map(|golden| golden.name).collect();
    let known: BTreeSet<String> = LR_SCHEDULES.iter().map(|entry| entry.name.to_owned()).collect();
    assert_eq!(drawn, known);
}

/// A config of a long run must also pass a trial of a few steps: a rise longer than the run is cut short by its end.
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
