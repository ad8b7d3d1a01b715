//! The arithmetic of the forward pass: 32 bits, or 16 where that is safe.

use tch::{Device, Kind, Tensor};

use super::error::Result;
use hookrack_torch::amp::{self, Autocast, Half};

/// Arithmetic of the forward and backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
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
            Self::Fp32 => None,
            Self::Bf16 => Some(Half::Bf16),
            Self::Fp16 => Some(Half::Fp16),
        }
    }

    /// Runs a forward pass in this precision. The output has 32 bits, so that losses, metrics and hooks
    /// compute as they do without it.
    pub(super) fn forward(
        self,
        device: Device,
        body: impl FnOnce() -> Result<Tensor>,
    ) -> Result<Tensor> {
        let Some(half) = self.half() else { return body() };
        let output = {
            let _autocast = Autocast::enter(device, half)?;
            body()?
        };
        Ok(match output.f_kind()? {
            Kind::BFloat16 | Kind::Half => output.f_to_kind(Kind::Float)?,
            _ => output,
        })
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
            let y = precision.forward(Device::Cpu, || Ok(x.f_matmul(&x.f_tr()?)?)).unwrap();
            assert_eq!(y.kind(), Kind::Float, "{precision:?}");
            y.double_value(&[0, 0])
        };
        let exact = 1.0 + 1.0 / 512.0 / 512.0;
        assert!((product(Precision::Fp32) - exact).abs() < 1e-7);
        for precision in [Precision::Bf16, Precision::Fp16] {
            let found = product(precision);
            assert!((found - 1.0).abs() < 1e-9, "{precision:?} kept {found}");
        }
    }

    #[test]
    fn full_precision_needs_no_caution() {
        assert_eq!(Precision::Fp32.caution(Device::Cpu), None);
        let told = Precision::Bf16.caution(Device::Cpu);
        assert_eq!(told.is_none(), amp::cpu_is_made_for(Half::Bf16).unwrap());
        assert_eq!(Precision::Bf16.caution(Device::Cuda(0)), None);
    }
}
