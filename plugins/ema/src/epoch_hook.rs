//! `EMAEpochHook`: the average moves once per epoch.

use crate::hook::averaging_hook;
use hookrack_plugin_api::prelude::*;

/// Averages the parameters once per epoch and evaluates with the average.
#[derive(Settings)]
pub struct EmaEpoch {
    /// Decay of the average: the fraction of it that is kept at each update.
    #[param(default = 0.9, min = 0.0, max = 1.0)]
    momentum: f64,
    /// Epoch in which averaging begins.
    #[param(default)]
    begin_epoch: u64,
    /// Initialize the average with the initial weights, as iMIX's `init_ema` does, instead of those of the first
    /// update.
    #[param(default)]
    init_ema: bool,
    /// Start with a lower momentum that grows to `momentum`.
    #[param(default = true)]
    warmup: bool,
    /// Evaluate and predict with the averaged weights; the model's own are restored afterwards.
    #[param(default = true)]
    evaluate: bool,
    #[param(state)]
    average: WeightAverage,
}
averaging_hook!(EmaEpoch, level = LOW, moves at after_train_epoch, from begin_epoch by epoch);
