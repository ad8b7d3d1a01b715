//! The arithmetic of a run.

use super::Trainer;
use crate::abi::{PRECISION_BF16, PRECISION_FP16, PRECISION_FP32};
use crate::error::Result;

/// The arithmetic of forward and backward passes. What a model gives out has 32 bits in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// 32-bit floats.
    Fp32,
    /// Brain floats where they are safe.
    Bf16,
    /// Half floats where they are safe, with a scaled loss.
    Fp16,
}

/// How a loss is scaled in [`Arithmetic::Fp16`]: the rule of `torch.amp.GradScaler`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossScaling {
    /// The first scale.
    pub scale: f64,
    /// The scale grows by this factor; 1 keeps it.
    pub growth: f64,
    /// The scale shrinks by this factor when gradients are not finite; 1 keeps it.
    pub backoff: f64,
    /// Good steps in a row before it grows.
    pub interval: u64,
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
