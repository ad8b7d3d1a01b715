//! `Adam` and `AdamW`: steps along the mean gradient over the root of its mean square, by libtorch's fused kernels.

use hookrack_plugin_api::prelude::Settings;

use super::rule::{ByRule, Rule};
use super::state::Start;
use super::{Group, Optimizer, ParamSet, betas};
use crate::error::Result;
use crate::registry::Component;
use hookrack_torch::TensorList;
use hookrack_torch::optim::{AdamHyper, Scratch, adam_step};

/// The settings that both forms of Adam share; PyTorch's defaults.
#[derive(Debug, Clone, Settings)]
struct AdamOptions {
    /// Learning rate.
    #[param(default = 1e-3, min = 0.0)]
    lr: f64,
    /// Decay rates of the first and second moment.
    #[param(default = [0.9, 0.999])]
    betas: Vec<f64>,
    /// Term added to the denominator for numerical stability.
    #[param(default = 1e-8, min = 0.0)]
    eps: f64,
    /// Use the AMSGrad variant.
    #[param(default)]
    amsgrad: bool,
    /// Maximize the objective instead of minimizing it.
    #[param(default)]
    maximize: bool,
}

impl AdamOptions {
    /// The kernel's numbers; `decoupled_decay` applies the decay to the weights and not to the gradient.
    fn hyper(
        self,
        weight_decay: f64,
        decoupled_decay: bool,
    ) -> std::result::Result<AdamHyper, String> {
        let [beta1, beta2] = betas::pair(&self.betas)?;
        let Self { lr, eps, amsgrad, maximize, .. } = self;
        Ok(AdamHyper { lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled_decay })
    }
}

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
        build(hyper, params)
    }
}

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
        build(hyper, params)
    }
}

/// Adam in both forms; `hyper` says which.
#[derive(Debug)]
struct FusedAdam {
    hyper: AdamHyper,
    scratch: Scratch,
}

/// An optimizer with all moments at zero.
fn build(hyper: AdamHyper, params: &ParamSet) -> Result<Box<dyn Optimizer>> {
    let groups = params.groups(hyper.lr, hyper.weight_decay, Some(hyper.beta1))?;
    Ok(Box::new(ByRule::new(FusedAdam { hyper, scratch: Scratch::default() }, groups)?))
}

impl Rule<4> for FusedAdam {
    fn kinds(&self) -> [(&'static str, Start); 4] {
        [
            ("step", Start::Counter),
            ("exp_avg", Start::At(0.0)),
            ("exp_avg_sq", Start::At(0.0)),
            ("max_exp_avg_sq", Start::zeros_if(self.hyper.amsgrad)),
        ]
    }

    fn step(&mut self, group: &Group, states: &mut [TensorList; 4]) -> Result<()> {
        let (lr, weight_decay) = (group.lr, group.weight_decay);
        let beta1 = group.momentum.unwrap_or(self.hyper.beta1);
        let hyper = AdamHyper { lr, beta1, weight_decay, ..self.hyper };
        Ok(adam_step(group.own_list(), states, &mut self.scratch, &hyper)?)
    }
}
