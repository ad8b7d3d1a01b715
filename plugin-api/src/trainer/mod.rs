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
pub use precision::{Arithmetic, LossScaling};
pub use profiler::{OpCost, ProfileOptions};
pub use ranks::Reduction;

use crate::abi::Host;

/// What a hook receives at every point: where the run is, its tensors, and what may be asked of it.
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
