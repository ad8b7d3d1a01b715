//! Models beside the one that is trained.

use super::Trainer;
use crate::abi::Host;
use crate::error::Result;
use crate::tensor::Tensor;
use crate::value::Value;

/// A model that is not trained: a teacher.
#[derive(Clone, Copy)]
pub struct FrozenModel {
    host: Host,
    id: u64,
}

impl FrozenModel {
    /// Its output for an input, as in an evaluation, in the run's precision. Gradients are not recorded.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.run_model(self.id, input.id())?))
    }
}

/// Models beside the one that is trained: the extension `hookrack.models/1`, which an older host answers with an error.
impl Trainer {
    /// Builds a model for the run's data from a table like `[model]`: `{ type = "ResNet", depth = 34, weights = "PATH" }`.
    /// `weights` is a path as for [`load_tensors`](Self::load_tensors), and all of the model's tensors must be there;
    /// without it the values are random. A setting of type [`Value`] takes such a table. Call it in `on_attach`, so that
    /// `hookrack check` finds what is wrong. The model is on the run's device until the run ends, is in no checkpoint, and
    /// leaves the run's random numbers as they are.
    ///
    /// # Errors
    /// There is no such type or setting, or the weights do not fit: the message says which.
    pub fn build_model(&mut self, settings: &Value) -> Result<FrozenModel> {
        Ok(FrozenModel { host: self.host, id: self.host.build_model(settings)? })
    }
}
