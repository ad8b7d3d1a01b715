//! Built-in metrics, written against plugin-api like any plugin: one file each, one line in [`METRICS`].

mod accuracy;
mod board;
mod loss;

pub use board::{Board, Reading, SavedReading};
use hookrack_plugin_api::abi::MetricBase;
use hookrack_plugin_api::metric_table;

/// Names under `[[custom_hooks]]` that stand for a metric: of this type, or of the type that its key `metric` names.
pub static METRIC_HOOKS: &[(&str, Option<&str>)] =
    &[("AccuracyHook", Some("Accuracy")), ("MetricHook", None)];

/// Every metric that a config can name without a library.
pub static METRICS: &[MetricBase] =
    &[metric_table!(accuracy::Accuracy as "Accuracy"), metric_table!(loss::Loss as "Loss")];
