//! `AdamW`: Adam with decoupled weight decay, by libtorch's fused kernel.

use hookrack_plugin_api::prelude::Settings;

use super::fused_adam::{self, AdamOptions};
use super::{Optimizer, ParamSet};
use crate::error::Result;
use crate::registry::Component;

/// Adam with decoupled weight decay; PyTorch's defaults.
#[derive(Debug, Clone, Settings)]
pub struct AdamWSettings {
    #[param(flatten)]
    options: AdamOptions,
    /// Decoupled weight decay.
    #[param(default = 1e-2, min = 0.0)]
    weight_decay: f64,
}

impl Component<ParamSet, dyn Optimizer> for AdamWSettings {
    const NAME: &'static str = "AdamW";

    fn build(self, params: &ParamSet) -> Result<Box<dyn Optimizer>> {
        let hyper = self.options.hyper(self.weight_decay, true).map_err(Self::refuse)?;
        fused_adam::build(hyper, params)
    }
}
