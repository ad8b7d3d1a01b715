//! A two-dimensional convolution with PyTorch's layout and initial values.

use tch::Tensor;

use crate::error::Result;
use crate::model::LayerOutput;
use crate::model::init::{Fans, root};
use crate::model::initializer::Initializer;
use crate::model::param_builder::ParamBuilder;

/// The shape of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    /// Channels in.
    pub inputs: i64,
    /// Channels out.
    pub outputs: i64,
    /// Kernel size.
    pub side: i64,
    /// Stride.
    pub stride: i64,
    /// Zeros around the input.
    pub padding: i64,
    /// Number of groups that the channels are split into.
    pub groups: i64,
    /// Whether a number is added to each channel.
    pub bias: bool,
}

impl Kernel {
    /// A kernel that keeps the size of an image with an odd `side`, without bias, as norms want it.
    pub fn same(inputs: i64, outputs: i64, side: i64, stride: i64) -> Self {
        Self { inputs, outputs, side, stride, padding: side / 2, groups: 1, bias: false }
    }

    /// One side of the output for one side of an input; below 1 where the kernel does not fit.
    pub fn side_after(&self, side: i64) -> i64 {
        (side + 2 * self.padding - self.side).div_euclid(self.stride) + 1
    }

    /// Whether the pixels that it strides over are dropped before the convolution, which gives the same sums.
    ///
    /// oneDNN 3.12 writes beyond its buffers in the backward pass of a strided 1x1 convolution if the input is `channels_last` and has
    /// few channels: seen with AVX2 and fewer than 8, as many floats as a register holds. Up to 16, because AVX-512, not tried, holds 16.
    fn drops_pixels(&self) -> bool {
        self.side == 1 && self.stride > 1 && self.padding == 0 && self.inputs / self.groups < 16
    }
}

/// Sums of kernels slid over an image; the weight is `[outputs, inputs / groups, rows, columns]`.
#[derive(Debug)]
pub struct Conv2d {
    weight: Tensor,
    bias: Option<Tensor>,
    kernel: Kernel,
    output: LayerOutput,
}

impl Conv2d {
    /// Draws the values as `torch.nn.Conv2d` does: uniform within ±1/√(numbers under the kernel).
    pub fn new(builder: &mut ParamBuilder, path: &str, kernel: Kernel) -> Result<Self> {
        let bound = 1.0 / root(kernel.inputs / kernel.groups * kernel.side * kernel.side);
        Self::drawn(builder, path, kernel, Initializer::Uniform(bound))
    }

    /// Draws them as `torchvision` does for residual nets: normal, by the numbers that one input flows into.
    pub fn kaiming(builder: &mut ParamBuilder, path: &str, kernel: Kernel) -> Result<Self> {
        let std = std::f64::consts::SQRT_2 / root(kernel.outputs * kernel.side * kernel.side);
        Self::drawn(builder, path, kernel, Initializer::Normal(std))
    }

    fn drawn(
        builder: &mut ParamBuilder,
        path: &str,
        kernel: Kernel,
        initializer: Initializer,
    ) -> Result<Self> {
        let Kernel { inputs, outputs, side, groups, .. } = kernel;
        let output = builder.layer(path);
        let area = side * side;
        let fans = Fans { into: inputs / groups * area, out: outputs * area };
        let shape = [outputs, inputs / groups, side, side];
        let weight = builder.weight(format!("{path}.weight"), &shape, fans, initializer)?;
        let bias =
            kernel.bias.then(|| builder.bias(format!("{path}.bias"), outputs, fans, initializer));
        Ok(Self { weight, bias: bias.transpose()?, kernel, output })
    }

    /// The output for a batch `[batch, inputs, rows, columns]`.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let Kernel { stride, padding, groups, .. } = self.kernel;
        let bias = self.bias.as_ref();
        let convolve = |input: &Tensor, stride: i64| {
            input.f_conv2d(&self.weight, bias, [stride; 2], [padding; 2], [1; 2], groups)
        };
        let output = if self.kernel.drops_pixels() {
            let rows = input.f_slice(2, None, None, stride)?;
            convolve(&rows.f_slice(3, None, None, stride)?, 1)?
        } else {
            convolve(input, stride)?
        };
        Ok(self.output.keep(output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::init::Init;
    use tch::{Device, Kind};

    #[test]
    fn pixels_that_are_strided_over_do_not_count() {
        for (inputs, stride, side) in [(3, 2, 8), (4, 3, 7), (1, 2, 9), (16, 2, 8)] {
            let mut builder = ParamBuilder::new(Device::Cpu, Init::default());
            let conv = Conv2d::new(&mut builder, "c", Kernel::same(inputs, 5, 1, stride)).unwrap();
            let double = |tensor: &Tensor| tensor.detach().to_kind(Kind::Double);
            let conv = Conv2d { weight: double(&conv.weight).set_requires_grad(true), ..conv };
            let input = Tensor::randn([2, inputs, side, side], (Kind::Double, Device::Cpu));
            let found = conv.forward(&input).unwrap();
            let none = None::<Tensor>;
            let plain = input.conv2d(&conv.weight, none, [stride; 2], [0; 2], [1; 2], 1);
            assert_eq!(found.size(), plain.size());
            assert!((found - plain).abs().max().double_value(&[]) < 1e-12);
        }
    }

    #[test]
    fn sides_follow_kernel_stride_and_padding() {
        let kernel = |side, stride, padding| Kernel { padding, ..Kernel::same(1, 1, side, stride) };
        for (kernel, side, wanted) in [
            (kernel(5, 1, 0), 28, 24),
            (kernel(5, 1, 2), 28, 28),
            (kernel(7, 2, 3), 224, 112),
            (kernel(3, 2, 1), 7, 4),
            (kernel(5, 1, 0), 4, 0),
            (kernel(5, 2, 0), 2, -1),
        ] {
            assert_eq!(kernel.side_after(side), wanted, "{kernel:?} on {side}");
        }
    }
}
