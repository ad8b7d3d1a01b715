//! The host's side of the trainer handle: the C functions that a plugin calls.
//!
//! Each instance has a [`Desk`]: it knows the caller, reaches the run's context, and holds error texts in
//! both directions. Every function starts at the desk, borrows what it needs, and returns before anything else
//! is called.

mod artifacts;
mod autograd;
mod checkpoint_names;
mod checkpoints;
mod console;
mod desk;
mod engine;
mod events;
mod history;
mod layers;
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
mod record;
mod roles;
mod rows;
mod states;
mod step;
mod tensors;
mod trainer;

pub(super) use desk::{Call, Desk};
pub(super) use trainer::handle_for;
