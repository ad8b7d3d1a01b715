//! A linear layer with PyTorch's layout and initial values.

use tch::Tensor;

use super::Activation;
use crate::error::Result;
use crate::model::LayerOutput;
use crate::model::init::{Fans, root};
use crate::model::initializer::Initializer;
use crate::model::param_builder::ParamBuilder;
use hookrack_torch::linear::{linear, linear_relu};

/// `y = x Wᵀ + b`, with the weight as `[outputs, inputs]`.
#[derive(Debug)]
pub struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
    output: LayerOutput,
}

impl Linear {
    /// Draws the values as `torch.nn.Linear` does: uniform within ±1/√inputs, the weight first.
    pub fn new(builder: &mut ParamBuilder, path: &str, inputs: i64, outputs: i64) -> Result<Self> {
        Self::with_bias(builder, path, inputs, outputs, true)
    }

    /// The same, with a bias or without.
    pub fn with_bias(
        builder: &mut ParamBuilder,
        path: &str,
        inputs: i64,
        outputs: i64,
        bias: bool,
    ) -> Result<Self> {
        let output = builder.layer(path);
        let (own, fans) =
            (Initializer::Uniform(1.0 / root(inputs)), Fans { into: inputs, out: outputs });
        let weight = builder.weight(format!("{path}.weight"), &[outputs, inputs], fans, own)?;
        let bias = bias.then(|| builder.bias(format!("{path}.bias"), outputs, fans, own));
        Ok(Self { weight, bias: bias.transpose()?, output })
    }

    /// The output for a batch.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let output = match &self.bias {
            Some(bias) => linear(input, &self.weight, bias)?,
            None => input.f_linear::<Tensor>(&self.weight, None)?,
        };
        Ok(self.output.keep(output))
    }

    /// The output through an activation.
    pub fn activated(&self, input: &Tensor, activation: Activation) -> Result<Tensor> {
        match &self.bias {
            Some(bias) if activation == Activation::Relu && !self.output.is_wanted() => {
                Ok(linear_relu(input, &self.weight, bias)?)
            }
            _ => activation.apply(&self.forward(input)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::init::Init;
    use crate::named_tensor::NamedTensor;
    use hookrack_torch::rng;
    use tch::Device;

    fn params(path: &str, inputs: i64, outputs: i64) -> Vec<NamedTensor> {
        let mut builder = ParamBuilder::new(Device::Cpu, Init::default());
        Linear::new(&mut builder, path, inputs, outputs).unwrap();
        builder.finish(&[], &[]).params
    }

    #[test]
    fn one_seed_gives_pytorchs_own_values() {
        rng::seed(0);
        let params = params("fc", 2, 2);
        let found: Vec<f32> = Vec::try_from(params[0].tensor.detach().flatten(0, -1)).unwrap();
        // `torch.manual_seed(0); torch.nn.Linear(2, 2)` prints these.
        for (found, wanted) in found.iter().zip([-0.0053, 0.3793, -0.5820, -0.5204]) {
            assert!((found - wanted).abs() < 1e-4, "{found}, not {wanted}");
        }
        let found: Vec<f32> = Vec::try_from(params[1].tensor.detach()).unwrap();
        assert!((found[0] + 0.2723).abs() < 1e-4 && (found[1] - 0.1896).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn values_are_within_the_bound_and_learn() {
        let params = params("layers.0", 16, 3);
        let [weight, bias] = params.as_slice() else { panic!("{} tensors", params.len()) };
        assert_eq!((weight.name.as_str(), weight.tensor.size()), ("layers.0.weight", vec![3, 16]));
        assert_eq!((bias.name.as_str(), bias.tensor.size()), ("layers.0.bias", vec![3]));
        let largest = weight.tensor.abs().max().double_value(&[]);
        assert!(largest <= 0.25 && largest > 0.1, "{largest}");
        assert!(weight.tensor.requires_grad() && bias.tensor.requires_grad());
    }
}
