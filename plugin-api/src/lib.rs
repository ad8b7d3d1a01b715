//! What a hookrack plugin author depends on: hooks, metrics, the trainer that they receive, and the stable ABI
//! beneath them. No libtorch.
//!
//! ```no_run
//! use hookrack_plugin_api::prelude::*;
//!
//! /// Keeps an exponential moving average of the parameters.
//! #[derive(Settings)]
//! struct Ema {
//!     /// How much of the average stays at each step.
//!     #[param(default = 0.999, min = 0.0, max = 1.0)]
//!     momentum: f64,
//!     #[param(skip)]
//!     shadow: TensorList,
//! }
//!
//! #[hook(level = NORMAL, mutates = "nothing")]
//! impl Hook for Ema {
//!     fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
//!         self.shadow = t.params().clone_detached()?;
//!         Ok(())
//!     }
//!     fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
//!         self.shadow.lerp_(&t.params(), 1.0 - self.momentum)
//!     }
//! }
//! export_plugin! { hooks: [Ema as "EMAIterHook"] }
//! ```
//!
//! A hook is plain Rust; `#[hook]` and [`export_plugin!`] generate the C tables around it. [`point`] draws the loop,
//! [`Hook`] has a method for each point, [`Trainer`] is what each method receives.

// The macros name this crate by its full path, in here too.
extern crate self as hookrack_plugin_api;

pub mod abi;
mod average;
mod better;
mod choice;
pub mod describe;
mod error;
pub mod every;
mod export;
mod hook;
mod level;
pub mod log;
pub mod manifest;
mod metric;
pub mod name;
pub mod op;
#[doc(hidden)]
pub mod panics;
mod param_json;
mod phase;
pub mod point;
mod policy;
mod state;
mod state_fields;
pub mod tensor;
#[cfg(any(feature = "testing", test))]
pub mod testing;
#[cfg(feature = "tracing")]
mod tracing_bridge;
mod trainer;
pub mod value;
pub mod view;

pub use average::WeightAverage;
pub use better::Better;
pub use choice::Choice;
pub use describe::{Describe, Param, ParamType, Presence};
pub use error::{Error, Result};
pub use hook::{Hook, HookInfo};
pub use hookrack_plugin_macros::{Settings, hook, metric};
pub use level::Level;
pub use metric::{Metric, MetricInfo, Scalars};
pub use phase::{Outcome, Phase};
pub use point::Point;
pub use policy::{OnError, OnRanks};
pub use state::{StateReader, StateWriter};
pub use state_fields::StateField;
pub use trainer::{
    Arithmetic, FrozenModel, Keep, Layer, Layers, Load, LossScaling, MetricObject, MetricReading,
    OpCost, ProfileOptions, Reduction, ScalarKey, ScalarPoint, ScalarReading, SecondModel, Trainer,
};
pub use value::{Value, from_value};

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a plugin imports.
pub mod prelude {
    pub use crate::abi::DataType;
    pub use crate::describe::Describe;
    pub use crate::op::{Arg, CachedOp, Op};
    pub use crate::tensor::{AsTensors, Tensor, TensorList, Tensors, ops};
    pub use crate::value::Value;
    pub use crate::{
        Arithmetic, Error, FrozenModel, Hook, Keep, Layer, Layers, Level, Load, LossScaling,
        Metric, MetricObject, MetricReading, OpCost, Outcome, Phase, Point, ProfileOptions,
        Reduction, Result, ScalarKey, ScalarPoint, Scalars, SecondModel, StateField, StateReader,
        StateWriter, Trainer, WeightAverage, bail, debug, ensure, error, export_plugin, hook, info,
        metric, trace, warn,
    };
    pub use hookrack_plugin_macros::{Deserialize, Settings};
    pub use serde::de::Deserialize;
}

/// What the macros' output names. Not for authors.
#[doc(hidden)]
pub mod __private {
    pub use crate::describe::{
        Ask, AskAnything, AskDefault, AskDescribe, AskNested, AskOption, AskSetting,
        AskUndescribed, Describe, Param, ParamType, Presence, Setting,
    };
    pub use crate::error::Result;
    pub use crate::state::{StateReader, StateWriter};
    pub use crate::state_fields::{Fields, NoFields, SavedFields, StateField};
    pub use crate::value::Value;
    pub use abi_stable::library::{LibHeader, RootModuleResult};
    pub use serde;
}
