//! New tensors.

use super::Trainer;
use crate::error::Result;
use crate::op::{Arg, CachedOp};
use crate::tensor::{AsTensors, Tensor};

static ZEROS: CachedOp = CachedOp::new("aten::zeros");
static ONES: CachedOp = CachedOp::new("aten::ones");
static FULL: CachedOp = CachedOp::new("aten::full");
static RAND: CachedOp = CachedOp::new("aten::rand");
static RANDN: CachedOp = CachedOp::new("aten::randn");
static RANDPERM: CachedOp = CachedOp::new("aten::randperm");
static ARANGE: CachedOp = CachedOp::new("aten::arange");
static GAMMA: CachedOp = CachedOp::new("aten::_standard_gamma");

/// New tensors on the model's device, freed when dropped. Random numbers come from the run's generator, so
/// that they are reproducible with the same seed, also across a resume. On several ranks each has its own:
/// numbers for parameters or gradients must be the same on all of them, so [`broadcast`](Trainer::broadcast)
/// those of one rank.
///
/// Each method asks for the device of the first parameter and calls one operator, which allocates the tensor.
/// None waits for the device unless it says so. Drawing numbers changes those that the run draws afterwards,
/// for instance in dropout: a hook that draws in every iteration changes the results of the run, though not
/// their reproducibility. Numbers drawn up to `before_train` of a resumed run have no effect on later ones,
/// because the state of the generator is restored after that point.
///
/// Tensors are float32 also in a run with `train.precision = "fp64"`; [`to_dtype`](Tensor::to_dtype) converts
/// them. They have no gradient.
///
/// # Errors
/// A size is negative, or there is not enough memory.
impl Trainer {
    /// Returns a float32 tensor of zeros.
    pub fn zeros(&self, shape: &[i64]) -> Result<Tensor> {
        self.made(&ZEROS, &[shape.into()], "float32")
    }

    /// Returns a float32 tensor of ones.
    pub fn ones(&self, shape: &[i64]) -> Result<Tensor> {
        self.made(&ONES, &[shape.into()], "float32")
    }

    /// Returns a float32 tensor filled with `value`.
    pub fn full(&self, shape: &[i64], value: f64) -> Result<Tensor> {
        self.made(&FULL, &[shape.into(), value.into()], "float32")
    }

    /// Returns a float32 tensor of random numbers, uniform in `[0, 1)`.
    pub fn rand(&self, shape: &[i64]) -> Result<Tensor> {
        self.made(&RAND, &[shape.into()], "float32")
    }

    /// Returns a float32 tensor of random numbers from the standard normal distribution.
    pub fn randn(&self, shape: &[i64]) -> Result<Tensor> {
        self.made(&RANDN, &[shape.into()], "float32")
    }

    /// Returns a random permutation of the integers from 0 to `count - 1`, as int64.
    pub fn randperm(&self, count: i64) -> Result<Tensor> {
        self.made(&RANDPERM, &[count.into()], "int64")
    }

    /// Returns the integers from 0 to `count - 1`, as int64.
    pub fn arange(&self, count: i64) -> Result<Tensor> {
        self.made(&ARANGE, &[count.into()], "int64")
    }

    /// Returns a random number, uniform in `[0, 1)`. Waits for the device.
    pub fn random(&self) -> Result<f64> {
        self.rand(&[1])?.item()
    }

    /// Returns a random number from the distribution Beta(a, b), such as the weight of MixUp.
    ///
    /// It is drawn on the CPU, and waits for the device only if `a` and `b` are so small that both numbers it
    /// is computed from underflow.
    ///
    /// # Errors
    /// `a` or `b` is not above 0.
    pub fn beta(&self, a: f64, b: f64) -> Result<f64> {
        crate::ensure!(a > 0.0 && b > 0.0, "Beta({a}, {b}): both must be above 0");
        let gammas = self.call(&GAMMA, &[(&self.tensor(&[a, b], &[2])?).into()])?.tensor()?;
        match gammas.to_vec::<f64>()?[..] {
            [x, y] if x + y > 0.0 => Ok(x / (x + y)),
            // Both underflowed, which happens for very small parameters only.
            _ => self.random().map(|x| if x * (a + b) < a { 1.0 } else { 0.0 }),
        }
    }

    /// An operator whose own arguments are followed by dtype, layout and device.
    fn made(&self, op: &CachedOp, own: &[Arg<'_>], dtype: &str) -> Result<Tensor> {
        let device = match self.params().at(0) {
            Some(param) => param.device()?,
            None => "cpu".to_owned(),
        };
        let mut args = own.to_vec();
        args.extend([dtype.into(), Arg::NONE, device.as_str().into()]);
        self.call(op, &args)?.tensor()
    }
}
