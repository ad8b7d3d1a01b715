//! `RandomFlip`: mirrors some images.

use hookrack_plugin_api::prelude::Settings;

use super::image::frame;
use super::{Plan, Transform};
use crate::data::{DataSpec, Prng};
use crate::error::Result;
use crate::registry::Component;

/// Flips a fraction `p` of the images horizontally, or vertically.
#[derive(Debug, Clone, Settings)]
pub struct RandomFlip {
    /// Probability that an image is flipped.
    #[param(default = 0.5, min = 0.0, max = 1.0)]
    pub p: f64,
    /// Flip vertically instead of horizontally.
    #[param(default)]
    pub vertical: bool,
}

impl Component<DataSpec, dyn Transform> for RandomFlip {
    const NAME: &'static str = "RandomFlip";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Transform>> {
        frame(&data.input).map_err(Self::refuse)?;
        Ok(Box::new(self))
    }
}

impl Transform for RandomFlip {
    fn plan(&self, random: &mut Prng, plan: &mut Plan) {
        if f64::from(random.unit_f32()) >= self.p {
            return;
        }
        if self.vertical { plan.flip_vertical() } else { plan.flip_horizontal() }
    }
}
