//! From levels to calls: who runs at which point, in which order, at what cost, and what an error does.
//!
//! A [`HookSpec`] is a configured hook and its points. [`Plan`] orders all specs into one table before the
//! first step; `hookrack plan` prints it. [`Rack`] holds the live instances and calls them by that table.

mod cadence;
mod cost;
mod dataflow;
mod failure;
mod hook_spec;
mod pace;
mod plan;
mod rack;

pub use cadence::CallFilter;
pub use cost::HookCost;
pub use dataflow::{StaleRead, stale_reads};
pub use failure::{FailureKind, HookError};
pub use hook_spec::HookSpec;
pub use plan::{Plan, PlanError, PointOrder};
pub use rack::{Attached, Rack};
