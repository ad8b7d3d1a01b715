//! `Rotate`: rotates images by a random angle.

use hookrack_plugin_api::prelude::Settings;

use super::image::frame;
use super::{Plan, Transform};
use crate::data::{DataSpec, Prng};
use crate::error::Result;
use crate::registry::Component;

/// Rotates each image about its center by a random angle of up to `degrees`, with bilinear interpolation.
#[derive(Debug, Clone, Settings)]
pub struct Rotate {
    /// Maximum angle in degrees, in either direction.
    #[param(min = 0.0, max = 180.0)]
    pub degrees: f64,
    /// Fill value for the area outside of the image.
    #[param(default)]
    pub fill: f64,
}

impl Component<DataSpec, dyn Transform> for Rotate {
    const NAME: &'static str = "Rotate";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Transform>> {
        frame(&data.input).map_err(Self::refuse)?;
        Ok(Box::new(self))
    }
}

impl Transform for Rotate {
    fn plan(&self, random: &mut Prng, plan: &mut Plan) {
        let angle = (f64::from(random.unit_f32()) * 2.0 - 1.0) * self.degrees;
        plan.turn(angle, self.fill);
    }
}
