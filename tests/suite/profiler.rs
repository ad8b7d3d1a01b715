//! The profiler plugin: a trace with operators, the autograd engine and our hooks, and a table that agrees with it.

use crate::workbench::{Bench, hook};
use serde_json::Value as Json;
use std::collections::HashMap;

/// Calls and microseconds by name of all complete events of one category.
fn totals(trace: &Json, category: &str) -> HashMap<String, (u64, f64)> {
    let mut totals: HashMap<String, (u64, f64)> = HashMap::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        if event["ph"] == "X" && event["cat"] == category {
            let total = totals.entry(event["name"].as_str().unwrap().to_owned()).or_default();
            total.0 += 1;
            total.1 += event["dur"].as_f64().unwrap();
        }
    }
    totals
}

#[test]
fn the_trace_has_operators_autograd_and_hooks_and_the_table_agrees_with_it() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"AutogradProfilerHook\"\nname = \"it\"\nwait = 1\nwarmup = 1\nactive = 2\n\
         row_limit = 1000\nwith_flops = true\n",
    );
    let run = bench.trained("run", &[]);
    let trace = run.json("profile/it-iter_0000004.json");
    let (ops, ours) = (totals(&trace, "cpu_op"), totals(&trace, "user_annotation"));
    for name in ["aten::addmm", "LinearReluBackward", "torch::autograd::AccumulateGrad"] {
        assert!(ops.contains_key(name), "{name}: {ops:?}");
    }
    assert_eq!(ours["LossHook: after_train_iter"].0, 2, "{ours:?}");
    assert_eq!(ours["after_train_iter"].0, 2, "{ours:?}");
    assert_eq!(ours["MainHook: on_train_forward"].0, 2, "{ours:?}");

    let log = run.text("log.txt");
    let rows: Vec<Vec<_>> = log
        .lines()
        .filter(|line| line.starts_with("aten::"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert!(rows.len() > 10, "{log}");
    for row in &rows {
        let (calls, total): (u64, f64) = (row[1].parse().unwrap(), row[4].parse().unwrap());
        let (expected_calls, expected) = ops[row[0]];
        assert_eq!(calls, expected_calls, "{}", row[0]);
        // The table has three digits of a millisecond, the trace of a microsecond.
        assert!((total - expected / 1e3).abs() < 2e-3, "{}: {total} ms, {expected} µs", row[0]);
    }
    let listed: Vec<_> = ops.keys().filter(|name| name.starts_with("aten::")).collect();
    assert_eq!(rows.len(), listed.len(), "{listed:?}");
}

#[test]
fn a_run_without_the_hook_records_nothing_and_a_short_window_is_still_written() {
    let bench = Bench::new(&hook("AutogradProfilerHook", "name = 'it'\nwait = 2\nactive = 9"));
    let run = bench.trained("run", &[]);
    let trace = run.json("profile/it-iter_0000004.json");
    assert!(totals(&trace, "cpu_op").contains_key("aten::addmm"));
}
