//! The training loop: phases, points, endings.
//!
//! [`Trainer::fit`] is the loop. What it shares with hooks is in [`Context`](crate::context::Context), the hooks it calls
//! are in the rack, and it ends when hooks, signals or limits say so.

mod brackets;
mod build;
mod capture;
mod ending;
mod error;
mod evaluate;
mod fit;
mod interrupt;
mod limits;
mod load;
mod loaders;
mod micro_batches;
mod restore;
mod slots;
mod start;
mod watch;
mod weights;

pub use build::{BuildError, Parts};
pub use ending::Ending;
pub use error::TrainError;
pub use evaluate::EvalPass;
pub use fit::Trainer;
pub use interrupt::{Interrupt, Signal};
pub use limits::Limits;
pub use loaders::{Loaders, iters_in_epoch};
pub use restore::Resume;
pub use watch::{Held, HeldKey, described};
