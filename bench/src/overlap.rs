//! How much of the gradients' reduction overlaps with the backward pass, from a trace of the profiler.

use crate::error::BenchError;
use serde_json::Value as Json;
use std::fs;
use std::path::Path;

/// Microseconds from one moment to another.
type Span = (f64, f64);

/// The reducer's operation in the background.
const REDUCTION: &str = "gloo:all_reduce";
/// A node of the backward pass on the training thread.
const NODE: &str = "autograd::engine::evaluate_function";
/// The point of the backward pass.
const BACKWARD: &str = "on_iter_backward";

/// The share of the reduction's time in which the backward pass computes, from the trace in a folder.
pub(crate) fn share(folder: &Path) -> Result<f64, BenchError> {
    let entries = fs::read_dir(folder).map_err(BenchError::file(folder))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    let path = files.pop().ok_or(BenchError::NoTrace)?;
    let text = fs::read(&path).map_err(BenchError::file(&path))?;
    let trace: Json = serde_json::from_slice(&text).unwrap_or_default();
    hidden(&trace).ok_or(BenchError::NoTrace)
}

fn hidden(trace: &Json) -> Option<f64> {
    let backward = spans(trace, |name| name.contains(BACKWARD));
    let nodes = spans(trace, |name| name.starts_with(NODE));
    // Other collectives are not within a backward pass.
    let reductions = common(&spans(trace, |name| name == REDUCTION), &backward);
    let all: f64 = length(&reductions);
    (all > 0.0).then(|| length(&common(&reductions, &nodes)) / all)
}

/// The spans of the events with such names, joined where they touch.
fn spans(trace: &Json, is_wanted: impl Fn(&str) -> bool) -> Vec<Span> {
    let events = trace["traceEvents"].as_array().into_iter().flatten();
    let span = |event: &Json| {
        let began = event["ts"].as_f64()?;
        Some((began, began + event["dur"].as_f64()?))
    };
    let mut spans: Vec<Span> = events
        .filter(|event| event["name"].as_str().is_some_and(&is_wanted))
        .filter_map(span)
        .collect();
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
            _ => joined.push(span),
        }
    }
    joined
}

/// The intersection of two lists of spans.
fn common(left: &[Span], right: &[Span]) -> Vec<Span> {
    let both = |one: &Span| {
        let one = *one;
        right.iter().map(move |other| (one.0.max(other.0), one.1.min(other.1)))
    };
    left.iter().flat_map(both).filter(|span| span.1 > span.0).collect()
}

fn length(spans: &[Span]) -> f64 {
    spans.iter().map(|span| span.1 - span.0).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_time_in_which_a_node_runs_counts_as_overlap() {
        let event = |name: &str, ts: f64, dur: f64| json!({ "name": name, "ts": ts, "dur": dur });
        let trace = json!({ "traceEvents": [
            event("point on_iter_backward", 0.0, 100.0),
            event("autograd::engine::evaluate_function: AddmmBackward0", 0.0, 30.0),
            event("autograd::engine::evaluate_function: ReluBackward0", 25.0, 35.0),
            event("gloo:all_reduce", 20.0, 80.0),
            event("gloo:all_reduce", 40.0, 20.0),
            // Of the loop, after the backward pass.
            event("gloo:all_reduce", 200.0, 50.0),
        ]});
        assert!((hidden(&trace).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(hidden(&json!({})), None);
    }
}
