//! Which memory format is faster for a model: both are tried on made-up samples before training.

use std::time::Instant;

use tch::Tensor;

use super::engine::Engine;
use super::error::Result;
use super::memory_format::MemoryFormat;
use super::model::Mode;
use super::named_tensor::tensor_list;
use hookrack_torch::autograd::{self, GradMode};
use hookrack_torch::{foreach, rng};

/// The fastest of this many steps is used: slower ones were disturbed.
const STEPS: usize = 5;

/// A format must save this share of a step to be worth other bits than PyTorch's default.
const GAIN: f64 = 0.05;

/// Outputs that differ by more than this share of the largest one do not come from rounding.
const ROUNDING: f64 = 1e-2;

/// What a trial found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FormatTrial {
    /// The format to train in.
    pub chosen: MemoryFormat,
    /// Seconds of a forward and a backward pass in contiguous memory.
    pub contiguous: f64,
    /// The same with channels last.
    pub channels_last: f64,
    /// The largest difference between the outputs, as a share of the largest output.
    pub difference: f64,
}

impl Engine {
    /// Times forward and backward passes of `rows` samples in both memory formats, without side effects: random numbers, buffers
    /// and gradients are restored. `None` if the model has no convolution over images, or is a stage of a pipeline.
    ///
    /// # Errors
    /// The model does not run on such samples.
    pub fn try_memory_formats(&mut self, rows: i64) -> Result<Option<FormatTrial>> {
        if !self.has_formats() {
            return Ok(None);
        }
        let random = rng::state(self.device())?;
        let buffers = tensor_list(self.buffers());
        let kept = foreach::clone_detached(&buffers)?;
        let before = self.memory_format();
        let tried = self.time_formats(rows);
        self.set_memory_format(before);
        foreach::copy_(&buffers, &kept)?;
        rng::set_state(&random, self.device())?;
        self.zero_grad()?;
        tried.map(Some)
    }

    fn has_formats(&self) -> bool {
        let has_images = self.data().input.len() == 3 && !self.data().has_tokens();
        let has_filters = self.params().iter().any(|param| param.tensor.dim() == 4);
        has_images && has_filters && self.stage().is_none()
    }

    fn time_formats(&mut self, rows: i64) -> Result<FormatTrial> {
        let shape = [&[rows], self.data().input.as_slice()].concat();
        let input = Tensor::f_randn(shape, (self.kind(), self.device()))?;
        let outputs = self.outputs_of_formats(&input)?;
        let (mut contiguous, mut channels_last) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..STEPS {
            contiguous = contiguous.min(self.time_step(&input, MemoryFormat::Contiguous)?);
            channels_last = channels_last.min(self.time_step(&input, MemoryFormat::ChannelsLast)?);
        }
        let difference = difference(&outputs)?;
        let is_faster = channels_last < (1.0 - GAIN) * contiguous;
        let chosen = if is_faster && difference <= ROUNDING {
            MemoryFormat::ChannelsLast
        } else {
            MemoryFormat::Contiguous
        };
        Ok(FormatTrial { chosen, contiguous, channels_last, difference })
    }

    /// The output in each format, without dropout; this also prepares the kernels of both.
    fn outputs_of_formats(&mut self, input: &Tensor) -> Result<[Tensor; 2]> {
        let mut output = |format| {
            self.set_memory_format(format);
            self.infer(input, Mode::Eval)
        };
        Ok([output(MemoryFormat::Contiguous)?, output(MemoryFormat::ChannelsLast)?])
    }

    fn time_step(&mut self, input: &Tensor, format: MemoryFormat) -> Result<f64> {
        self.set_memory_format(format);
        let begun = Instant::now();
        let output = self.forward(input, Mode::Train)?;
        let _mode = GradMode::set(true);
        autograd::backward(&output.f_mean(output.kind())?)?;
        Ok(begun.elapsed().as_secs_f64())
    }
}

/// The largest difference of two outputs, as a share of the largest value.
fn difference([one, other]: &[Tensor; 2]) -> Result<f64> {
    let largest = one.f_abs()?.f_max()?.f_double_value(&[])?;
    let difference = one.f_sub(other)?.f_abs()?.f_max()?.f_double_value(&[])?;
    Ok(if difference > 0.0 { difference / largest } else { 0.0 })
}
