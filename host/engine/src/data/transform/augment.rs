//! `Cutout`, `RandomFlip`, `Rotate`: random changes of images that keep their size.

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

/// The settings, the name, and the plan for one image.
macro_rules! augmentations {
    ($($settings:ident $name:literal => $plan:expr;)+) => {$(
        impl Component<DataSpec, dyn Transform> for $settings {
            const NAME: &'static str = $name;

            fn build(self, data: &DataSpec) -> Result<Box<dyn Transform>> {
                frame(&data.input).map_err(Self::refuse)?;
                Ok(Box::new(self))
            }
        }

        impl Transform for $settings {
            fn plan(&self, random: &mut Prng, plan: &mut Plan) {
                let change: fn(&Self, &mut Prng, &mut Plan) = $plan;
                change(self, random, plan);
            }
        }
    )+};
}

augmentations! {
    Cutout "Cutout" => |own, random, plan| {
        let (height, width) = plan.size();
        let half = (own.side / 2).cast_signed();
        let (y, x) = (random.below(height).cast_signed(), random.below(width).cast_signed());
        plan.erase((y - half, x - half), (own.side, own.side), own.fill);
    };
    RandomFlip "RandomFlip" => |own, random, plan| {
        if f64::from(random.unit_f32()) >= own.p {
            return;
        }
        if own.vertical { plan.flip_vertical() } else { plan.flip_horizontal() }
    };
    Rotate "Rotate" => |own, random, plan| {
        let angle = (f64::from(random.unit_f32()) * 2.0 - 1.0) * own.degrees;
        plan.turn(angle, own.fill);
    };
}
