//! Batch normalization in training, with a sum and the ReLU behind it: one node of the graph with kernels of its own if
//! [`kernels::use_native`](super::kernels::use_native) was called and the images are in `channels_last`, else PyTorch's operators.

use std::ptr;

use tch::Tensor;
use torch_sys::C_tensor;

use super::error::check;
use super::{Result, ffi};

/// The tensors of a batch norm, with one element per channel.
#[derive(Debug, Clone, Copy)]
pub struct BatchNormState<'a> {
    /// What each channel is multiplied by.
    pub weight: &'a Tensor,
    /// What is added to the product.
    pub bias: &'a Tensor,
    /// The running mean.
    pub running_mean: &'a Tensor,
    /// The running variance.
    pub running_var: &'a Tensor,
    /// The momentum of the running statistics.
    pub momentum: f64,
    /// What is added to the variance.
    pub eps: f64,
}

/// The same, as the shim takes it (`hookrack::Norm`).
#[repr(C)]
pub(crate) struct RawNorm {
    tensors: [*const C_tensor; 4],
    momentum: f64,
    eps: f64,
}

impl BatchNormState<'_> {
    pub(crate) fn as_raw(&self) -> RawNorm {
        let &Self { weight, bias, running_mean, running_var, momentum, eps } = self;
        let tensors = [weight, bias, running_mean, running_var].map(Tensor::as_ptr);
        RawNorm { tensors, momentum, eps }
    }
}

/// Normalizes a batch by its own mean and variance and moves the running ones, as `batch_norm` in training; then adds `other` and applies
/// ReLU, if asked.
pub fn batch_norm(
    input: &Tensor,
    state: &BatchNormState<'_>,
    other: Option<&Tensor>,
    relu: bool,
) -> Result<Tensor> {
    let (norm, mut out) = (state.as_raw(), ptr::null_mut());
    let other = other.map_or(ptr::null(), Tensor::as_ptr);
    // SAFETY: all tensors live through the call; on success `out` is a new one that is ours.
    unsafe {
        check(ffi::hrt_batch_norm(input.as_ptr(), other, &raw const norm, relu, &raw mut out))?;
        Ok(Tensor::from_ptr(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autograd;
    use crate::kernels::{has_avx512, tests::Native};
    use crate::rounding;
    use tch::{Device, Kind};

    const EPS: f64 = 1e-5;
    /// All sides but that of the channel.
    const SIDES: [i64; 3] = [0, 2, 3];
    /// A power of two of pixels, so that means are exact; whole vectors of channels and parts of them.
    const SHAPES: [[i64; 4]; 4] = [[2, 16, 4, 4], [4, 20, 2, 4], [1, 3, 8, 4], [16, 33, 4, 8]];

    /// Small whole numbers, whose sums and squares are exact, in `channels_last`.
    fn images(factor: i64, [batch, channels, height, width]: [i64; 4], kind: Kind) -> Tensor {
        let count = batch * channels * height * width;
        let numbers =
            (Tensor::arange(count, (Kind::Int64, Device::Cpu)) * factor).remainder(13) - 4;
        let rows = numbers.reshape([batch, height, width, channels]).to_kind(kind);
        rows.permute([0, 3, 1, 2])
    }

    /// A norm and what it is applied to; all but the running statistics want their gradient.
    struct Case {
        input: Tensor,
        other: Tensor,
        weight: Tensor,
        bias: Tensor,
        running: [Tensor; 2],
    }

    impl Case {
        fn new(shape: [i64; 4], kind: Kind) -> Self {
            let (channels, options) = (shape[1], (kind, Device::Cpu));
            let waves =
                (Tensor::arange(2 * channels, (Kind::Float, Device::Cpu)) * 0.7).sin() + 0.3;
            let line = |half| waves.narrow(0, half * channels, channels).to_kind(kind).copy();
            Self {
                input: images(38, shape, kind).set_requires_grad(true),
                other: images(42, shape, kind).set_requires_grad(true),
                weight: line(0).set_requires_grad(true),
                bias: line(1).set_requires_grad(true),
                running: [Tensor::zeros([channels], options), Tensor::ones([channels], options)],
            }
        }

        fn output(&self, added: bool, relu: bool) -> Tensor {
            let Self { input, other, weight, bias, running: [running_mean, running_var] } = self;
            let (momentum, eps) = (0.25, EPS);
            let state = BatchNormState { weight, bias, running_mean, running_var, momentum, eps };
            batch_norm(input, &state, added.then_some(other), relu).unwrap()
        }

        /// The output, and gradients for a loss whose gradient is made of whole numbers.
        fn passes(&self, added: bool, relu: bool) -> Tensor {
            let output = self.output(added, relu);
            let kept = output.detach().copy();
            let shape = <[i64; 4]>::try_from(self.input.size()).unwrap();
            let loss = (output * images(46, shape, self.input.kind())).sum(self.input.kind());
            autograd::backward(&loss).unwrap();
            kept
        }
    }

    fn assert_within(found: &Tensor, wanted: &Tensor, size: &Tensor, roundings: u32, what: &str) {
        let off = (found.to_kind(Kind::Double) - wanted).abs();
        let within = off.le_tensor(&(size * rounding::gamma(roundings))).all();
        assert_eq!(within.int64_value(&[]), 1, "{what}: off by {off}");
    }

    #[test]
    fn both_passes_are_those_of_doubles_up_to_rounding() {
        if !has_avx512() {
            // libtorch's kernels, whose sums of whole numbers are not exact.
            return;
        }
        let _native = Native::used();
        for shape in SHAPES {
            for (added, relu) in [(false, false), (false, true), (true, false), (true, true)] {
                let what = |name: &str| format!("{name} of {shape:?}, added {added}, relu {relu}");
                let [found, wanted] =
                    [Kind::Float, Kind::Double].map(|kind| Case::new(shape, kind));
                let [output, by_doubles] = [&found, &wanted].map(|case| case.passes(added, relu));
                let [input, other, weight, bias] =
                    [&wanted.input, &wanted.other, &wanted.weight, &wanted.bias]
                        .map(Tensor::detach);
                let across = |line: &Tensor| line.view([1, -1, 1, 1]);
                let (var, mean) = input.var_mean_correction(SIDES.as_slice(), 0, true);
                let scale = (var + EPS).rsqrt();
                let slope = (&scale * across(&weight)).abs();
                // Roundings of the scale, the slope, its product with the mean, the offset, the line and the sum.
                let size = (input.abs() + mean.abs()) * &slope + across(&bias).abs() + other.abs();
                assert_within(&output, &by_doubles, &size, 6, &what("output"));
                let is_clear = by_doubles
                    .eq(0.0)
                    .logical_or(&by_doubles.abs().gt_tensor(&(size * rounding::gamma(6))));
                assert_eq!(is_clear.all().int64_value(&[]), 1, "no number is at the edge of ReLU");
                // Of the scale, the factors, the distance from the mean and the two products.
                let grad = images(46, shape, Kind::Double).abs();
                let share = |it: &Tensor| it.mean_dim(SIDES.as_slice(), true, Kind::Double);
                let distance = (&input - &mean).abs();
                let through = &distance * &scale * &scale * share(&(&grad * &distance));
                let size = slope * (&grad + share(&grad) + through);
                let grads = |of: fn(&Case) -> &Tensor| [of(&found).grad(), of(&wanted).grad()];
                let [one, other] = grads(|case| &case.input);
                assert_within(&one, &other, &size, 8, &what("gradient"));
                let size = (&grad * &distance * &scale).sum_dim_intlist(
                    SIDES.as_slice(),
                    false,
                    Kind::Double,
                );
                let [one, other] = grads(|case| &case.weight);
                assert_within(&one, &other, &size, 4, &what("gradient of the weight"));
                // Whole numbers.
                let [one, other] = grads(|case| &case.bias);
                assert_eq!(one.to_kind(Kind::Double), other, "{}", what("gradient of the bias"));
                if added {
                    let [one, other] = grads(|case| &case.other);
                    assert_eq!(
                        one.to_kind(Kind::Double),
                        other,
                        "{}",
                        what("gradient of the other")
                    );
                }
                for (one, other) in found.running.iter().zip(&wanted.running) {
                    assert_within(one, other, &other.abs(), 3, &what("running statistics"));
                }
            }
        }
    }

    #[test]
    fn without_native_kernels_the_bits_are_pytorchs() {
        let case = Case::new([2, 16, 4, 4], Kind::Float);
        let (weight, bias, none) = (Some(&case.weight), Some(&case.bias), None::<&Tensor>);
        let normed = case.input.batch_norm(weight, bias, none, none, true, 0.1, EPS, true);
        assert_eq!(case.output(true, true), (normed + &case.other).relu());
    }

    #[test]
    fn a_gradient_that_is_needed_elsewhere_is_not_written_over() {
        let _native = Native::used();
        for added in [false, true] {
            let case = Case::new([2, 16, 4, 4], Kind::Float);
            let output = case.output(added, true);
            // The gradient of a sum is one tensor for both of its parts.
            let root = output.zeros_like().set_requires_grad(true);
            let grad = images(46, [2, 16, 4, 4], Kind::Float);
            autograd::backward(&((output + &root) * &grad).sum(Kind::Float)).unwrap();
            assert_eq!(root.grad(), grad, "added {added}");
        }
    }

    #[test]
    fn nan_stays_in_its_channel() {
        let _native = Native::used();
        let case = Case::new([1, 16, 2, 2], Kind::Float);
        let _set = tch::no_grad(|| case.input.get(0).get(3).get(1).get(1).fill_(f64::NAN));
        let nan =
            case.output(false, true).isnan().sum_dim_intlist(SIDES.as_slice(), false, Kind::Int64);
        let wanted: Vec<i64> = (0..16).map(|channel| if channel == 3 { 4 } else { 0 }).collect();
        assert_eq!(Vec::<i64>::try_from(nan).unwrap(), wanted);
    }

    #[test]
    fn its_gradient_can_be_differentiated() {
        let _native = Native::used();
        let [found, wanted] = [Kind::Float, Kind::Double].map(|kind| {
            let case = Case::new([2, 16, 4, 4], kind);
            let cubes = case.output(true, true).pow_tensor_scalar(3).sum(kind);
            let first = Tensor::run_backward(&[cubes], &[&case.input], true, true).remove(0);
            let norm = (&first * &first).sum(kind);
            Tensor::run_backward(&[norm], &[&case.input], false, false)
                .remove(0)
                .to_kind(Kind::Double)
        });
        // Sums over the 32 pixels of a channel within sums over them, thrice.
        let most = wanted.abs().max() * rounding::gamma(3 * 32 * 4);
        let off = (found - wanted).abs().max();
        assert!(off.le_tensor(&most).int64_value(&[]) == 1, "off by {off}");
    }

    #[test]
    fn a_second_backward_pass_is_refused_as_pytorch_refuses_it() {
        let _native = Native::used();
        let loss = Case::new([2, 16, 4, 4], Kind::Float).output(false, true).sum(Kind::Float);
        loss.backward();
        let refused = loss.f_backward().unwrap_err().to_string();
        assert!(refused.contains("backward through the graph a second time"), "{refused}");
    }
}
