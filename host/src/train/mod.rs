//! The loop and nothing else: phases, points, endings.
//!
//! [`Trainer::fit`] is the loop. What it runs on is in [`Context`], whom it calls is in the rack, when it ends is
//! what hooks, signals and limits say.

mod arena;
mod brackets;
mod build;
mod capture;
mod context;
mod current;
mod ending;
mod error;
mod evaluate;
mod fit;
mod grad_row;
mod interrupt;
mod limits;
mod load;
mod loaders;
mod micro_batches;
mod own_pass;
mod phase_clock;
mod requests;
mod restore;
mod slots;
mod start;
mod watch;
mod weights;

pub use arena::{Arena, HandleError, Lease};
pub use build::{BuildError, Parts};
pub use context::Context;
pub use current::Current;
pub use ending::Ending;
pub use error::TrainError;
pub use evaluate::EvalPass;
pub use fit::Trainer;
pub use grad_row::GradRow;
pub use interrupt::{Interrupt, Signal};
pub use limits::Limits;
pub use load::LoadRequest;
pub use loaders::{Loaders, iters_in_epoch};
pub use own_pass::OwnPass;
pub use phase_clock::PhaseClock;
pub use requests::{Requests, Stop};
pub use restore::Resume;
pub use watch::{Held, HeldKey, described};
