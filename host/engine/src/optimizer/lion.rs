//! `Lion`: steps of one length in every direction, along the sign of the momentum, by list operators.

use hookrack_plugin_api::prelude::Settings;

use super::rule::{ByRule, ListRule};
use super::state::Start;
use super::{Group, Optimizer, ParamSet, betas};
use crate::error::Result;
use crate::registry::Component;
use hookrack_torch::foreach;
use hookrack_torch::optim::Active;

/// Lion: sign of the momentum with decoupled weight decay (arXiv 2302.06675).
#[derive(Debug, Clone, Settings)]
pub struct LionSettings {
    /// Learning rate.
    #[param(default = 1e-4, min = 0.0)]
    pub lr: f64,
    /// Interpolation of the momentum in the step, and its decay rate.
    #[param(default = [0.9, 0.99])]
    pub betas: Vec<f64>,
    /// Decoupled weight decay.
    #[param(default, min = 0.0)]
    pub weight_decay: f64,
}

impl Component<ParamSet, dyn Optimizer> for LionSettings {
    const NAME: &'static str = "Lion";

    fn build(self, params: &ParamSet) -> Result<Box<dyn Optimizer>> {
        let betas = betas::pair(&self.betas).map_err(Self::refuse)?;
        let groups = params.groups(self.lr, self.weight_decay, Some(betas[0]))?;
        Ok(Box::new(ByRule::of_lists(Lion { betas }, groups)?))
    }
}

/// The rule: sign of the momentum.
#[derive(Debug)]
struct Lion {
    betas: [f64; 2],
}

impl ListRule<1> for Lion {
    fn kinds(&self) -> [(&'static str, Start); 1] {
        [("exp_avg", Start::At(0.0))]
    }

    fn step(&self, group: &Group, now: &Active<1>) -> Result<()> {
        let [averages] = &now.states;
        let [own, beta2] = self.betas;
        let beta1 = group.momentum.unwrap_or(own);
        let updates = foreach::lerp(averages, &now.grads, 1.0 - beta1)?;
        foreach::sign_(&updates)?;
        if group.weight_decay > 0.0 {
            // Not by a factor 1 - lr * decay on the weights: in floats its rounding adds up over the steps.
            foreach::add_(&updates, &now.params, group.weight_decay)?;
        }
        foreach::add_(&now.params, &updates, -group.lr)?;
        Ok(foreach::lerp_(averages, &now.grads, 1.0 - beta2)?)
    }
}
