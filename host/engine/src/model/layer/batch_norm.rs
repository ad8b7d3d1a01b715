//! Batch normalization with running statistics that are buffers of the model.

use tch::Tensor;

use crate::error::{EngineError, Result};
use crate::model::initializer::Initializer;
use crate::model::param_builder::ParamBuilder;
use crate::model::{LayerOutput, Mode, NormRanks};
use hookrack_torch::batch_norm::{BatchNormState, batch_norm};
use hookrack_torch::shape;

/// The momentum of the running statistics; PyTorch's default.
const MOMENTUM: f64 = 0.1;
const EPS: f64 = 1e-5;

/// Each channel less its mean, over its deviation, times a weight, plus a bias: of the batch in training, of the
/// running statistics else.
#[derive(Debug)]
pub struct BatchNorm {
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    num_batches_tracked: Tensor,
    ranks: NormRanks,
    output: LayerOutput,
}

impl BatchNorm {
    /// Begins with a weight of 1 and statistics of mean 0 and variance 1.
    pub fn new(builder: &mut ParamBuilder, path: &str, channels: i64) -> Result<Self> {
        Self::weighing(builder, path, channels, Initializer::Ones)
    }

    /// Begins with a weight of 0, so that its branch starts as zero.
    pub fn silent(builder: &mut ParamBuilder, path: &str, channels: i64) -> Result<Self> {
        Self::weighing(builder, path, channels, Initializer::Zeros)
    }

    fn weighing(
        builder: &mut ParamBuilder,
        path: &str,
        channels: i64,
        weight: Initializer,
    ) -> Result<Self> {
        let (name, shape) = (|name: &str| format!("{path}.{name}"), [channels]);
        Ok(Self {
            output: builder.layer(path),
            ranks: builder.norm_ranks(),
            weight: builder.param(name("weight"), &shape, weight)?,
            bias: builder.param(name("bias"), &shape, Initializer::Zeros)?,
            running_mean: builder.buffer(name("running_mean"), &shape, Initializer::Zeros)?,
            running_var: builder.buffer(name("running_var"), &shape, Initializer::Ones)?,
            num_batches_tracked: builder.counter(name("num_batches_tracked"))?,
        })
    }

    /// The output for a batch whose second dimension is the channel. Training updates the running statistics.
    pub fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        Ok(self.output.keep(self.normalized(input, mode, None, false)?))
    }

    /// The output through ReLU.
    pub fn rectified(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        if self.output.is_wanted() {
            return Ok(self.forward(input, mode)?.f_relu()?);
        }
        self.normalized(input, mode, None, true)
    }

    /// The sum of the output and another tensor, through ReLU.
    pub fn added(&self, input: &Tensor, other: &Tensor, mode: Mode) -> Result<Tensor> {
        if self.output.is_wanted() {
            return Ok(self.forward(input, mode)?.f_add(other)?.f_relu_()?);
        }
        self.normalized(input, mode, Some(other), true)
    }

    /// What follows is done in place: the norm does not need its own output for the gradient.
    fn normalized(
        &self,
        input: &Tensor,
        mode: Mode,
        other: Option<&Tensor>,
        relu: bool,
    ) -> Result<Tensor> {
        let mut output = if mode == Mode::Train {
            if !self.ranks.is_joined() {
                spread(input)?;
            }
            let _one_more = self.num_batches_tracked.shallow_clone().f_add_scalar_(1)?;
            match self.ranks.normalized(input, &self.state()) {
                Some(output) => output?,
                None => return Ok(batch_norm(input, &self.state(), other, relu)?),
            }
        } else {
            let [mean, var] = [&self.running_mean, &self.running_var].map(Some);
            let (weight, bias) = (Some(&self.weight), Some(&self.bias));
            input.f_batch_norm(weight, bias, mean, var, false, MOMENTUM, EPS, true)?
        };
        if let Some(other) = other {
            output = output.f_add_(other)?;
        }
        Ok(if relu { output.f_relu_()? } else { output })
    }

    fn state(&self) -> BatchNormState<'_> {
        let Self { weight, bias, running_mean, running_var, .. } = self;
        BatchNormState { weight, bias, running_mean, running_var, momentum: MOMENTUM, eps: EPS }
    }
}

/// One number per channel has no variance: libtorch would return NaN.
fn spread(input: &Tensor) -> Result<()> {
    let sides = (2..input.dim()).filter_map(|index| shape::side(input, index));
    let numbers = shape::side(input, 0).unwrap_or(0) * sides.product::<i64>();
    if numbers > 1 {
        return Ok(());
    }
    Err(EngineError::Shape {
        what: "a batch norm in training",
        wanted: "with more than one number per channel: use a larger batch or drop_last".to_owned(),
        found: input.size(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::init::Init;
    use hookrack_torch::rounding;
    use tch::{Device, Kind};

    #[test]
    fn training_moves_the_statistics_and_asking_does_not() {
        let mut builder = ParamBuilder::new(Device::Cpu, Init::default());
        let norm = BatchNorm::new(&mut builder, "bn1", 1).unwrap();
        let buffers = builder.finish(&[], &[]).buffers;
        let names: Vec<_> = buffers.iter().map(|buffer| buffer.name.as_str()).collect();
        assert_eq!(names, ["bn1.running_mean", "bn1.running_var", "bn1.num_batches_tracked"]);
        let input = Tensor::from_slice(&[1.0_f32, 2.0, 3.0]).view([3, 1]);
        let _ = norm.forward(&input, Mode::Eval).unwrap();
        assert_eq!(buffers[2].tensor.int64_value(&[]), 0);
        let _ = norm.forward(&input, Mode::Train).unwrap();
        assert_eq!(buffers[2].tensor.int64_value(&[]), 1);
        // mean 2 and unbiased variance 1, a tenth of each
        rounding::assert_near(buffers[0].tensor.double_value(&[0]), 0.2, 8);
        rounding::assert_near(buffers[1].tensor.double_value(&[0]), 1.0, 16);
    }

    #[test]
    fn one_number_per_channel_is_refused_in_training_alone() {
        let mut builder = ParamBuilder::new(Device::Cpu, Init::default());
        let norm = BatchNorm::new(&mut builder, "bn1", 2).unwrap();
        let input = Tensor::zeros([1, 2, 1, 1], (Kind::Float, Device::Cpu));
        assert!(norm.forward(&input, Mode::Eval).is_ok());
        let error = norm.forward(&input, Mode::Train).unwrap_err().to_string();
        assert!(error.contains("more than one number per channel"), "{error}");
    }
}
