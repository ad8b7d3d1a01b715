//! `Adam`: steps along the mean gradient over the root of its mean square, by libtorch's fused kernel.

use hookrack_plugin_api::prelude::Settings;

use super::fused_adam::{self, AdamOptions};
use super::{Optimizer, ParamSet};
use crate::error::Result;
use crate::registry::Component;

/// Adam with L2 weight decay; PyTorch's defaults.
#[derive(Debug, Clone, Settings)]
pub struct AdamSettings {
    #[param(flatten)]
    options: AdamOptions,
    /// Weight decay (L2 penalty).
    #[param(default, min = 0.0)]
    weight_decay: f64,
}

impl Component<ParamSet, dyn Optimizer> for AdamSettings {
    const NAME: &'static str = "Adam";

    fn build(self, params: &ParamSet) -> Result<Box<dyn Optimizer>> {
        let hyper = self.options.hyper(self.weight_decay, false).map_err(Self::refuse)?;
        fused_adam::build(hyper, params)
    }
}
