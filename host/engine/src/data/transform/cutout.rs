//! `Cutout`: masks out a square of every image.

use hookrack_plugin_api::prelude::Settings;

use super::image::frame;
use super::{Plan, Transform};
use crate::data::{DataSpec, Prng};
use crate::error::Result;
use crate::registry::Component;

/// Masks out a square at a random position (arXiv 1708.04552).
#[derive(Debug, Clone, Settings)]
pub struct Cutout {
    /// Side length of the square in pixels.
    #[param(min = 1, max = 65536)]
    pub side: usize,
    /// Fill value.
    #[param(default)]
    pub fill: f64,
}

impl Component<DataSpec, dyn Transform> for Cutout {
    const NAME: &'static str = "Cutout";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Transform>> {
        frame(&data.input).map_err(Self::refuse)?;
        Ok(Box::new(self))
    }
}

impl Transform for Cutout {
    fn plan(&self, random: &mut Prng, plan: &mut Plan) {
        let (height, width) = plan.size();
        let half = (self.side / 2).cast_signed();
        let (y, x) = (random.below(height).cast_signed(), random.below(width).cast_signed());
        plan.erase((y - half, x - half), (self.side, self.side), self.fill);
    }
}
