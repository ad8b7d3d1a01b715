//! Layers without tensors that keep or flatten the shape: `activation`, `dropout`, `flatten`.

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use super::plan::{Layer, Plan, Site};
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

impl Component<Site, Plan> for ActivationLayer {
    const NAME: &'static str = "activation";

    fn build(self, site: &Site) -> Result<Box<Plan>> {
        site.flow.numbers().map_err(Self::refuse)?;
        Ok(Plan::new(site.flow.clone(), move |_builder| Ok(self)))
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

impl Component<Site, Plan> for DropoutLayer {
    const NAME: &'static str = "dropout";

    fn build(self, site: &Site) -> Result<Box<Plan>> {
        site.flow.numbers().map_err(Self::refuse)?;
        Ok(Plan::new(site.flow.clone(), move |_builder| Ok(self)))
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

impl Component<Site, Plan> for FlattenLayer {
    const NAME: &'static str = "flatten";

    fn build(self, site: &Site) -> Result<Box<Plan>> {
        let numbers = site.flow.numbers().map_err(Self::refuse)?.iter().product::<i64>();
        Ok(Plan::new(site.flow.shaped([numbers]), move |_builder| Ok(self)))
    }
}

impl Layer for FlattenLayer {
    fn forward(&self, input: &Tensor, _mode: Mode) -> Result<Tensor> {
        Ok(input.f_flatten(1, -1)?)
    }
}
