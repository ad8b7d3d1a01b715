//! Exponential moving averages of the parameters: kept while the model trains, lent to it for each evaluation,
//! saved with each checkpoint, and written to the run directory at the end.
//!
//! ```toml
//! [[custom_hooks]]
//! type = "EMAIterHook"       # or "EMAEpochHook", which averages once per epoch
//! library = "libema.so"
//! momentum = 0.999
//! ```
//!
//! `WeightAverage` of plugin-api is the mechanism, [`momentum`] how fast it moves, `averaging` what both hooks do with it;
//! [`iter_hook`] and [`epoch_hook`] say when.

mod averaging;
pub mod epoch_hook;
pub mod iter_hook;
pub mod momentum;

use epoch_hook::EmaEpoch;
use hookrack_plugin_api::export_plugin;
use iter_hook::EmaIter;

export_plugin! { hooks: [EmaIter as "EMAIterHook", EmaEpoch as "EMAEpochHook"] }
