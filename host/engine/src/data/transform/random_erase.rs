//! `RandomErase`: erases a rectangle of random size and position in some images.

use hookrack_plugin_api::prelude::Settings;

use super::image::frame;
use super::{Plan, Transform};
use crate::data::{DataSpec, Prng};
use crate::error::Result;
use crate::registry::Component;

/// Erases a random rectangle in a fraction `p` of the images (arXiv 1708.04896).
#[derive(Debug, Clone, Settings)]
pub struct RandomErase {
    /// Probability that a rectangle of an image is erased.
    #[param(default = 0.5, min = 0.0, max = 1.0)]
    pub p: f64,
    /// Minimum and maximum area of the rectangle as a fraction of the image.
    #[param(default = [0.02, 0.33], min = 0.0, max = 1.0)]
    pub scale: Vec<f64>,
    /// Minimum and maximum aspect ratio of the rectangle.
    #[param(default = [0.3, 3.3])]
    pub ratio: Vec<f64>,
    /// Fill value.
    #[param(default)]
    pub fill: f64,
}

/// How often a rectangle that does not fit is drawn again, as in PyTorch.
const TRIES: usize = 10;

impl Component<DataSpec, dyn Transform> for RandomErase {
    const NAME: &'static str = "RandomErase";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Transform>> {
        frame(&data.input).map_err(Self::refuse)?;
        for (key, range) in [("scale", &self.scale), ("ratio", &self.ratio)] {
            let fits = matches!(range.as_slice(), [low, high] if 0.0 < *low && low <= high);
            if !fits {
                let why =
                    format!("{key} = {range:?}: must be two numbers above 0 in increasing order");
                return Err(Self::refuse(why));
            }
        }
        Ok(Box::new(self))
    }
}

impl Transform for RandomErase {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sides of pictures are small and positive"
    )]
    fn plan(&self, random: &mut Prng, plan: &mut Plan) {
        if f64::from(random.unit_f32()) >= self.p {
            return;
        }
        let (height, width) = plan.size();
        for _ in 0..TRIES {
            let area = within(random, &self.scale, |share| share) * (height * width) as f64;
            // Wide and tall rectangles are equally likely.
            let ratio = within(random, &self.ratio, f64::ln).exp();
            let h = (area * ratio).sqrt().round() as usize;
            let w = (area / ratio).sqrt().round() as usize;
            if h < height && w < width {
                let top = random.below(height - h + 1).cast_signed();
                let left = random.below(width - w + 1).cast_signed();
                return plan.erase((top, left), (h, w), self.fill);
            }
        }
    }
}

fn within(random: &mut Prng, range: &[f64], of: fn(f64) -> f64) -> f64 {
    let end = |end: Option<&f64>| of(end.copied().unwrap_or(1.0));
    let (low, high) = (end(range.first()), end(range.last()));
    low + (high - low) * f64::from(random.unit_f32())
}
