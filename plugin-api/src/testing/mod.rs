//! A fake trainer for the tests of a plugin: every point and every service, with small tensors in plain Rust.
//!
//! A hook is called through the same tables as in the host, so that settings, points, state and errors work as
//! in a run; `cargo test` needs neither the host nor libtorch. Behind the feature `testing`, for
//! `[dev-dependencies]`.
//!
//! ```
//! use hookrack_plugin_api::prelude::*;
//! use hookrack_plugin_api::settings;
//! use hookrack_plugin_api::testing::FakeTrainer;
//!
//! /// Logs the norm of the weights.
//! #[derive(Settings)]
//! struct WeightNorm {
//!     #[param(default = 1.0, min = 0.0)]
//!     scale: f64,
//! }
//!
//! #[hook]
//! impl Hook for WeightNorm {
//!     fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
//!         let norm = t.params().norm()?.item()?;
//!         t.put_scalar("weight_norm", self.scale * norm)
//!     }
//! }
//!
//! fn main() -> Result<()> {
//!     let mut t = FakeTrainer::new().param("w", [3.0, 4.0]).hook::<WeightNorm>(settings! { scale = 2.0 })?;
//!     t.fire(Point::AfterTrainIter)?;
//!     assert_eq!(t.scalar("weight_norm"), Some(10.0));
//!     t.fit(2, 3)?; // two epochs of three iterations: every point of a run, in order
//!     assert_eq!(t.scalar_values("weight_norm").len(), 7);
//!     Ok(())
//! }
//! ```
//!
//! What the host refuses is refused here too, in the same words: a change that `mutates` does not declare, a forward pass
//! past the hook that has the role, another number of rows.
//!
//! It has no autograd ([`FakeTrainer::grad`] sets what `backward` adds), one parameter
//! group, one process, no device. Operators are those behind the methods of [`Tensor`](crate::tensor::Tensor) and the
//! usual ones beside them, computed in doubles and rounded to the tensor's type: compare floats with a tolerance.
//! [`FakeTrainer::op`] adds one. Use a fake trainer and a real host in different programs: operators are looked up once
//! in a process.

mod build;
mod engine;
mod handles;
mod look;
pub(crate) mod ops;
pub(crate) mod pattern;
mod points;
pub(crate) mod rules;
mod run;
mod settings;
mod state;
pub(crate) mod tensor;
#[cfg(test)]
mod tests;
pub(crate) mod world;

pub use ops::{FakeValue, OpArgs};
pub use tensor::FakeTensor;
pub use world::LogLine;

use crate::abi::Host;
use crate::abi::fake::{Caller, HookInstance, MetricInstance};
use crate::error::Error;
use crate::every::Every;
use crate::level::Level;
use crate::point::Point;
use crate::value::Value;
use std::collections::BTreeMap;
use std::rc::Rc;
use world::Shared;

/// The saved state of an instance. Tensors are copies: what the hook does later does not change them.
#[derive(Clone, Debug, Default)]
pub struct SavedState {
    /// Values by key.
    pub values: Vec<(String, Value)>,
    /// Tensors by key.
    pub tensors: Vec<(String, FakeTensor)>,
}

impl SavedState {
    /// Returns a saved value.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.values.iter().find(|(own, _)| own == key).map(|(_, value)| value)
    }

    /// Returns a saved tensor. Those of a list have the keys `key.0`, `key.1`, …
    pub fn tensor(&self, key: &str) -> Option<&FakeTensor> {
        self.tensors.iter().find(|(own, _)| own == key).map(|(_, tensor)| tensor)
    }
}

/// A checkpoint of a fake run: its progress, the weights, and the state of hooks and metrics. Scalars, shared
/// values, buffers and learning rates are not part of it.
#[derive(Clone, Debug, Default)]
pub struct FakeCheckpoint {
    /// The last completed epoch.
    pub epoch: u64,
    /// The last completed iteration.
    pub iter: u64,
    /// The parameters by name.
    pub params: Vec<(String, FakeTensor)>,
    /// The saved state of each instance, by its name.
    pub states: BTreeMap<String, SavedState>,
}

struct Attached {
    name: &'static str,
    level: Level,
    points: Vec<Point>,
    every: Every,
    has_state: bool,
    instance: Rc<HookInstance>,
}

struct Measured {
    name: &'static str,
    better: i32,
    instance: MetricInstance,
}

/// A trainer without a host. [The module](self) has an example.
///
/// It is built by methods that take and return it (`param`, `hook`, …) and then driven: by single points
/// ([`fire`](Self::fire)), iterations, passes, or whole runs ([`fit`](Self::fit)). An error or a panic of a
/// hook is an `Err` with the message that the host would print. Every hook is called as with
/// `on_error = "abort"`.
///
/// It belongs to one thread, as hooks do; tests in parallel each make their own. A hook that has panicked is
/// not called again and does not fail either. Handles have the lifetimes of a run: those of the batch and of
/// gradients are refused after [`train_iter`](Self::train_iter) or the end of an iteration of
/// [`fit`](Self::fit); single points do not end an iteration.
///
/// | here | in a run |
/// |---|---|
/// | one rank: collectives check only `mutates` and return at once | a collective waits, and may be refused |
/// | the gradients are those that were set | those of the loss |
/// | random operators give the same numbers at each call | the run's generator |
/// | all tensors are on the CPU, whatever `to_device` is asked for | the model's device |
/// | every epoch ends with a validation and a checkpoint, requested or not | as the config says |
/// | `is_media_wanted` is true, profiles are empty, nothing is written | as configured |
/// | learning rate, precision, anomaly mode and the like are recorded by [`calls`](Self::calls) | they change the run |
pub struct FakeTrainer {
    hooks: Vec<Attached>,
    metrics: Vec<Measured>,
    world: Shared,
    own: (&'static Caller, Host),
    minor: u16,
    is_attached: bool,
    has_begun: bool,
    val_iters: u64,
    micro_batches: u32,
    reached: Vec<Point>,
    checkpoint: Option<FakeCheckpoint>,
}

impl Default for FakeTrainer {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for FakeTrainer {
    fn drop(&mut self) {
        // The role holds its hook, and the hook's caller this world.
        self.world.borrow_mut().forward_role = None;
        self.hooks.clear();
        self.metrics.clear();
        self.own.0.close();
    }
}

fn failed(what: &str, point: Point, world: &Shared, error: &Error) -> Error {
    let progress = world.borrow().progress.get();
    let (epoch, iter) = (progress.epoch, progress.iter);
    Error::new(format!("{what} failed at {point}, epoch {epoch}, iteration {iter}: {error}"))
}

/// Settings of a hook or metric: `settings! { momentum = 0.9, names = vec!["a"] }`.
#[macro_export]
macro_rules! settings {
    ($($key:ident = $value:expr),* $(,)?) => {
        $crate::Value::Table(::std::vec![
            $((::std::string::ToString::to_string(::core::stringify!($key)), $crate::Value::from($value))),*
        ])
    };
}
