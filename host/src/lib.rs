//! A training host: a trainer loop on libtorch whose hooks and metrics come from shared libraries.

pub mod cli;
pub mod config;
pub mod dispatch;
pub mod engine;
pub mod events;
pub mod hooks;
pub mod installation;
pub mod inventory;
pub mod job;
pub mod metrics;
pub mod new_plugin;
pub mod plugins;
pub mod provenance;
pub mod report;
#[cfg(test)]
mod rounding;
pub mod run;
pub mod saved_state;
pub mod stdio;
pub mod torch;
pub mod train;
pub mod writers;
