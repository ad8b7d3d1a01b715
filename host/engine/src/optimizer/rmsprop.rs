//! `RMSprop`: the gradient over the root of its mean square, by list operators.

use hookrack_plugin_api::prelude::Settings;

use super::rule::{ByRule, ListRule};
use super::state::{Start, kept};
use super::{Group, Optimizer, ParamSet};
use crate::error::Result;
use crate::registry::Component;
use hookrack_torch::optim::Active;
use hookrack_torch::{TensorList, foreach};

/// RMSprop; PyTorch's defaults.
#[derive(Debug, Clone, Settings)]
pub struct RmsPropSettings {
    /// Learning rate.
    #[param(default = 1e-2, min = 0.0)]
    pub lr: f64,
    /// Decay rate of the mean square.
    #[param(default = 0.99, min = 0.0, max = 1.0)]
    pub alpha: f64,
    /// Term added to the denominator for numerical stability.
    #[param(default = 1e-8, min = 0.0)]
    pub eps: f64,
    /// Weight decay (L2 penalty).
    #[param(default, min = 0.0)]
    pub weight_decay: f64,
    /// Momentum.
    #[param(default, min = 0.0)]
    pub momentum: f64,
    /// Normalize by the centered second moment.
    #[param(default)]
    pub centered: bool,
    /// Maximize the objective instead of minimizing it.
    #[param(default)]
    pub maximize: bool,
}

impl Component<ParamSet, dyn Optimizer> for RmsPropSettings {
    const NAME: &'static str = "RMSprop";

    fn build(self, params: &ParamSet) -> Result<Box<dyn Optimizer>> {
        let groups = params.groups(self.lr, self.weight_decay, kept(self.momentum))?;
        Ok(Box::new(ByRule::of_lists(self, groups)?))
    }
}

impl ListRule<3> for RmsPropSettings {
    fn kinds(&self) -> [(&'static str, Start); 3] {
        [
            ("square_avg", Start::At(0.0)),
            ("grad_avg", Start::zeros_if(self.centered)),
            ("momentum_buffer", Start::zeros_if(kept(self.momentum).is_some())),
        ]
    }

    fn step(&self, group: &Group, now: &Active<3>) -> Result<()> {
        let [squares, averages, buffers] = &now.states;
        let changed = self.changed_grads(group, now)?;
        let grads = changed.as_ref().unwrap_or(&now.grads);
        foreach::mul_(squares, self.alpha)?;
        foreach::addcmul_(squares, grads, grads, 1.0 - self.alpha)?;
        let roots = if self.centered {
            foreach::lerp_(averages, grads, 1.0 - self.alpha)?;
            let variances = foreach::addcmul(squares, averages, averages, -1.0)?;
            foreach::sqrt_(&variances)?;
            variances
        } else {
            foreach::sqrt(squares)?
        };
        foreach::add_scalar_(&roots, self.eps)?;
        if let Some(momentum) = group.momentum {
            foreach::mul_(buffers, momentum)?;
            foreach::addcdiv_(buffers, grads, &roots, 1.0)?;
            return Ok(foreach::add_(&now.params, buffers, -group.lr)?);
        }
        Ok(foreach::addcdiv_(&now.params, grads, &roots, -group.lr)?)
    }
}

impl RmsPropSettings {
    /// The gradients, negated and with weight decay, if configured.
    fn changed_grads(&self, group: &Group, now: &Active<3>) -> Result<Option<TensorList>> {
        let turned = if self.maximize { Some(foreach::neg(&now.grads)?) } else { None };
        if group.weight_decay == 0.0 {
            return Ok(turned);
        }
        let grads = turned.as_ref().unwrap_or(&now.grads);
        Ok(Some(foreach::add(grads, &now.params, group.weight_decay)?))
    }
}
