//! A linear layer with PyTorch's layout and initial values.

use tch::{Device, Kind, Tensor};

use crate::engine::error::Result;
use crate::engine::named_tensor::NamedTensor;
use crate::torch::autograd::GradMode;

/// `y = x Wᵀ + b`, with the weight as `[outputs, inputs]`.
#[derive(Debug)]
pub struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    /// Draws the values as `torch.nn.Linear` does: uniform within ±1/√inputs, the weight first.
    pub fn new(inputs: i64, outputs: i64, device: Device) -> Result<Self> {
        #[expect(clippy::cast_precision_loss, reason = "layer widths are far below 2^53")]
        let bound = if inputs > 0 { 1.0 / (inputs as f64).sqrt() } else { 0.0 };
        Ok(Self {
            weight: uniform(&[outputs, inputs], bound, device)?,
            bias: uniform(&[outputs], bound, device)?,
        })
    }

    /// The output for a batch.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        Ok(input.f_linear(&self.weight, Some(&self.bias))?)
    }

    /// The parameters, under PyTorch's names.
    pub fn params(&self, path: &str) -> [NamedTensor; 2] {
        [
            NamedTensor::new(format!("{path}.weight"), self.weight.shallow_clone()),
            NamedTensor::new(format!("{path}.bias"), self.bias.shallow_clone()),
        ]
    }
}

fn uniform(shape: &[i64], bound: f64, device: Device) -> Result<Tensor> {
    let _no_grad = GradMode::set(false);
    let mut values = Tensor::f_empty(shape, (Kind::Float, device))?;
    let values = values.f_uniform_(-bound, bound)?;
    Ok(values.f_set_requires_grad(true)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::torch::rng;

    #[test]
    fn one_seed_gives_pytorchs_own_values() {
        let _alone = rng::TEST_LOCK.lock();
        rng::seed(0);
        let [weight, bias] = Linear::new(2, 2, Device::Cpu).unwrap().params("fc");
        let found: Vec<f32> = Vec::try_from(weight.tensor.detach().flatten(0, -1)).unwrap();
        // `torch.manual_seed(0); torch.nn.Linear(2, 2)` prints these.
        for (found, wanted) in found.iter().zip([-0.0053, 0.3793, -0.5820, -0.5204]) {
            assert!((found - wanted).abs() < 1e-4, "{found}, not {wanted}");
        }
        let found: Vec<f32> = Vec::try_from(bias.tensor.detach()).unwrap();
        assert!((found[0] + 0.2723).abs() < 1e-4 && (found[1] - 0.1896).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn values_are_within_the_bound_and_learn() {
        let _alone = rng::TEST_LOCK.lock();
        let layer = Linear::new(16, 3, Device::Cpu).unwrap();
        let [weight, bias] = layer.params("layers.0");
        assert_eq!((weight.name.as_str(), weight.tensor.size()), ("layers.0.weight", vec![3, 16]));
        assert_eq!((bias.name.as_str(), bias.tensor.size()), ("layers.0.bias", vec![3]));
        let largest = weight.tensor.abs().max().double_value(&[]);
        assert!(largest <= 0.25 && largest > 0.1, "{largest}");
        assert!(weight.tensor.requires_grad() && bias.tensor.requires_grad());
    }
}
