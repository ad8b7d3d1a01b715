//! Hooks and metrics from shared libraries: found, verified, loaded, and called through their tables.

#![expect(
    unsafe_code,
    reason = "this folder is the host's side of the boundary; every block says why it is sound"
)]

mod boundary;
mod callback_instance;
pub mod crash;
mod forward_role;
pub mod guarded;
mod instance;
pub mod loader;
mod merge;
mod metric_hook;
mod metric_object;
mod metric_trial;
mod plugin_set;
pub mod probe;
mod services;
mod state_io;
mod state_scope;
pub mod trust;
mod wire_value;

pub use forward_role::ForwardHolder;
pub use instance::{Instance, StateFailure};
pub use loader::{
    Description, HookManifest, HookType, Library, LoadError, MetricManifest, MetricType, Source,
};
pub use metric_hook::points_of;
pub use metric_trial::MetricTrial;
pub use plugin_set::{PluginFile, PluginSet, open, open_trusted, untrusted};
pub use services::{NO_REASON, appear_newer, hide_extensions};
pub use state_io::{gather, give_back};
