//! Functions applied to each value, by name.

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use crate::error::Result;

/// A function applied to each value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Settings)]
pub enum Activation {
    /// max(x, 0)
    #[default]
    Relu,
    /// x Φ(x)
    Gelu,
    /// GPT-2's approximation of x Φ(x) by tanh
    GeluTanh,
    /// x σ(x)
    Silu,
    /// tanh x
    Tanh,
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// x, or 0.01 x below 0
    LeakyRelu,
    /// x, or eˣ - 1 below 0
    Elu,
    /// x tanh(ln(1 + eˣ))
    Mish,
    /// x min(max(x + 3, 0), 6) / 6
    Hardswish,
}

impl Activation {
    /// The function of each value.
    pub fn apply(self, x: &Tensor) -> Result<Tensor> {
        Ok(match self {
            Self::Relu => x.f_relu()?,
            Self::Gelu => x.f_gelu("none")?,
            Self::GeluTanh => x.f_gelu("tanh")?,
            Self::Silu => x.f_silu()?,
            Self::Tanh => x.f_tanh()?,
            Self::Sigmoid => x.f_sigmoid()?,
            Self::LeakyRelu => x.f_leaky_relu()?,
            Self::Elu => x.f_elu()?,
            Self::Mish => x.f_mish()?,
            Self::Hardswish => x.f_hardswish()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_formula() {
        let x = 0.75_f64;
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let tanh_gelu = |x: f64| {
            0.5 * x
                * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
        };
        for (activation, above, below) in [
            (Activation::Relu, x, 0.0),
            (Activation::Gelu, x * 0.773_372_647_623_131_7, -x * 0.226_627_352_376_868_3),
            (Activation::GeluTanh, tanh_gelu(x), tanh_gelu(-x)),
            (Activation::Silu, x * sigmoid(x), -x * sigmoid(-x)),
            (Activation::Tanh, x.tanh(), -x.tanh()),
            (Activation::Sigmoid, sigmoid(x), sigmoid(-x)),
            (Activation::LeakyRelu, x, -0.01 * x),
            (Activation::Elu, x, (-x).exp() - 1.0),
            (Activation::Mish, x * x.exp().ln_1p().tanh(), -x * (-x).exp().ln_1p().tanh()),
            (Activation::Hardswish, x * (x + 3.0) / 6.0, -x * (3.0 - x) / 6.0),
        ] {
            let found = activation.apply(&Tensor::from_slice(&[x, -x])).unwrap();
            for (place, wanted) in [(0, above), (1, below)] {
                let found = found.double_value(&[place]);
                assert!((found - wanted).abs() < 1e-9, "{activation:?}: {found}, not {wanted}");
            }
        }
    }
}
