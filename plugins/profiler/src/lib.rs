//! A profile of a few iterations: every operator of libtorch, the autograd engine, and each hook at each point, as a
//! trace for `chrome://tracing` or Perfetto and as a table of the most expensive operators.
//!
//! ```toml
//! [[custom_hooks]]
//! type = "AutogradProfilerHook"
//! library = "libprofiler.so"
//! wait = 10            # iterations to skip
//! warmup = 2           # iterations of warm-up
//! active = 5           # iterations to record
//! ```
//!
//! [`window`] decides which iterations are recorded, [`table`] formats the table, [`hook`] uses both.

pub mod hook;
pub mod table;
pub mod window;

use hook::AutogradProfilerHook;
use hookrack_plugin_api::export_plugin;

export_plugin! { hooks: [AutogradProfilerHook] }
