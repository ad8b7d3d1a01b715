//! `EMAIterHook`: the average moves at every iteration.

use crate::hook::averaging_hook;
use hookrack_plugin_api::prelude::*;

/// Averages the parameters at every iteration and evaluates with the average.
#[derive(Settings)]
pub struct EmaIter {
    /// Decay of the average: the fraction of it that is kept at each update.
    #[param(default = 0.999, min = 0.0, max = 1.0)]
    momentum: f64,
    /// Iteration in which averaging begins.
    #[param(default)]
    begin_iter: u64,
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
averaging_hook!(EmaIter, level = NORMAL, moves at after_train_iter, from begin_iter by iter);
