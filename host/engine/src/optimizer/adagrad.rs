//! `Adagrad`: the gradient over the root of the sum of all its squares, by libtorch's fused kernel.

use hookrack_plugin_api::prelude::Settings;

use super::rule::{ByRule, ListRule};
use super::state::Start;
use super::{Group, Optimizer, ParamSet};
use crate::error::Result;
use crate::registry::Component;
use hookrack_torch::Arg;
use hookrack_torch::foreach::{self, ListOp};
use hookrack_torch::optim::Active;

/// Adagrad; PyTorch's defaults.
#[derive(Debug, Clone, Settings)]
pub struct AdagradSettings {
    /// Learning rate.
    #[param(default = 1e-2, min = 0.0)]
    pub lr: f64,
    /// Learning rate decay: the rate is divided by 1 + this times the number of previous steps.
    #[param(default, min = 0.0)]
    pub lr_decay: f64,
    /// Weight decay (L2 penalty).
    #[param(default, min = 0.0)]
    pub weight_decay: f64,
    /// Initial value of the accumulated squares.
    #[param(default, min = 0.0)]
    pub initial_accumulator_value: f64,
    /// Term added to the denominator for numerical stability.
    #[param(default = 1e-10, min = 0.0)]
    pub eps: f64,
    /// Maximize the objective instead of minimizing it.
    #[param(default)]
    pub maximize: bool,
}

impl Component<ParamSet, dyn Optimizer> for AdagradSettings {
    const NAME: &'static str = "Adagrad";

    fn build(self, params: &ParamSet) -> Result<Box<dyn Optimizer>> {
        let groups = params.groups(self.lr, self.weight_decay, None)?;
        Ok(Box::new(ByRule::of_lists(self, groups)?))
    }
}

impl ListRule<2> for AdagradSettings {
    fn kinds(&self) -> [(&'static str, Start); 2] {
        [("step", Start::Counter), ("sum", Start::At(self.initial_accumulator_value))]
    }

    fn step(&self, group: &Group, now: &Active<2>) -> Result<()> {
        static KERNEL: ListOp = ListOp::new("aten::_fused_adagrad_");
        let [steps, sums] = &now.states;
        foreach::add_scalar_(steps, 1.0)?;
        Ok(KERNEL.run(&[
            Arg::list(&now.params),
            Arg::list(&now.grads),
            Arg::list(sums),
            Arg::list(steps),
            Arg::float(group.lr),
            Arg::float(self.lr_decay),
            Arg::float(group.weight_decay),
            Arg::float(self.eps),
            Arg::bool(self.maximize),
        ])?)
    }
}
