//! The layer `pool`: maximum, average or global average pooling.

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use super::plan::{Check, Layer, LayerInput, LayerPlan, SampleShape};
use crate::error::Result;
use crate::model::Mode;
use crate::model::layer::Kernel;
use crate::registry::Component;

/// Pooling of images; `global`, the mean over all positions, also takes rows.
#[derive(Debug, Clone, Settings)]
pub(super) struct PoolLayer {
    /// Kind of pooling: maximum, average, or the average over all positions.
    #[param(default)]
    kind: PoolKind,
    /// Kernel size. Default: 2.
    #[param(min = 1)]
    kernel: Option<i64>,
    /// Stride. Default: `kernel`.
    #[param(min = 1)]
    stride: Option<i64>,
    /// Padding, at most half the kernel.
    #[param(min = 0)]
    padding: Option<i64>,
}

/// Kind of pooling.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Settings)]
pub(super) enum PoolKind {
    /// The maximum of each window.
    #[default]
    Max,
    /// The mean of each window.
    Avg,
    /// The mean over all positions.
    Global,
}

impl PoolLayer {
    fn plan(&self, at: &LayerInput) -> Check<(SampleShape, Pooling)> {
        let Self { kind, kernel, stride, padding } = *self;
        if kind == PoolKind::Global {
            if kernel.or(stride).or(padding).is_some() {
                return Err(
                    "kind = \"global\" has no kernel, stride or padding: remove them".into()
                );
            }
            let kept = match at.sample.numbers()? {
                [channels, _, _] => *channels,
                [_, width] => *width,
                found => return Err(format!("it expects images or rows, found shape {found:?}")),
            };
            return Ok((
                at.sample.shaped([kept]),
                Pooling { kind, side: 1, stride: 1, padding: 0 },
            ));
        }
        let [channels, rows, columns] = at.sample.image()?;
        let extent = kernel.unwrap_or(2);
        let (stride, padding) = (stride.unwrap_or(extent), padding.unwrap_or(0));
        if 2 * padding > extent {
            return Err(format!("padding = {padding} is more than half of kernel = {extent}"));
        }
        let square = Kernel { padding, ..Kernel::same(channels, channels, extent, stride) };
        let [rows, columns] = [rows, columns].map(|length| square.side_after(length));
        if rows < 1 || columns < 1 {
            let found = &at.sample.shape;
            return Err(format!("a window of {extent}x{extent} does not fit into shape {found:?}"));
        }
        let output = at.sample.shaped([channels, rows, columns]);
        Ok((output, Pooling { kind, side: extent, stride, padding }))
    }
}

impl Component<LayerInput, LayerPlan> for PoolLayer {
    const NAME: &'static str = "pool";

    fn build(self, at: &LayerInput) -> Result<Box<LayerPlan>> {
        let (output, pooling) = self.plan(at).map_err(Self::refuse)?;
        Ok(LayerPlan::new(output, move |_builder| Ok(pooling)))
    }
}

/// The layer itself.
#[derive(Debug)]
struct Pooling {
    kind: PoolKind,
    side: i64,
    stride: i64,
    padding: i64,
}

impl Layer for Pooling {
    fn forward(&self, input: &Tensor, _mode: Mode) -> Result<Tensor> {
        let (side, stride, padding) = ([self.side; 2], [self.stride; 2], [self.padding; 2]);
        Ok(match self.kind {
            PoolKind::Max => input.f_max_pool2d(side, stride, padding, [1; 2], false)?,
            PoolKind::Avg => input.f_avg_pool2d(side, stride, padding, false, true, None)?,
            PoolKind::Global if input.dim() == 4 => {
                input.f_mean_dim([2_i64, 3].as_slice(), false, None)?
            }
            PoolKind::Global => input.f_mean_dim([1_i64].as_slice(), false, None)?,
        })
    }
}
