//! `MixUp`: blends the samples of a batch in pairs, and their labels.

use hookrack_plugin_api::prelude::Settings;

use super::{Transform, image::no_tokens};
use crate::data::{DataSpec, Prng, Target};
use crate::error::Result;
use crate::registry::Component;

/// Mixes each sample and its label with the sample at the mirrored position of the batch, by a weight from
/// Beta(alpha, alpha) (arXiv 1710.09412).
#[derive(Debug, Clone, Settings)]
pub struct MixUp {
    /// Parameter of the distribution Beta(alpha, alpha), from which the mixing weight is drawn once per batch.
    #[param(default = 0.2, min = 0.0)]
    pub alpha: f64,
}

impl Component<DataSpec, dyn Transform> for MixUp {
    const NAME: &'static str = "MixUp";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Transform>> {
        no_tokens(data).map_err(Self::refuse)?;
        if self.alpha <= 0.0 {
            return Err(Self::refuse(format!("alpha = {}: must be above 0", self.alpha)));
        }
        Ok(Box::new(self))
    }
}

impl Transform for MixUp {
    fn spec(&self, before: DataSpec) -> DataSpec {
        let target = match before.target {
            Target::Classes(count) => Target::Shares(count),
            other => other,
        };
        DataSpec { target, ..before }
    }

    #[expect(clippy::cast_possible_truncation, reason = "samples are f32")]
    fn mix(&self, random: &mut Prng) -> Option<f32> {
        Some(random.beta(self.alpha) as f32)
    }
}
