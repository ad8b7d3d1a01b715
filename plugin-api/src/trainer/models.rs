//! Models that are not trained, such as a teacher.

use super::Trainer;
use crate::abi::Host;
use crate::describe::{ParamType, Setting};
use crate::error::Result;
use crate::tensor::Tensor;
use crate::value::Value;
use serde::de::{Deserialize, Deserializer};

/// A model that is not trained, such as a teacher. It lives until the run ends; copies of this handle refer
/// to the same model.
#[derive(Clone, Copy)]
pub struct FrozenModel {
    host: Host,
    id: u64,
}

impl FrozenModel {
    /// Returns its output for an input, in evaluation mode and in the run's precision, without recording
    /// gradients.
    ///
    /// Takes as long as a forward pass of that model. The output belongs to the caller; the current output
    /// and loss do not change. It may be called at every point.
    ///
    /// # Errors
    /// The input has another shape than the model takes, or is on another device.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.run_model(self.id, input.id())?))
    }
}

/// A setting for a model that is not trained: `teacher: SecondModel` is a table like `[model]`, with `weights` as a path relative to the
/// config. Build it in `on_attach`:
///
/// ```
/// # use hookrack_plugin_api::prelude::*;
/// # #[derive(Settings)]
/// # struct Distillation { teacher: SecondModel }
/// # #[hook]
/// # impl Hook for Distillation {
/// fn on_attach(&mut self, t: &mut Trainer) -> Result<()> {
///     self.teacher.build(t)
/// }
/// # fn after_forward(&mut self, t: &mut Trainer) -> Result<()> {
/// let wanted = self.teacher.forward(&t.input()?)?;
/// # Ok(())
/// # }
/// # }
/// ```
pub struct SecondModel {
    settings: Value,
    built: Option<FrozenModel>,
}

impl SecondModel {
    /// Builds the model, as [`Trainer::build_model`] does. A second call builds another one; the first stays
    /// in memory.
    ///
    /// # Errors
    /// As for [`Trainer::build_model`].
    pub fn build(&mut self, t: &mut Trainer) -> Result<()> {
        self.built = Some(t.build_model(&self.settings)?);
        Ok(())
    }

    /// Returns its output for an input, as [`FrozenModel::forward`] gives it.
    ///
    /// # Errors
    /// It was not built, or the input does not fit.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        match &self.built {
            Some(model) => model.forward(input),
            None => crate::bail!("the second model is not built: call `build` in on_attach"),
        }
    }
}

impl<'de> Deserialize<'de> for SecondModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { settings: Value::deserialize(deserializer)?, built: None })
    }
}

impl Setting for SecondModel {
    fn param_type() -> ParamType {
        ParamType::Model
    }
    fn to_value(&self) -> Option<Value> {
        Some(self.settings.clone())
    }
}

/// Models that are not trained (extension `hookrack.models/1`). A host before ABI 1.2 returns an error.
impl Trainer {
    /// Builds a model for the run's data from a table like `[model]`:
    /// `{ type = "ResNet", depth = 34, weights = "PATH" }`.
    ///
    /// `weights` is a path as for [`load_tensors`](Self::load_tensors) and must have all tensors of the
    /// model; without it the parameters are random, and differ between ranks. A setting of type
    /// [`SecondModel`] is such a table. Call it in `on_attach`, so that `hookrack check` reports errors. The
    /// model stays on the run's device until the run ends, is not saved in checkpoints, and does not change
    /// the run's random state.
    ///
    /// It is not part of [`params`](Self::params), and no optimizer knows it. In a pipeline, and on several
    /// ranks, every rank has all of it.
    ///
    /// # Errors
    /// The type or a setting is unknown, the weights cannot be read or do not match.
    pub fn build_model(&mut self, settings: &Value) -> Result<FrozenModel> {
        Ok(FrozenModel { host: self.host, id: self.host.build_model(settings)? })
    }
}
