//! The arithmetic of training: 32 bits, 16 in the forward pass where that is safe, or 64 everywhere.

use tch::{Device, Kind, Tensor};

use super::error::Result;
use hookrack_torch::amp::{self, Autocast, Half};

/// Arithmetic of the forward and backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 64-bit floats: parameters, buffers, inputs, gradients and the optimizer's state.
    Fp64,
    /// 32-bit floats.
    Fp32,
    /// Brain floats where they are safe.
    Bf16,
    /// Half floats where they are safe, with loss scaling.
    Fp16,
}

impl Precision {
    fn half(self) -> Option<Half> {
        match self {
            Self::Fp64 | Self::Fp32 => None,
            Self::Bf16 => Some(Half::Bf16),
            Self::Fp16 => Some(Half::Fp16),
        }
    }

    /// The type of parameters, outputs and losses.
    pub fn kind(self) -> Kind {
        if self == Self::Fp64 { Kind::Double } else { Kind::Float }
    }

    /// Runs a forward pass in this precision. The output has 32 bits in 16-bit precisions too, so that losses, metrics and hooks
    /// compute as they do without them. In 64 bits the input is converted here, for every kind of pass: data sets and hooks give floats.
    pub(super) fn forward(
        self,
        device: Device,
        input: &Tensor,
        body: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let wide = self.widened(input)?;
        let input = wide.as_ref().unwrap_or(input);
        let Some(half) = self.half() else { return body(input) };
        let output = {
            let _autocast = Autocast::enter(device, half)?;
            body(input)?
        };
        Ok(match output.f_kind()? {
            Kind::BFloat16 | Kind::Half => output.f_to_kind(Kind::Float)?,
            _ => output,
        })
    }

    /// An input or a label in 64 bits; `None` if it stays as it is: integers, and everything in other precisions.
    pub(super) fn widened(self, tensor: &Tensor) -> Result<Option<Tensor>> {
        let is_narrow = tensor.is_floating_point() && tensor.f_kind()? != Kind::Double;
        let wide = (self == Self::Fp64 && is_narrow).then(|| tensor.f_to_kind(Kind::Double));
        Ok(wide.transpose()?)
    }

    /// A warning about this precision on the device; `None` if there is none.
    pub fn caution(self, device: Device) -> Option<String> {
        let half = self.half().filter(|_| device == Device::Cpu)?;
        if amp::cpu_is_made_for(half).unwrap_or(true) {
            return None;
        }
        let name = match half {
            Half::Bf16 => "bf16",
            Half::Fp16 => "fp16",
        };
        Some(format!(
            "this processor has no instructions for {name}: expect steps about 40 times slower than with \
             precision = \"fp32\""
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_lose_bits_and_outputs_keep_their_type() {
        let x = Tensor::from_slice(&[1.0_f32, 1.0 / 512.0]).view([1, 2]);
        let product = |precision: Precision| {
            let y = precision.forward(Device::Cpu, &x, |x| Ok(x.f_matmul(&x.f_tr()?)?)).unwrap();
            assert_eq!(y.kind(), precision.kind(), "{precision:?}");
            y.double_value(&[0, 0])
        };
        let exact = 1.0 + 1.0 / 512.0 / 512.0;
        assert!((product(Precision::Fp32) - exact).abs() < 1e-7);
        assert_eq!(product(Precision::Fp64).to_bits(), exact.to_bits());
        for precision in [Precision::Bf16, Precision::Fp16] {
            let found = product(precision);
            assert!((found - 1.0).abs() < 1e-9, "{precision:?} kept {found}");
        }
    }

    #[test]
    fn only_floats_are_widened_and_only_in_64_bits() {
        let kinds = |precision: Precision| {
            [Kind::Float, Kind::Half, Kind::Double, Kind::Int64].map(|kind| {
                let tensor = Tensor::zeros([2], (kind, Device::Cpu));
                precision.widened(&tensor).unwrap().map(|wide| wide.kind())
            })
        };
        let wide = Some(Kind::Double);
        assert_eq!(kinds(Precision::Fp64), [wide, wide, None, None]);
        assert_eq!(kinds(Precision::Fp32), [None; 4]);
    }

    #[test]
    fn full_precision_needs_no_caution() {
        assert_eq!(Precision::Fp32.caution(Device::Cpu), None);
        assert_eq!(Precision::Fp64.caution(Device::Cpu), None);
        let told = Precision::Bf16.caution(Device::Cpu);
        assert_eq!(told.is_none(), amp::cpu_is_made_for(Half::Bf16).unwrap());
        assert_eq!(Precision::Bf16.caution(Device::Cuda(0)), None);
    }
}
