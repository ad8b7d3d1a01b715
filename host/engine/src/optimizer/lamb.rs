//! `LAMB`: Adam with steps scaled by the norm of each tensor, by list operators.

use hookrack_plugin_api::prelude::Settings;

use super::rule::{ByRule, ListRule};
use super::state::Start;
use super::{Group, Optimizer, ParamSet, betas, trust};
use crate::error::Result;
use crate::registry::Component;
use hookrack_torch::optim::Active;
use hookrack_torch::{TensorList, foreach};

/// LAMB: Adam with decoupled weight decay and a layer-wise trust ratio (arXiv 1904.00962).
#[derive(Debug, Clone, Settings)]
pub struct LambSettings {
    /// Learning rate.
    #[param(default = 1e-3, min = 0.0)]
    pub lr: f64,
    /// Decay rates of the first and second moment.
    #[param(default = [0.9, 0.999])]
    pub betas: Vec<f64>,
    /// Term added to the denominator for numerical stability.
    #[param(default = 1e-6, min = 0.0)]
    pub eps: f64,
    /// Weight decay, applied before the trust ratio.
    #[param(default, min = 0.0)]
    pub weight_decay: f64,
}

impl Component<ParamSet, dyn Optimizer> for LambSettings {
    const NAME: &'static str = "LAMB";

    fn build(self, params: &ParamSet) -> Result<Box<dyn Optimizer>> {
        let betas = betas::pair(&self.betas).map_err(Self::refuse)?;
        let groups = params.by_tensor().groups(self.lr, self.weight_decay, Some(betas[0]))?;
        Ok(Box::new(ByRule::of_lists(Lamb { betas, eps: self.eps }, groups)?))
    }
}

/// The rule: bias-corrected moments, weight decay, trust ratio.
#[derive(Debug)]
struct Lamb {
    betas: [f64; 2],
    eps: f64,
}

impl ListRule<3> for Lamb {
    fn kinds(&self) -> [(&'static str, Start); 3] {
        [("step", Start::Counter), ("exp_avg", Start::At(0.0)), ("exp_avg_sq", Start::At(0.0))]
    }

    fn step(&self, group: &Group, now: &Active<3>) -> Result<()> {
        let [steps, averages, squares] = &now.states;
        let [own, second] = self.betas;
        let first = group.momentum.unwrap_or(own);
        foreach::add_scalar_(steps, 1.0)?;
        foreach::lerp_(averages, &now.grads, 1.0 - first)?;
        foreach::mul_(squares, second)?;
        foreach::addcmul_(squares, &now.grads, &now.grads, 1.0 - second)?;
        let updates = self.directions(steps, averages, squares, [first, second])?;
        if group.weight_decay > 0.0 {
            foreach::add_(&updates, &now.params, group.weight_decay)?;
        }
        let (weights, lengths) =
            (foreach::norms(&now.params, 2.0)?, foreach::norms(&updates, 2.0)?);
        trust::scale(&updates, &weights, &lengths, &weights.f_div(&lengths)?)?;
        Ok(foreach::add_(&now.params, &updates, -group.lr)?)
    }
}

impl Lamb {
    /// The corrected first moment over the root of the corrected second, in new tensors.
    fn directions(
        &self,
        steps: &TensorList,
        averages: &TensorList,
        squares: &TensorList,
        betas: [f64; 2],
    ) -> Result<TensorList> {
        let [first, second] = corrections(steps, betas)?;
        let updates = foreach::sqrt(squares)?;
        foreach::div_each_(&updates, &second)?;
        foreach::add_scalar_(&updates, self.eps)?;
        foreach::reciprocal_(&updates)?;
        foreach::mul_list_(&updates, averages)?;
        foreach::div_each_(&updates, &first)?;
        Ok(updates)
    }
}

/// The bias correction of each moment; of the second one, its square root. Reads the counters, so
/// it synchronizes with the device if they are not on the CPU.
fn corrections(steps: &TensorList, [beta1, beta2]: [f64; 2]) -> Result<[Vec<f64>; 2]> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for step in steps.iter() {
        let step = step.f_double_value(&[])?;
        first.push(1.0 - beta1.powf(step));
        second.push((1.0 - beta2.powf(step)).sqrt());
    }
    Ok([first, second])
}
