//! `SGD`: gradient descent with momentum, by libtorch's fused kernel.

use hookrack_plugin_api::prelude::Settings;

use super::rule::{ByRule, Rule};
use super::state::Start;
use super::{Group, Optimizer, ParamSet};
use crate::error::Result;
use crate::registry::Component;
use hookrack_torch::TensorList;
use hookrack_torch::optim::{Scratch, SgdHyper, sgd_step};

/// Stochastic gradient descent, optionally with momentum; PyTorch's defaults.
#[derive(Debug, Clone, Settings)]
pub struct SgdSettings {
    /// Learning rate.
    #[param(default = 1e-3, min = 0.0)]
    pub lr: f64,
    /// Momentum.
    #[param(default, min = 0.0)]
    pub momentum: f64,
    /// Dampening of the momentum.
    #[param(default)]
    pub dampening: f64,
    /// Weight decay (L2 penalty).
    #[param(default, min = 0.0)]
    pub weight_decay: f64,
    /// Use Nesterov momentum.
    #[param(default)]
    pub nesterov: bool,
    /// Maximize the objective instead of minimizing it.
    #[param(default)]
    pub maximize: bool,
}

impl Component<ParamSet, dyn Optimizer> for SgdSettings {
    const NAME: &'static str = "SGD";

    fn build(self, params: &ParamSet) -> Result<Box<dyn Optimizer>> {
        if self.nesterov && (self.momentum <= 0.0 || self.dampening != 0.0) {
            return Err(Self::refuse("nesterov needs a momentum above 0 and dampening = 0"));
        }
        let Self { lr, momentum, dampening, weight_decay, nesterov, maximize } = self;
        let hyper = SgdHyper { lr, momentum, dampening, weight_decay, nesterov, maximize };
        let groups = params.groups(lr, weight_decay, Some(momentum))?;
        Ok(Box::new(ByRule::new(Sgd { hyper, scratch: Scratch::default() }, groups)?))
    }
}

/// The rule: a fused step, with a momentum buffer from the second step on.
#[derive(Debug)]
struct Sgd {
    hyper: SgdHyper,
    scratch: Scratch,
}

impl Rule<1> for Sgd {
    fn kinds(&self) -> [(&'static str, Start); 1] {
        [("momentum_buffer", Start::Late)]
    }

    fn step(&mut self, group: &Group, [buffers]: &mut [TensorList; 1]) -> Result<()> {
        let (lr, weight_decay) = (group.lr, group.weight_decay);
        let momentum = group.momentum.unwrap_or(self.hyper.momentum);
        let hyper = SgdHyper { lr, momentum, weight_decay, ..self.hyper };
        Ok(sgd_step(group.own_list(), buffers, &mut self.scratch, &hyper)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::OPTIMIZERS;
    use super::*;
    use crate::named_tensor::NamedTensor;
    use crate::registry::{Build as _, Choice};
    use crate::tensor_shard::InMemory;
    use hookrack_plugin_api::Value;
    use tch::Tensor;

    fn param(name: &str, values: &[f32]) -> NamedTensor {
        NamedTensor::new(name, Tensor::from_slice(values).set_requires_grad(true))
    }

    fn build(settings: &[(&str, Value)], params: &[NamedTensor]) -> Result<Box<dyn Optimizer>> {
        Choice::new("SGD", settings).build(OPTIMIZERS, &ParamSet::whole(params))
    }

    fn run(optimizer: &mut dyn Optimizer, param: &NamedTensor, steps: std::ops::Range<i32>) {
        for step in steps {
            optimizer.zero_grad().unwrap();
            let target = Tensor::from(f64::from(step).sin());
            (&param.tensor - target).square().sum(param.tensor.kind()).backward();
            optimizer.step().unwrap();
        }
    }

    #[test]
    fn a_late_first_step_takes_the_gradient_as_momentum() {
        let settings = [("momentum", 0.9.into()), ("dampening", 0.5.into()), ("lr", 1.0.into())];
        let params = [param("early", &[1.0_f32]), param("late", &[1.0_f32])];
        let mut optimizer = build(&settings, &params).unwrap();
        run(optimizer.as_mut(), &params[0], 0..2);
        assert_eq!(optimizer.state().len(), 1);
        run(optimizer.as_mut(), &params[1], 0..1);
        // Whole numbers all the way.
        assert_eq!(params[1].tensor, Tensor::from_slice(&[-1.0_f32]));
        let names: Vec<_> = optimizer.state().into_iter().map(|named| named.name).collect();
        assert_eq!(names, ["early.momentum_buffer", "late.momentum_buffer"]);
    }

    #[test]
    fn wrong_settings_and_states_are_reported() {
        let params = [param("w", &[1.0_f32])];
        let error = build(&[("nesterov", true.into())], &params).err().unwrap();
        assert!(error.to_string().starts_with("optimizer `SGD`: nesterov needs"));
        let mut optimizer = build(&[("momentum", 0.9.into())], &params).unwrap();
        let strange = [param("w.momentum_buffer", &[1.0_f32, 2.0]), param("x", &[1.0_f32])];
        assert_eq!(
            optimizer.load_state(&InMemory::new(&strange)).unwrap_err().to_string(),
            "the saved optimizer does not match: `w.momentum_buffer` expects [1], found [2], `x` is unexpected"
        );
    }
}
