//! `BitsPerToken`: how many bits the model needs for a token.

use super::categorical_cross_entropy::entropy;
use super::gathered::gathered;
use super::mean::Mean;
use super::numbers::{IGNORED, classified};
use hookrack_plugin_api::prelude::*;
use std::f64::consts::LN_2;

/// Mean cross entropy of logits against classes in bits; for text in bytes, bits per byte.
#[derive(Settings)]
pub(super) struct BitsPerToken {
    /// Label to ignore; that of the loss unless set.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    mean: Mean,
}

#[metric(better = "lower", unit = "bit", aliases = "BitsPerByte")]
impl Metric for BitsPerToken {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let (sum, count) = classified(t, self.ignore_index, entropy)?;
        self.mean.add(sum, count);
        Ok(())
    }

    fn compute(&self) -> f64 {
        self.mean.value() / LN_2
    }

    fn step_value(&self) -> Option<f64> {
        self.mean.last().map(|nats| nats / LN_2)
    }

    gathered!(mean);
}
