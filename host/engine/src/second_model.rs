//! Models beside the one that is trained, such as a teacher.

use hookrack_plugin_api::Value;
use hookrack_torch::autograd::GradMode;
use hookrack_torch::rng;
use tch::Tensor;

use super::engine::Engine;
use super::error::Result;
use super::model::{MODELS, Mode, Model, ModelContext, widen};
use super::named_tensor::{self, NamedTensor};
use super::registry::{Build, Choice};
use super::tensor_shard::{InMemory, TensorShard};

impl Engine {
    /// Builds a model for the engine's data from a table with its `type`, and loads these weights. The random numbers
    /// of the run do not change.
    ///
    /// # Errors
    /// The model is unknown, its settings are invalid, or not all of the weights match.
    pub fn second_model(
        &self,
        table: Value,
        weights: Option<&[NamedTensor]>,
    ) -> Result<Box<dyn Model>> {
        let choice = Choice::from_table("model", table).map_err(super::EngineError::Weights)?;
        let context = ModelContext::new(self.data().clone(), self.device());
        let context = ModelContext { kind: self.kind(), ..context };
        let random = rng::state(self.device())?;
        let built = choice.build(MODELS, &context);
        rng::set_state(&random, self.device())?;
        let model = built?;
        widen(model.as_ref(), self.kind())?;
        if let Some(weights) = weights {
            let state = model.params().iter().chain(model.buffers()).cloned();
            let state: Vec<_> = state.map(TensorShard::from).collect();
            let weights = InMemory::new(weights);
            named_tensor::load("the weights of the second model", &state, &weights)?;
        }
        Ok(model)
    }

    /// The output of such a model, as in an evaluation, without gradients being recorded.
    pub fn infer_by(&self, model: &dyn Model, input: &Tensor) -> Result<Tensor> {
        let _mode = GradMode::set(false);
        self.precision().forward(self.device(), input, |input| model.forward(input, Mode::Eval))
    }
}
