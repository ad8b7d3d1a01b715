//! A training host: a trainer loop on libtorch whose hooks and metrics come from shared libraries.

pub mod cli;
pub mod config;
pub mod conformance;
pub mod context;
mod digest;
pub mod dispatch;
pub mod events;
mod exact;
mod first_failure;
pub mod hooks;
pub mod installation;
pub mod inventory;
pub mod job;
pub mod launch;
#[cfg(test)]
mod metric_parity;
pub mod metrics;
pub mod new_plugin;
pub mod plugins;
pub mod position;
pub mod process_memory;
pub mod progress;
pub mod provenance;
pub mod ranks;
pub mod report;
pub mod run;
pub mod stdio;
pub mod train;
pub mod world;
pub mod writers;

pub use hookrack_engine as engine;
pub use hookrack_torch as torch;
