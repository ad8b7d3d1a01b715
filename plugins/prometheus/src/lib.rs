//! The scalars of a run at `http://127.0.0.1:PORT/metrics`, in the text format that Prometheus scrapes.
//!
//! ```toml
//! [[custom_hooks]]
//! type = "PrometheusHook"
//! library = "libprometheus.so"
//! port = 9464          # 0 chooses a free one and logs it
//! ```
//!
//! [`exposition`] formats the text, [`server`] serves it on its own thread, [`hook`] refreshes it.

pub mod exposition;
pub mod hook;
pub mod server;

use hook::PrometheusHook;
use hookrack_plugin_api::export_plugin;

export_plugin! { hooks: [PrometheusHook] }
