//! The API of hookrack plugins: hooks, metrics, the trainer that they receive, and the stable ABI underneath. It does
//! not depend on libtorch.
//!
//! ```no_run
//! use hookrack_plugin_api::prelude::*;
//!
//! /// Keeps an exponential moving average of the parameters.
//! #[derive(Settings)]
//! struct Ema {
//!     /// Decay of the average.
//!     #[param(default = 0.999, min = 0.0, max = 1.0)]
//!     momentum: f64,
//!     /// Saved in checkpoints.
//!     #[param(state)]
//!     shadow: TensorList,
//! }
//!
//! #[hook(writes = "nothing")]
//! impl Hook for Ema {
//!     fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
//!         self.shadow.init(&t.params())
//!     }
//!     fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
//!         self.shadow.lerp_(&t.params(), 1.0 - self.momentum)
//!     }
//! }
//! export_plugin! { hooks: [Ema as "EMAIterHook"] }
//! ```
//!
//! A hook is plain Rust; `#[hook]` and [`export_plugin!`] generate the C tables around it. [`point`] shows the loop,
//! [`Hook`] has a method for each point, and [`Trainer`] is what each method receives.
//!
//! - **Threads.** The host calls all hooks of a run on one thread, one at a time. A plugin's own threads may log; they must
//!   not make any other call.
//! - **Lifetimes.** Handles of the current batch are valid until the iteration ends, those of parameters for the whole run.
//!   Tensors that a hook creates are freed when dropped. [`tensor`] has the details.
//! - **Errors and panics.** A hook returns [`Result`]. Panics are caught at the boundary and reported with file and line;
//!   a library compiled with `panic = "abort"` is refused.
//! - **Cost.** A call through the ABI costs a few nanoseconds more than a virtual call. Reading a tensor's value waits for the
//!   device; such methods say so.
//! - **Compatibility.** A plugin runs on any host with the same major version of the ABI. What was added in a later minor
//!   version is an error on an older host when it is called, not when the plugin is loaded.
//!
//! `docs/plugin-guide.md` in the repository is a tutorial. The feature `testing` adds a fake trainer for unit tests
//! (`hookrack_plugin_api::testing`), the feature `tracing` forwards events of the `tracing` crate to the host's log.

// The macros name this crate by its full path, in here too.
extern crate self as hookrack_plugin_api;

pub mod abi;
mod average;
mod better;
mod choice;
pub mod describe;
mod error;
mod eval_pass;
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
pub use eval_pass::EvalPass;
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
    NamedParam, OpCost, ProfileOptions, Reduction, ScalarKey, ScalarPoint, ScalarReading,
    SecondModel, Trainer,
};
pub use value::{Value, from_value};

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Everything that a plugin usually needs: `use hookrack_plugin_api::prelude::*;`.
pub mod prelude {
    pub use crate::abi::DataType;
    pub use crate::describe::Describe;
    pub use crate::op::{Arg, CachedOp, Op};
    pub use crate::tensor::{AsTensors, Tensor, TensorList, Tensors, ops};
    pub use crate::value::Value;
    pub use crate::{
        Arithmetic, Error, FrozenModel, Hook, Keep, Layer, Layers, Level, Load, LossScaling,
        Metric, MetricObject, MetricReading, NamedParam, OpCost, Outcome, Phase, Point,
        ProfileOptions, Reduction, Result, ScalarKey, ScalarPoint, Scalars, SecondModel,
        StateField, StateReader, StateWriter, Trainer, WeightAverage, bail, debug, ensure, error,
        export_plugin, hook, info, metric, trace, warn,
    };
    pub use hookrack_plugin_macros::{Deserialize, Settings};
    pub use serde::de::Deserialize;
}

/// Used by the output of the macros; not part of the API.
#[doc(hidden)]
pub mod __private {
    pub use crate::describe::{
        Ask, AskAnything, AskDefault, AskDescribe, AskNested, AskOption, AskSetting, AskTable,
        AskUndescribed, Describe, Param, ParamType, Presence, Setting, SettingDefaults,
    };
    pub use crate::error::Result;
    pub use crate::state::{StateReader, StateWriter};
    pub use crate::state_fields::{Fields, NoFields, SavedFields, StateField};
    pub use crate::value::Value;
    pub use abi_stable::library::{LibHeader, RootModuleResult};
    pub use serde;
}
