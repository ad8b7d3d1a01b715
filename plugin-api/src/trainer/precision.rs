//! The arithmetic of a run.

use super::Trainer;
use crate::abi::{PRECISION_BF16, PRECISION_FP16, PRECISION_FP32};
use crate::error::Result;
use hookrack_plugin_macros::Deserialize;

/// The arithmetic of forward and backward passes; a model's output has 32 bits in each of them.
///
/// As a setting it is `"fp32"`, `"bf16"` or `"fp16"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// float32.
    Fp32,
    /// bfloat16 where that is safe.
    Bf16,
    /// float16 where that is safe, with loss scaling.
    Fp16,
}

/// How the loss is scaled in fp16; PyTorch's rule and defaults.
///
/// As settings of a hook or of the config it has the keys of `torch.amp.GradScaler`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossScaling {
    /// Initial scale.
    #[serde(rename = "init_scale")]
    #[param(default = LossScaling::PYTORCH.scale, min = 1.0)]
    pub scale: f64,
    /// Factor by which the scale grows; 1 keeps it.
    #[serde(rename = "growth_factor")]
    #[param(default = LossScaling::PYTORCH.growth, min = 1.0)]
    pub growth: f64,
    /// Factor by which the scale shrinks when gradients are not finite; 1 keeps it.
    #[serde(rename = "backoff_factor")]
    #[param(default = LossScaling::PYTORCH.backoff, min = 0.001, max = 1.0)]
    pub backoff: f64,
    /// Consecutive steps with finite gradients before the scale grows.
    #[serde(rename = "growth_interval")]
    #[param(default = LossScaling::PYTORCH.interval, min = 1)]
    pub interval: u64,
}

impl LossScaling {
    /// What `torch.amp.GradScaler` does unless it is told otherwise.
    pub const PYTORCH: Self = Self { scale: 65536.0, growth: 2.0, backoff: 0.5, interval: 2000 };
}

impl Default for LossScaling {
    fn default() -> Self {
        Self::PYTORCH
    }
}

/// Arithmetic: the extension `hookrack.precision/1`, which an older host answers with an error.
impl Trainer {
    /// Chooses the arithmetic in place of the config's. Call it at `before_run`: what a checkpoint keeps of loss scaling
    /// is put back after that point.
    pub fn set_precision(&mut self, arithmetic: Arithmetic) -> Result<()> {
        self.host.set_precision(match arithmetic {
            Arithmetic::Fp32 => PRECISION_FP32,
            Arithmetic::Bf16 => PRECISION_BF16,
            Arithmetic::Fp16 => PRECISION_FP16,
        })
    }

    /// Begins loss scaling anew, in [`Arithmetic::Fp16`].
    pub fn set_loss_scaling(&mut self, how: &LossScaling) -> Result<()> {
        self.host.set_loss_scaling(how.scale, how.growth, how.backoff, how.interval)
    }
}
