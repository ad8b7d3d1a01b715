//! From levels to calls: who runs at which point, in which order, at what cost, and what an error does.
//!
//! A [`Seat`] is a configured hook and its points. [`Plan`] orders all seats into one table before the
//! first step; `hookrack plan` prints it. [`Rack`] holds the live instances and calls them by that table.

mod cadence;
mod cost;
mod dataflow;
mod failure;
mod plan;
mod rack;
mod seat;

pub use cadence::When;
pub use cost::{Cost, HookCost};
pub use dataflow::{StaleRead, stale_reads};
pub use failure::{FailureKind, HookError};
pub use plan::{Plan, PlanError, Row};
pub use rack::{Attached, Rack};
pub use seat::Seat;
