//! `Adam`: steps along the mean gradient over the root of its mean square, by libtorch's fused kernel.

use hookrack_plugin_api::prelude::Deserialize;

use super::fused_adam::FusedAdam;
use super::{Optimizer, ParamSet, betas};
use crate::engine::error::Result;
use crate::engine::registry::Component;
use crate::torch::optim::AdamHyper;

/// Adam, with weight decay through the gradient; PyTorch's defaults.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdamSettings {
    /// Learning rate.
    #[serde(default = "lr")]
    #[param(min = 0.0)]
    pub lr: f64,
    /// Decay of the first and the second moment.
    #[serde(default = "default_betas")]
    pub betas: Vec<f64>,
    /// Added to the denominator.
    #[serde(default = "eps")]
    #[param(min = 0.0)]
    pub eps: f64,
    /// Share of each weight that is added to its gradient.
    #[serde(default)]
    #[param(min = 0.0)]
    pub weight_decay: f64,
    /// Divide by the largest second moment so far.
    #[serde(default)]
    pub amsgrad: bool,
    /// Go up, not down.
    #[serde(default)]
    pub maximize: bool,
}

fn lr() -> f64 {
    1e-3
}

fn default_betas() -> Vec<f64> {
    vec![0.9, 0.999]
}

fn eps() -> f64 {
    1e-8
}

impl Component<ParamSet, dyn Optimizer> for AdamSettings {
    const KIND: &'static str = "optimizer";
    const NAME: &'static str = "Adam";

    fn build(self, params: &ParamSet) -> Result<Box<dyn Optimizer>> {
        let [beta1, beta2] = betas::pair(&self.betas).map_err(Self::refuse)?;
        let hyper = AdamHyper {
            lr: self.lr,
            beta1,
            beta2,
            weight_decay: self.weight_decay,
            eps: self.eps,
            amsgrad: self.amsgrad,
            maximize: self.maximize,
            decoupled_decay: false,
        };
        Ok(Box::new(FusedAdam::new(hyper, params)?))
    }
}
