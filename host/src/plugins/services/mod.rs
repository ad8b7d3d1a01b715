//! The host's side of the trainer handle: the C functions that a plugin calls.
//!
//! Each instance has an [`Endpoint`]: it knows the caller, reaches the run's context, and holds error texts in
//! both directions. Every function starts at the endpoint (`service!`), borrows what it needs, and returns before
//! anything else is called.

mod artifacts;
mod autograd;
mod breadcrumb;
mod checkpoint_names;
mod checkpoints;
mod console;
mod endpoint;
mod engine;
mod events;
mod files;
mod forked;
mod gradients;
mod history;
mod layers;
mod log_limit;
mod loss;
mod lr;
mod media;
mod metrics;
mod models;
mod named_tensors;
mod ops;
mod params;
mod pass;
mod precision;
mod profiler;
mod ranks;
mod record;
mod roles;
mod rows;
mod rules;
mod service;
mod states;
mod step;
mod tensors;
mod trainer;

pub(super) use breadcrumb::last as last_service;
pub use endpoint::NO_REASON;
pub(super) use endpoint::{Call, Caller, Endpoint};
pub(super) use trainer::handle_for;
pub use trainer::{appear_newer, hide_extensions};
