//! Exponential moving averages of the parameters: updated during training, swapped into the model for evaluations,
//! saved in checkpoints, and written to the run directory at the end.
//!
//! ```toml
//! [[custom_hooks]]
//! type = "EMAIterHook"       # or "EMAEpochHook", which averages once per epoch
//! library = "libema.so"
//! momentum = 0.999
//! ```
//!
//! `WeightAverage` of plugin-api does the work, [`momentum`] sets how fast the average moves, `averaging` is what both
//! hooks share; [`iter_hook`] and [`epoch_hook`] decide when it is updated.

mod averaging;
pub mod epoch_hook;
pub mod iter_hook;
pub mod momentum;

use epoch_hook::EmaEpoch;
use hookrack_plugin_api::export_plugin;
use iter_hook::EmaIter;

export_plugin! { hooks: [EmaIter as "EMAIterHook", EmaEpoch as "EMAEpochHook"] }
