//! Stochastic weight averaging: towards the end of training the learning rate is held, the weights of each epoch are
//! averaged with equal weight, and the average is evaluated, saved with each checkpoint and written at the end.
//!
//! ```toml
//! [[custom_hooks]]
//! type = "SWAHook"
//! library = "libswa.so"
//! start = 0.75         # of the epochs
//! lr = 0.01
//! ```
//!
//! [`schedule`] has the arithmetic, [`norms`] the statistics of batch norms, [`hook`] what happens at which point.

pub mod hook;
pub mod norms;
pub mod schedule;

use hook::SwaHook;
use hookrack_plugin_api::export_plugin;

export_plugin! { hooks: [SwaHook as "SWAHook"] }
