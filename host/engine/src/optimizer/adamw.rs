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

#[cfg(test)]
mod tests {
    use super::super::OPTIMIZERS;
    use super::*;
    use crate::named_tensor::{NamedTensor, load};
    use crate::registry::{Build as _, Choice};
    use crate::tensor_shard::{InMemory, TensorShard};
    use hookrack_plugin_api::Value;
    use hookrack_torch::rounding;
    use tch::Tensor;

    fn param<T: tch::kind::Element>(values: &[T]) -> NamedTensor {
        NamedTensor::new("w", Tensor::from_slice(values).set_requires_grad(true))
    }

    fn adamw(settings: &[(&str, Value)], params: &[NamedTensor]) -> Box<dyn Optimizer> {
        Choice::new("AdamW", settings).build(OPTIMIZERS, &ParamSet::whole(params)).unwrap()
    }

    fn backward(param: &NamedTensor, step: u32) {
        let target = Tensor::from(f64::from(step).sin());
        (&param.tensor - target).square().sum(param.tensor.kind()).backward();
    }

    /// The paper's formula in doubles.
    fn naive(values: &[f64], steps: u32, amsgrad: bool) -> Vec<f64> {
        let (lr, beta1, beta2, eps, decay) = (0.05, 0.9, 0.99, 1e-8, 0.1);
        let one = |start: f64| {
            let (mut x, mut m, mut v, mut largest) = (start, 0.0, 0.0_f64, 0.0_f64);
            for step in 1..=steps {
                let grad = 2.0 * (x - f64::from(step).sin());
                x -= lr * decay * x;
                m = beta1 * m + (1.0 - beta1) * grad;
                v = beta2 * v + (1.0 - beta2) * grad * grad;
                largest = largest.max(v);
                let t = i32::try_from(step).unwrap();
                let second = if amsgrad { largest } else { v } / (1.0 - beta2.powi(t));
                x -= lr * (m / (1.0 - beta1.powi(t))) / (second.sqrt() + eps);
            }
            x
        };
        values.iter().map(|start| one(*start)).collect()
    }

    #[test]
    fn fifty_steps_follow_the_formula() {
        let start = [1.0_f64, -2.0, 0.5, 3.0, 0.0];
        for amsgrad in [false, true] {
            let params = [param(&start)];
            let mut optimizer = adamw(
                &[
                    ("lr", 0.05.into()),
                    ("betas", vec![0.9, 0.99].into()),
                    ("weight_decay", 0.1.into()),
                    ("amsgrad", amsgrad.into()),
                ],
                &params,
            );
            for step in 1..=50 {
                optimizer.zero_grad().unwrap();
                backward(&params[0], step);
                optimizer.step().unwrap();
            }
            let found: Vec<f64> = Vec::try_from(params[0].tensor.detach()).unwrap();
            for (found, wanted) in found.iter().zip(naive(&start, 50, amsgrad)) {
                assert!((found - wanted).abs() < rounding::DOUBLES, "{found}, not {wanted}");
            }
        }
    }

    #[test]
    fn a_restored_state_continues_bit_for_bit() {
        let (first, second) = ([param(&[1.0_f32, 2.0, 3.0])], [param(&[0.0_f32, 0.0, 0.0])]);
        let (mut original, mut restored) = (adamw(&[], &first), adamw(&[], &second));
        let run = |optimizer: &mut Box<dyn Optimizer>, param: &NamedTensor, steps| {
            for step in steps {
                optimizer.zero_grad().unwrap();
                backward(param, step);
                optimizer.step().unwrap();
            }
        };
        run(&mut original, &first[0], 0..5);
        load("model", &second.clone().map(TensorShard::from), &InMemory::new(&first)).unwrap();
        restored.load_state(&InMemory::pieces(&original.state())).unwrap();
        run(&mut original, &first[0], 5..10);
        run(&mut restored, &second[0], 5..10);
        assert_eq!(first[0].tensor, second[0].tensor);
    }

    #[test]
    fn a_parameter_without_a_gradient_is_left_alone() {
        let params = [param(&[1.0_f32]), NamedTensor::new("b", param(&[1.0_f32]).tensor)];
        let mut optimizer = adamw(&[], &params);
        backward(&params[0], 1);
        optimizer.step().unwrap();
        assert_ne!(params[0].tensor, params[1].tensor);
        let state = optimizer.state();
        let step = |name| state.iter().find(|t| t.name == name).unwrap().tensor.double_value(&[]);
        assert!((step("w.step") - 1.0).abs() < 1e-9 && step("b.step").abs() < 1e-9);
    }

    #[test]
    fn state_names_are_pytorchs_and_strange_ones_are_refused() {
        let mut optimizer = adamw(&[], &[param(&[1.0_f32])]);
        let names: Vec<_> = optimizer.state().into_iter().map(|named| named.name).collect();
        assert_eq!(names, ["w.step", "w.exp_avg", "w.exp_avg_sq"]);
        let error = optimizer.load_state(&InMemory::new(&[])).unwrap_err().to_string();
        assert!(error.starts_with("the saved optimizer does not match: `w.step` is missing"));
        let wrong = Choice::new("AdamW", &[("betas", vec![0.9].into())]);
        let error = wrong.build(OPTIMIZERS, &ParamSet::whole(&[param(&[1.0_f32])])).err().unwrap();
        assert_eq!(
            error.to_string(),
            "optimizer `AdamW`: betas = [0.9]: must be two numbers in 0..1"
        );
    }
}
