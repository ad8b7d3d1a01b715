//! `LARS`: SGD with momentum and steps scaled by the norm of each tensor, by list operators.

use hookrack_plugin_api::prelude::Settings;

use super::rule::{ByRule, ListRule};
use super::state::{Start, kept};
use super::{Group, Optimizer, ParamSet, trust};
use crate::error::Result;
use crate::registry::Component;
use hookrack_torch::foreach;
use hookrack_torch::optim::Active;

/// LARS: SGD with momentum and a layer-wise trust ratio (arXiv 1708.03888).
#[derive(Debug, Clone, Settings)]
pub struct LarsSettings {
    /// Learning rate.
    #[param(default = 0.1, min = 0.0)]
    pub lr: f64,
    /// Momentum.
    #[param(default = 0.9, min = 0.0)]
    pub momentum: f64,
    /// Weight decay (L2 penalty).
    #[param(default, min = 0.0)]
    pub weight_decay: f64,
    /// Trust coefficient of the layer-wise rate.
    #[param(default = 1e-3, min = 0.0)]
    pub trust_coefficient: f64,
    /// Term added to the denominator of the trust ratio.
    #[param(default = 1e-8, min = 0.0)]
    pub eps: f64,
}

impl Component<ParamSet, dyn Optimizer> for LarsSettings {
    const NAME: &'static str = "LARS";

    fn build(self, params: &ParamSet) -> Result<Box<dyn Optimizer>> {
        let groups = params.by_tensor().groups(self.lr, self.weight_decay, kept(self.momentum))?;
        Ok(Box::new(ByRule::of_lists(self, groups)?))
    }
}

impl ListRule<1> for LarsSettings {
    fn kinds(&self) -> [(&'static str, Start); 1] {
        [("momentum_buffer", Start::zeros_if(kept(self.momentum).is_some()))]
    }

    fn step(&self, group: &Group, now: &Active<1>) -> Result<()> {
        let [buffers] = &now.states;
        let (weights, lengths) =
            (foreach::norms(&now.params, 2.0)?, foreach::norms(&now.grads, 2.0)?);
        let bottom =
            lengths.f_add(&weights.f_mul_scalar(group.weight_decay)?)?.f_add_scalar(self.eps)?;
        let ratios = weights.f_mul_scalar(self.trust_coefficient)?.f_div(&bottom)?;
        let updates = foreach::add(&now.grads, &now.params, group.weight_decay)?;
        trust::scale(&updates, &weights, &lengths, &ratios)?;
        if let Some(momentum) = group.momentum {
            // The rate goes into the buffer, as in the paper: a later change does not act on old steps.
            foreach::mul_(buffers, momentum)?;
            foreach::add_(buffers, &updates, group.lr)?;
            return Ok(foreach::add_(&now.params, buffers, -1.0)?);
        }
        Ok(foreach::add_(&now.params, &updates, -group.lr)?)
    }
}
