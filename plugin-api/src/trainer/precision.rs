//! The precision of a run.

use super::Trainer;
use crate::abi::{PRECISION_BF16, PRECISION_FP16, PRECISION_FP32};
use crate::error::Result;
use hookrack_plugin_macros::Deserialize;

/// The arithmetic of forward and backward passes that a hook can choose. The output of the model is float32
/// in all of them.
///
/// As a setting it is `"fp32"`, `"bf16"` or `"fp16"`. Parameters, gradients and optimizer state stay float32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// float32.
    Fp32,
    /// bfloat16 where that is safe. On a processor without instructions for it, steps take about 40 times as
    /// long, and the log has a warning.
    Bf16,
    /// float16 where that is safe, with loss scaling. A step whose gradients are not finite is skipped. On a
    /// processor without instructions for it, as slow as [`Arithmetic::Bf16`] without its own.
    Fp16,
}

/// How the loss is scaled in fp16; PyTorch's rule and defaults.
///
/// As settings of a hook or of the config it has the keys of `torch.amp.GradScaler`. The host logs the
/// current scale and the number of skipped steps.
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
    /// The defaults of `torch.amp.GradScaler`.
    pub const PYTORCH: Self = Self { scale: 65536.0, growth: 2.0, backoff: 0.5, interval: 2000 };
}

impl Default for LossScaling {
    fn default() -> Self {
        Self::PYTORCH
    }
}

/// Precision (extension `hookrack.precision/1`). On several ranks every rank must make the same calls. A host
/// before ABI 1.1 returns an error.
impl Trainer {
    /// Sets the arithmetic, overriding the config. Call it at `before_run`: the loss scaling of a checkpoint
    /// is restored after that point.
    ///
    /// Takes effect in the next forward pass; nothing is converted. Loss scaling begins with its initial
    /// scale. The setting is not saved: call it in every process.
    ///
    /// # Errors
    /// The run has `train.precision = "fp64"`, whose tensors have another type. At a point that is not a
    /// role, the hook declares neither `mutates = "params"` nor `"grads"`.
    pub fn set_precision(&mut self, arithmetic: Arithmetic) -> Result<()> {
        self.host.set_precision(match arithmetic {
            Arithmetic::Fp32 => PRECISION_FP32,
            Arithmetic::Bf16 => PRECISION_BF16,
            Arithmetic::Fp16 => PRECISION_FP16,
        })
    }

    /// Sets the loss scaling and starts with its initial scale; needs [`Arithmetic::Fp16`].
    ///
    /// # Errors
    /// The arithmetic is another one; or as for [`set_precision`](Self::set_precision), a word of `mutates`
    /// is missing.
    pub fn set_loss_scaling(&mut self, how: &LossScaling) -> Result<()> {
        self.host.set_loss_scaling(how.scale, how.growth, how.backoff, how.interval)
    }
}
