//! Layers without tensors that keep or flatten the shape: `activation`, `dropout`, `flatten`.

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use super::plan::{Layer, LayerInput, LayerPlan};
use crate::error::Result;
use crate::model::layer::Activation;
use crate::model::{Mode, dropped};
use crate::registry::Component;

/// Element-wise activation; takes any shape.
#[derive(Debug, Clone, Settings)]
pub(super) struct ActivationLayer {
    /// Name of the function.
    #[param(default)]
    kind: Activation,
}

impl Component<LayerInput, LayerPlan> for ActivationLayer {
    const NAME: &'static str = "activation";

    fn build(self, at: &LayerInput) -> Result<Box<LayerPlan>> {
        at.sample.numbers().map_err(Self::refuse)?;
        Ok(LayerPlan::new(at.sample.clone(), move |_builder| Ok(self)))
    }
}

impl Layer for ActivationLayer {
    fn forward(&self, input: &Tensor, _mode: Mode) -> Result<Tensor> {
        self.kind.apply(input)
    }
}

/// Dropout; takes any shape.
#[derive(Debug, Clone, Settings)]
pub(super) struct DropoutLayer {
    /// Dropout probability.
    #[param(default = 0.5, min = 0.0, max = 1.0)]
    share: f64,
}

impl Component<LayerInput, LayerPlan> for DropoutLayer {
    const NAME: &'static str = "dropout";

    fn build(self, at: &LayerInput) -> Result<Box<LayerPlan>> {
        at.sample.numbers().map_err(Self::refuse)?;
        Ok(LayerPlan::new(at.sample.clone(), move |_builder| Ok(self)))
    }
}

impl Layer for DropoutLayer {
    fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        dropped(input.shallow_clone(), self.share, mode)
    }
}

/// Flattens a sample; takes any shape.
#[derive(Debug, Clone, Settings)]
pub(super) struct FlattenLayer {}

impl Component<LayerInput, LayerPlan> for FlattenLayer {
    const NAME: &'static str = "flatten";

    fn build(self, at: &LayerInput) -> Result<Box<LayerPlan>> {
        let numbers = at.sample.numbers().map_err(Self::refuse)?.iter().product::<i64>();
        Ok(LayerPlan::new(at.sample.shaped([numbers]), move |_builder| Ok(self)))
    }
}

impl Layer for FlattenLayer {
    fn forward(&self, input: &Tensor, _mode: Mode) -> Result<Tensor> {
        Ok(input.f_flatten(1, -1)?)
    }
}
