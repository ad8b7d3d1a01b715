//! The training loop: phases, points, endings.
//!
//! [`Trainer::fit`] is the loop. What it shares with hooks is in [`Context`](crate::context::Context), the hooks it calls
//! are in the rack, and hooks, signals or limits can end it early.

mod agreement;
mod build;
mod build_engine;
mod capture;
mod ending;
mod error;
mod evaluate;
mod fit;
mod gather;
mod grid;
mod interrupt;
mod join;
mod length;
mod limits;
mod load;
mod loaders;
mod memory_format;
mod micro_batches;
mod on_request;
mod rank_costs;
mod restore;
mod run_points;
mod save_together;
mod stage_clock;
mod stage_states;
mod stages;
mod start;
mod state_recorder;
mod watchdog;
mod weights;

pub use build::Parts;
pub use ending::Ending;
pub use error::TrainError;
pub use fit::Trainer;
pub use grid::Grid;
pub use interrupt::{Interrupt, Signal};
pub(crate) use join::reducer_options;
pub use length::limits;
pub use limits::Limits;
pub use loaders::{Loaders, iters_in_epoch};
pub use restore::Resume;
pub use stage_clock::Measured;
pub(crate) use stages::{Stages, layer_range};
pub use start::WhenStarted;
pub use state_recorder::{RecordedKey, RecordedState, as_text};
pub use watchdog::Watchdog;
