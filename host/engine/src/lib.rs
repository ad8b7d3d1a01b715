//! The engine: model, loss, optimizer, learning rate, schedule and data, each chosen by `type =` and settings.

mod builder;
pub mod clip;
pub mod data;
pub mod device;
mod engine;
mod error;
pub mod generate;
mod layers;
pub mod loss;
mod loss_scaler;
pub mod lr;
mod memory;
pub mod model;
pub mod name_pattern;
pub mod named_tensor;
pub mod optimizer;
mod precision;
pub mod registry;
mod rehearsal;
pub mod rename;
mod saved_state;
pub mod schedule;
mod state;
mod train_batch;
mod trainable;
pub mod tree;
pub mod weights;

pub use builder::EngineBuilder;
pub use engine::Engine;
pub use error::{EngineError, Result};
pub use loss_scaler::{LossScaler, LossScalerSettings, LossScaling};
pub use model::Mode;
pub use named_tensor::NamedTensor;
pub use precision::Precision;
pub use registry::Choice;
pub use saved_state::SavedState;
