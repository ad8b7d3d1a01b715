//! The trainer as a hook sees it.

mod autograd;
mod checkpoints;
mod console;
mod creation;
mod events;
mod files;
mod history;
mod layers;
mod media;
mod metrics;
mod models;
mod named_params;
mod named_tensors;
mod params;
mod pass;
mod precision;
mod profiler;
mod progress;
mod ranks;
mod record;
mod requests;
mod roles;
mod step;
mod tensors;

pub use checkpoints::{Keep, Load};
pub use events::{MetricReading, ScalarKey, ScalarReading};
pub use history::ScalarPoint;
pub use layers::{Layer, Layers};
pub use metrics::MetricObject;
pub use models::{FrozenModel, SecondModel};
pub use named_params::NamedParam;
pub use precision::{Arithmetic, LossScaling};
pub use profiler::{OpCost, ProfileOptions};
pub use ranks::Reduction;

use crate::abi::Host;

/// The trainer as a hook or metric sees it: the progress of the run, its tensors, scalars and metrics, and requests to the loop.
///
/// Every method of [`Hook`](crate::Hook) receives one; it must not be stored. All calls are made on the training thread and
/// return before the loop continues. Unless a method says otherwise, a call costs a few nanoseconds, does not copy tensors,
/// and does not wait for the device. Methods that create or compute tensors call an operator of libtorch, a microsecond or more;
/// those that run the model take as long as the model.
///
/// An error of the host is an [`Error`](crate::Error) with its message. Methods that belong to an extension of the ABI return
/// an error on a host that is too old to have it; the rest of the hook works there.
pub struct Trainer {
    host: Host,
}

impl Trainer {
    pub(crate) fn new(host: Host) -> Self {
        Self { host }
    }

    /// The trainer behind a host's handle, for a host that calls hooks of its own.
    #[doc(hidden)]
    pub fn of_host(host: Host) -> Self {
        Self::new(host)
    }
}
