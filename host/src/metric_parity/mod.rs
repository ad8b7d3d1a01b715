//! Every metric has the value of scikit-learn, PyTorch or torchmetrics, through the tables that a plugin's metric would use.

use crate::context::Context;
use crate::context::Slot;
use crate::engine::data::{DATASETS, Dataset};
use crate::engine::registry::Build as _;
use crate::engine::{Choice, Engine};
use crate::metrics::METRICS;
use crate::plugins::{Instance, MetricType, gather, give_back};
use crate::torch::rounding;
use crate::writers::Writers;
use hookrack_plugin_api::{Phase, Point, Value};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use tch::Tensor;

/// torchmetrics counts in 32 bits: up to four shares and their logarithms, a mean and an exponential.
const BLEU: u32 = 32;

/// A run's context, around an engine that nothing here uses.
fn context() -> Rc<Context> {
    let data: Arc<dyn Dataset> = Choice::new("Digits", &[]).build(DATASETS, &()).unwrap().into();
    let engine = Engine::builder()
        .model(Choice::new("MLP", &[]))
        .optimizer(Choice::new("SGD", &[]))
        .build(&data.spec())
        .unwrap();
    let context = Context::new(engine, Writers::default(), None);
    context.advance(|p| p.phase = Phase::Val);
    Rc::new(context)
}

fn golden() -> Json {
    serde_json::from_str(include_str!("golden.json")).unwrap()
}

/// The batches of a case.
fn batches<'a>(golden: &'a Json, case: &Json) -> &'a [Json] {
    let pass = usize::try_from(case["pass"].as_u64().unwrap()).unwrap();
    golden["passes"][pass].as_array().unwrap()
}

/// Whole numbers are classes and tokens, all others 32-bit numbers; null is NaN.
fn tensor(json: &Json) -> Tensor {
    let data = json["data"].as_array().unwrap();
    let shape: Vec<i64> =
        json["shape"].as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect();
    let classes: Option<Vec<i64>> = data.iter().map(Json::as_i64).collect();
    let flat = classes.map_or_else(
        || {
            #[expect(clippy::cast_possible_truncation, reason = "golden inputs are 32-bit numbers")]
            let number = |n: &Json| n.as_f64().unwrap_or(f64::NAN) as f32;
            Tensor::from_slice(&data.iter().map(number).collect::<Vec<_>>())
        },
        |classes| Tensor::from_slice(&classes),
    );
    flat.reshape(shape)
}

fn settings(json: &Json) -> Value {
    let entry = |(key, value): (&String, &Json)| {
        let value: Value = match value {
            Json::Bool(truth) => (*truth).into(),
            Json::String(text) => text.as_str().into(),
            Json::Number(number) => {
                number.as_i64().map_or_else(|| number.as_f64().unwrap().into(), Into::into)
            }
            other => panic!("{other} is not a setting"),
        };
        (key.clone(), value)
    };
    Value::Table(json.as_object().unwrap().iter().map(entry).collect())
}

/// A metric in a run, and the point at which the run is.
struct MetricRun {
    context: Rc<Context>,
    instance: Instance,
    name: String,
}

impl MetricRun {
    fn new(context: &Rc<Context>, case: &Json) -> Self {
        let name = case["metric"].as_str().unwrap().to_owned();
        let all = METRICS.iter().map(|table| MetricType::built_in(table).unwrap());
        let metric = all.into_iter().find(|metric| metric.name() == name).unwrap();
        let settings = settings(&case["settings"]);
        let instance =
            Instance::metric(&metric, &name, Phase::Val.into(), &settings, context).unwrap();
        Self { context: Rc::clone(context), instance, name }
    }

    fn fire(&mut self, point: Point) {
        let status = self.instance.on_point(point);
        let outcome = if status == hookrack_plugin_api::abi::HrStatus::OK {
            String::new()
        } else {
            self.instance.take_error()
        };
        assert_eq!(outcome, "", "{}", self.name);
    }

    fn update(&mut self, batch: &Json) {
        let (output, label) = (tensor(&batch["output"]), tensor(&batch["label"]));
        let samples = output.size()[0].unsigned_abs();
        self.context.advance(|p| p.batch_size = samples);
        self.context.set_batch(output.shallow_clone(), Some(label));
        self.context.current.borrow_mut().set(Slot::Output, Some(output));
        self.fire(Point::AfterValIter);
    }

    fn update_all(&mut self, batches: &[Json]) {
        for batch in batches {
            self.update(batch);
        }
    }

    fn value(&mut self) -> f64 {
        self.fire(Point::AfterValEpoch);
        self.context.metrics.borrow().value(Phase::Val, &self.name, false).unwrap()
    }
}

fn agree(case: &Json, found: f64, how: &str) {
    let wanted = case["value"].as_f64().unwrap_or(f64::NAN);
    let (name, metric) = (&case["case"], &case["metric"]);
    let tolerance = if metric == "BLEU" { rounding::gamma(BLEU) } else { rounding::DOUBLES };
    let off = (wanted - found).abs() / wanted.abs().max(1.0);
    let same = (wanted.is_nan() && found.is_nan()) || off <= tolerance;
    assert!(same, "{metric} of {name}, {how}: {found} is not {wanted}");
}

#[test]
fn every_metric_agrees_with_its_golden_value_and_again_after_a_reset() {
    let (golden, context) = (golden(), context());
    for case in golden["cases"].as_array().unwrap() {
        let batches = batches(&golden, case);
        let mut subject = MetricRun::new(&context, case);
        for pass in ["first pass", "second pass"] {
            subject.fire(Point::BeforeValEpoch);
            subject.update_all(batches);
            agree(case, subject.value(), pass);
            // Reading changes nothing.
            agree(case, subject.value(), "read twice");
        }
    }
}

#[test]
fn a_pass_saved_in_the_middle_continues_elsewhere_to_the_same_value() {
    let (golden, context) = (golden(), context());
    for case in golden["cases"].as_array().unwrap() {
        let batches = batches(&golden, case);
        let (mut first, mut second) =
            (MetricRun::new(&context, case), MetricRun::new(&context, case));
        let (begin, rest) = batches.split_at(batches.len() / 2);
        first.update_all(begin);
        let state = gather(&context, |writer| first.instance.save_state(writer)).unwrap();
        give_back(&context, &state, |reader| second.instance.load_state(reader)).unwrap();
        second.update_all(rest);
        agree(case, second.value(), "saved and taken up");
    }
}

#[test]
fn no_metric_is_without_a_golden_value() {
    let golden = golden();
    let cases = golden["cases"].as_array().unwrap();
    let covered: BTreeSet<_> = cases.iter().map(|case| case["metric"].as_str().unwrap()).collect();
    let all: BTreeSet<_> = METRICS
        .iter()
        .map(|table| MetricType::built_in(table).unwrap().name().to_owned())
        .collect();
    let missing: Vec<_> = all.iter().filter(|name| !covered.contains(name.as_str())).collect();
    // The loss is computed by the engine, and times are not predictable.
    assert_eq!(missing, ["Loss", "Throughput"]);
}

#[test]
fn two_metrics_of_one_type_have_values_of_their_own() {
    let (golden, context) = (golden(), context());
    let case = &golden["cases"][0];
    let batches = batches(&golden, case);
    let metric = METRICS.iter().map(|table| MetricType::built_in(table).unwrap());
    let metric = metric.into_iter().find(|metric| metric.name() == "RecallAtK").unwrap();
    for (name, k) in [("top", 1i64), ("all", 5)] {
        let settings = Value::Table([("k".to_owned(), k.into())].into_iter().collect());
        let instance =
            Instance::metric(&metric, name, Phase::Val.into(), &settings, &context).unwrap();
        let mut subject =
            MetricRun { context: Rc::clone(&context), instance, name: name.to_owned() };
        subject.update_all(batches);
        subject.value();
    }
    let metrics = context.metrics.borrow();
    let value = |name| metrics.value(Phase::Val, name, false).unwrap();
    assert!(value("top") < 1.0 && (value("all") - 1.0).abs() < 1e-12);
    assert!(metrics.value(Phase::Val, "RecallAtK", false).is_none());
}
