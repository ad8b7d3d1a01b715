//! `BitsPerToken`: the mean cross entropy in bits.

use super::categorical_cross_entropy::entropy;
use super::mean::{Mean, mean_value};
use super::numbers::{IGNORED, classified};
use hookrack_plugin_api::prelude::*;
use std::f64::consts::LN_2;

/// Mean cross entropy of logits against classes in bits; for text in bytes, bits per byte.
#[derive(Settings)]
pub(super) struct BitsPerToken {
    /// Label to ignore; by default that of the loss.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    mean: Mean,
}

fn bits(nats: f64) -> f64 {
    nats / LN_2
}

#[metric(better = "lower", unit = "bit", aliases = "BitsPerByte")]
impl Metric for BitsPerToken {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.mean.add(classified(t, self.ignore_index, entropy)?);
        Ok(())
    }

    mean_value!(mean, bits);
}
