//! The engine: model, loss, optimizer, learning rate, schedule and data, each chosen by `type =` and settings.

mod assembly;
mod builder;
pub mod clip;
pub mod data;
pub mod device;
mod error;
pub mod generate;
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
pub mod schedule;
mod state;
mod train_batch;
mod trainable;
pub mod tree;
pub mod weights;

pub use assembly::Engine;
pub use builder::EngineBuilder;
pub use error::{EngineError, Result};
pub use loss_scaler::{LossScaler, LossScalerSettings, LossScaling};
pub use model::Mode;
pub use named_tensor::NamedTensor;
pub use precision::Precision;
pub use registry::Choice;
