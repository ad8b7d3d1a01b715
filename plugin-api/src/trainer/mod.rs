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

/// The trainer as a hook or metric sees it: the progress of the run, its tensors, scalars and metrics, and
/// requests to the loop.
///
/// Every method of [`Hook`](crate::Hook) receives one; it cannot be stored.
///
/// # Cost
/// All calls are made on the training thread and return before the loop continues: the iteration waits for
/// them. Unless a method says otherwise, a call costs a few nanoseconds, does not copy tensors, does not wait
/// for the device, and may be made in every iteration. Methods that create or compute tensors call an
/// operator of libtorch, a microsecond or more; those that run the model take as long as the model. A method
/// that allocates, reads a file, waits for the device or for other ranks, or goes through all parameters,
/// scalars or metrics says so: call it once and keep the result.
///
/// # Lifetime
/// - Handles of the current batch, of its output and loss, and of gradients are valid until the iteration
///   ends. In an evaluation and in a prediction an iteration is one batch.
/// - Handles of parameters and buffers are valid for the whole run, and so are keys of scalars, layers, and
///   indices of parameters and groups.
/// - Tensors that a method creates or computes belong to the caller: they stay valid until they are dropped.
/// - Strings and numbers are copies.
///
/// # What a hook may change
/// `#[hook(mutates = "…")]` declares what a hook changes. A change of anything else of the run is an error
/// that names the missing word, and so is every change by a metric. While a hook is called in a role it may
/// also change what the role is for:
///
/// | role | may change without declaring it |
/// |---|---|
/// | `on_train_forward`, `on_iter_forward`, `on_val_forward`, `on_pred_forward` | output, loss |
/// | `on_iter_backward` | gradients |
/// | `on_optimizer_step` | parameters, gradients |
/// | `on_lr_adjust` | learning rate, momentum |
///
/// Methods that call the engine, such as [`backward`](Self::backward) or
/// [`set_group_lr`](Self::set_group_lr), are allowed in every role, and at other points if the hook declares
/// what they change.
///
/// # Errors
/// An error of the host is an [`Error`](crate::Error) with its message; it has no effect on the run until the
/// hook returns it. Methods that belong to an extension of the ABI return an error on a host that is too old
/// to have it; the rest of the hook works there. A panic in the host is returned as an error too.
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
