//! The metric over batches: it counts, refuses what it cannot read, and merges.

use hookrack_fake_host::{Data, FakeHost};
use hookrack_plugin_api::abi::{MetricBase, SLOT_LABEL, SLOT_OUTPUT};
use hookrack_plugin_api::{Value, metric_table};
use topk::TopK;

static TABLE: MetricBase = metric_table!(TopK);

fn settings(k: i64) -> Value {
    Value::Table(vec![("k".to_owned(), Value::Int(k))])
}

/// Two samples of three classes: the labels rank second and third.
fn batch(host: &FakeHost) {
    host.slot(SLOT_OUTPUT, Data::F32(vec![0.1, 0.9, 0.5, 0.3, 0.2, 0.1], vec![2, 3]));
    host.slot(SLOT_LABEL, Data::ints(&[2, 2]));
}

#[test]
fn batches_add_up_and_so_do_processes() {
    let host = FakeHost::new("TopK");
    batch(&host);
    let metric = host.metric(&TABLE, &settings(2)).unwrap();
    assert!(metric.value().unwrap().is_nan());
    metric.update().unwrap();
    metric.update().unwrap();
    assert!((metric.value().unwrap() - 0.5).abs() < 1e-12);
    let saved = metric.save().unwrap();
    assert_eq!(saved.values["samples"], Value::Int(4));
    host.slot(SLOT_OUTPUT, Data::F32(vec![0.1, 0.9], vec![1, 2]));
    host.slot(SLOT_LABEL, Data::ints(&[1]));
    metric.update().unwrap();
    metric.merge(&saved).unwrap();
    assert!((metric.value().unwrap() - 5.0 / 9.0).abs() < 1e-12);
}

#[test]
fn an_output_that_is_no_table_of_scores_is_refused() {
    let host = FakeHost::new("TopK");
    batch(&host);
    host.slot(SLOT_OUTPUT, Data::floats(&[0.1, 0.9]));
    let metric = host.metric(&TABLE, &Value::empty()).unwrap();
    let error = metric.update().unwrap_err();
    assert_eq!(error, "expected an output of samples by classes, found shape [2]");
    host.slot(SLOT_OUTPUT, Data::F32(vec![0.1; 9], vec![3, 3]));
    let error = metric.update().unwrap_err();
    assert_eq!(error, "expected 3 labels, one for each sample, found shape [2]");
}

#[test]
fn an_empty_batch_counts_nothing() {
    let host = FakeHost::new("TopK");
    host.slot(SLOT_OUTPUT, Data::F32(Vec::new(), vec![0, 10]));
    host.slot(SLOT_LABEL, Data::ints(&[]));
    let metric = host.metric(&TABLE, &Value::empty()).unwrap();
    metric.update().unwrap();
    assert!(metric.value().unwrap().is_nan());
}
