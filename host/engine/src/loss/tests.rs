//! Every loss against PyTorch's golden values and gradients, and what all of them refuse.

use hookrack_plugin_api::Value;
use serde::Deserialize;
use tch::{Kind, Tensor};

use super::*;
use crate::data::Target;
use crate::registry::{Build as _, Choice};
use crate::tree::Tree;
use hookrack_torch::autograd;
use hookrack_torch::rounding;

#[derive(Deserialize)]
struct Golden {
    rows: i64,
    columns: i64,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    r#type: String,
    settings: Tree,
    classes: bool,
    output: Vec<f64>,
    label: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden.json")).unwrap()
}

fn build(name: &str, settings: &Tree, target: Target) -> Result<Box<dyn Criterion>> {
    let choice = Choice { name: name.to_owned(), settings: settings.0.clone() };
    choice.build(LOSSES, &DataSpec { input: vec![3], target })
}

/// The most roundings between the numbers of a case and its loss, or a gradient: those of the inputs, of a softmax over three, of a product with
/// weights, and of a sum over twelve.
const ROUNDINGS: u32 = 32;

#[test]
fn values_and_gradients_are_pytorchs() {
    let Golden { rows, columns, cases } = golden();
    for case in cases {
        let inputs = case.output.iter().chain(&case.label).map(|value| value.abs());
        let largest = inputs.fold(1.0, f64::max);
        for (kind, tolerance) in
            [(Kind::Double, rounding::DOUBLES), (Kind::Float, rounding::gamma(ROUNDINGS))]
        {
            let close = |found: f64, wanted: f64| {
                (found - wanted).abs() <= tolerance * wanted.abs().max(largest)
            };
            let shaped = |values: &[f64]| Tensor::from_slice(values).view([rows, columns]);
            let output = shaped(&case.output).to_kind(kind).set_requires_grad(true);
            let (label, target) = if case.classes {
                let label = Tensor::from_slice(&case.label).to_kind(Kind::Int64);
                (label, Target::Classes(columns))
            } else {
                (shaped(&case.label).to_kind(kind), Target::Values(vec![columns]))
            };
            let criterion = build(&case.r#type, &case.settings, target).unwrap();
            let loss = criterion.loss(&output, &label).unwrap();
            autograd::backward(&loss).unwrap();
            let told = format!("{} {:?} {kind:?}", case.r#type, case.settings.0);
            assert!(loss.size().is_empty(), "{told}");
            let found = loss.double_value(&[]);
            assert!(close(found, case.loss), "{told}: {found}, not {}", case.loss);
            let gradient: Vec<f64> =
                Vec::try_from(output.grad().flatten(0, -1).to_kind(Kind::Double)).unwrap();
            for (found, wanted) in gradient.iter().zip(&case.gradient) {
                assert!(close(*found, *wanted), "{told}: {found}, not {wanted}");
            }
        }
    }
}

#[test]
fn every_loss_is_compared() {
    let compared: Vec<String> = golden().cases.into_iter().map(|case| case.r#type).collect();
    for entry in LOSSES {
        assert!(compared.iter().any(|name| name == entry.name), "{} is not", entry.name);
    }
}

#[test]
fn labels_of_the_other_kind_are_refused() {
    for case in golden().cases {
        let target = if case.classes { Target::Values(vec![3]) } else { Target::Classes(3) };
        let error = build(&case.r#type, &case.settings, target).err().unwrap().to_string();
        let hint = if case.classes { "use MSE" } else { "use CrossEntropy" };
        assert!(error.ends_with(hint), "{error}");
    }
}

#[test]
fn shapes_are_never_stretched() {
    let label = Tensor::zeros([4], tch::kind::FLOAT_CPU);
    let output = Tensor::zeros([4, 1], tch::kind::FLOAT_CPU);
    for case in golden().cases.into_iter().filter(|case| !case.classes) {
        let criterion = build(&case.r#type, &case.settings, Target::Values(vec![3])).unwrap();
        let error = criterion.loss(&output, &label).unwrap_err().to_string();
        assert!(error.contains("for the label, expects shape [4, 1]"), "{error}");
    }
}

#[test]
fn weights_that_do_not_fit_are_reported() {
    let error = |name: &str, key: &str, numbers: &[f64], target: Target| {
        let settings = Choice::new(name, &[(key, numbers.to_vec().into())]).settings;
        build(name, &Tree(settings), target).err().unwrap().to_string()
    };
    assert_eq!(
        error("CrossEntropy", "class_weights", &[1.0, 2.0], Target::Classes(3)),
        "loss `CrossEntropy`: class_weights: expected 3 numbers, found 2"
    );
    assert_eq!(
        error("NLL", "class_weights", &[1.0, -2.0], Target::Classes(2)),
        "loss `NLL`: class_weights: -2 is negative or not finite: must be at least 0"
    );
    assert_eq!(
        error("BCEWithLogits", "pos_weight", &[1.0, f64::NAN], Target::Values(vec![2])),
        "loss `BCEWithLogits`: pos_weight: NaN is negative or not finite: must be at least 0"
    );
    assert_eq!(
        error("BCEWithLogits", "pos_weight", &[1.0, 2.0], Target::Values(vec![3])),
        "loss `BCEWithLogits`: pos_weight: expected 3 numbers, found 2"
    );
    let zero = Choice::new("Huber", &[("delta", 0.0.into())]).settings;
    let error = build("Huber", &Tree(zero), Target::Values(vec![3])).err().unwrap().to_string();
    assert_eq!(error, "loss `Huber`: delta = 0: must be above 0, or use L1");
}

#[test]
fn losses_of_parts_weighed_by_what_counts_make_the_loss_of_the_whole() {
    let Golden { rows, columns, cases } = golden();
    for case in cases {
        let shaped = |values: &[f64]| Tensor::from_slice(values).view([rows, columns]);
        let (label, target) = if case.classes {
            (Tensor::from_slice(&case.label).to_kind(Kind::Int64), Target::Classes(columns))
        } else {
            (shaped(&case.label), Target::Values(vec![columns]))
        };
        let output = shaped(&case.output);
        let criterion = build(&case.r#type, &case.settings, target).unwrap();
        let (mut sum, mut whole) = (0.0, 0.0);
        for (start, rows) in [(0, 1), (1, 3)] {
            let (output, label) = (output.narrow(0, start, rows), label.narrow(0, start, rows));
            #[expect(clippy::cast_precision_loss, reason = "a few rows")]
            let weight = criterion.counted(&label).unwrap().unwrap_or(rows as f64);
            if weight > 0.0 {
                sum += weight * criterion.loss(&output, &label).unwrap().double_value(&[]);
            }
            whole += weight;
        }
        let told = format!("{} {:?}", case.r#type, case.settings.0);
        let off = (sum / whole - case.loss).abs();
        assert!(off <= rounding::DOUBLES * case.loss.abs().max(1.0), "{told}: off by {off:e}");
    }
}

#[test]
fn shares_of_classes_count_by_rows_whatever_classes_weigh() {
    let settings = Choice::new("", &[("class_weights", Value::List(vec![1.0.into(), 4.0.into()]))]);
    let criterion = build("CrossEntropy", &Tree(settings.settings), Target::Shares(2)).unwrap();
    let output = Tensor::from_slice2(&[[0.5, 2.0], [1.0, -1.0], [0.3, 0.1]]);
    let label = Tensor::from_slice2(&[[0.3, 0.7], [1.0, 0.0], [0.5, 0.5]]);
    assert_eq!(criterion.counted(&label).unwrap(), None);
    let loss = |start, rows| {
        let (output, label) = (output.narrow(0, start, rows), label.narrow(0, start, rows));
        criterion.loss(&output, &label).unwrap().double_value(&[])
    };
    let parts = loss(0, 1) / 3.0 + loss(1, 2) * 2.0 / 3.0;
    assert!((parts - loss(0, 3)).abs() <= rounding::DOUBLES, "{parts}, not {}", loss(0, 3));
}
