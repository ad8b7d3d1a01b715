//! `EMAEpochHook`: the average moves once per epoch.

use crate::hook::averaging_hook;
use hookrack_plugin_api::prelude::*;

/// Averages the parameters once per epoch and evaluates with the average.
#[derive(Settings)]
pub struct EmaEpoch {
    /// How much of the average stays at each update.
    #[param(default = 0.9, min = 0.0, max = 1.0)]
    momentum: f64,
    /// The epoch at which the average begins.
    #[param(default)]
    begin_epoch: u64,
    /// Begins the average with the weights that training begins with, as iMIX's `init_ema` does, and not with those of
    /// the first update.
    #[param(default)]
    init_ema: bool,
    /// Starts with a lower momentum that grows to the one that is set.
    #[param(default = true)]
    warmup: bool,
    /// Evaluates and predicts with the averaged weights; the model's own come back afterwards.
    #[param(default = true)]
    evaluate: bool,
    #[param(state)]
    average: WeightAverage,
}
averaging_hook!(EmaEpoch, level = LOW, moves at after_train_epoch, from begin_epoch by epoch);
