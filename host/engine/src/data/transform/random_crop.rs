//! `RandomCrop`: a window of the image at a random position.

use hookrack_plugin_api::prelude::Settings;

use super::image::frame;
use super::{Plan, Transform};
use crate::data::{DataSpec, Prng, size};
use crate::error::Result;
use crate::registry::Component;

/// Pads the image on all sides and crops a window at a random position.
#[derive(Debug, Clone, Settings)]
pub struct RandomCropSettings {
    /// Padding on each side in pixels, before the crop.
    #[param(default, min = 0, max = 65536)]
    pub padding: usize,
    /// Height and width of the window; empty for those of the image.
    #[param(default)]
    pub size: Vec<usize>,
    /// Fill value of the padding.
    #[param(default)]
    pub fill: f64,
}

impl Component<DataSpec, dyn Transform> for RandomCropSettings {
    const NAME: &'static str = "RandomCrop";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Transform>> {
        let frame = frame(&data.input).map_err(Self::refuse)?;
        let (height, width) = match self.size.as_slice() {
            [] => (frame.height, frame.width),
            [height, width] if *height > 0 && *width > 0 => (*height, *width),
            other => {
                return Err(Self::refuse(format!(
                    "size = {other:?}: must be [height, width], such as [28, 28]"
                )));
            }
        };
        let room = [frame.height, frame.width].map(|side| side + 2 * self.padding);
        if height > room[0] || width > room[1] {
            let why = format!(
                "a crop of {height}x{width} is larger than the padded image, {}x{}",
                room[0], room[1]
            );
            return Err(Self::refuse(why));
        }
        let spare = (room[0] - height, room[1] - width);
        let (padding, fill) = (self.padding.cast_signed(), self.fill);
        Ok(Box::new(RandomCrop { padding, window: (height, width), spare, fill }))
    }
}

/// The transform itself.
#[derive(Debug)]
struct RandomCrop {
    padding: isize,
    window: (usize, usize),
    /// How far the window can move.
    spare: (usize, usize),
    fill: f64,
}

impl Transform for RandomCrop {
    fn spec(&self, mut before: DataSpec) -> DataSpec {
        if let [.., height, width] = before.input.as_mut_slice() {
            (*height, *width) = (size(self.window.0), size(self.window.1));
        }
        before
    }

    fn plan(&self, random: &mut Prng, plan: &mut Plan) {
        let top = random.below(self.spare.0 + 1).cast_signed() - self.padding;
        let left = random.below(self.spare.1 + 1).cast_signed() - self.padding;
        plan.crop(top, left, self.window, self.fill);
    }
}
