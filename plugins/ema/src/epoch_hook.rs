//! `EMAEpochHook`: the average moves once per epoch.

use crate::hook::averaging_hook;
use hookrack_plugin_api::prelude::*;

/// Averages the parameters once per epoch and evaluates with the average.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmaEpoch {
    /// How much of the average stays at each update.
    #[param(default = 0.9, min = 0.0, max = 1.0)]
    momentum: f64,
    /// The epoch at which the average begins.
    #[serde(default)]
    begin_epoch: u64,
    /// Starts with a lower momentum that grows to the one that is set.
    #[param(default = true)]
    warmup: bool,
    /// Evaluates and predicts with the averaged weights; the model's own come back afterwards.
    #[param(default = true)]
    evaluate: bool,
    #[serde(skip)]
    average: WeightAverage,
}
averaging_hook!(EmaEpoch, level = LOW, moves at after_train_epoch, from begin_epoch by epoch);
