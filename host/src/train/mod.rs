//! The training loop: phases, points, endings.
//!
//! [`Trainer::fit`] is the loop. What it shares with hooks is in [`Context`](crate::context::Context), the hooks it calls
//! are in the rack, and it ends when hooks, signals or limits say so.

mod agreement;
mod brackets;
mod build;
mod capture;
mod ending;
mod error;
mod evaluate;
mod fit;
mod interrupt;
mod join;
mod limits;
mod load;
mod loaders;
mod micro_batches;
mod on_request;
mod rank_costs;
mod restore;
mod save_together;
mod stages;
mod start;
mod watch;
mod weights;

pub(crate) use brackets::first_failure;
pub use build::{BuildError, Parts};
pub use ending::Ending;
pub use error::TrainError;
pub use evaluate::EvalPass;
pub use fit::Trainer;
pub use interrupt::{Interrupt, Signal};
pub(crate) use join::reducer_options;
pub use limits::Limits;
pub use loaders::{Loaders, iters_in_epoch};
pub use restore::Resume;
pub(crate) use stages::Stages;
pub use watch::{Held, HeldKey, described};
