//! A linear layer and its ReLU as one node of the graph: PyTorch's kernels without the bookkeeping between them, or one for small
//! products if [`kernels::use_native`](super::kernels::use_native) was called.

use std::ptr;

use tch::Tensor;

use super::error::check;
use super::{Result, ffi};

/// `input weightᵀ + bias`, as `torch.nn.functional.linear`, bit for bit unless the products are native.
pub fn linear(input: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    call(input, weight, bias, false)
}

/// `max(input weightᵀ + bias, 0)`, as `relu` of [`linear`].
pub fn linear_relu(input: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    call(input, weight, bias, true)
}

fn call(input: &Tensor, weight: &Tensor, bias: &Tensor, relu: bool) -> Result<Tensor> {
    let mut out = ptr::null_mut();
    // SAFETY: all three live through the call; on success `out` is a new tensor that is ours.
    unsafe {
        let [input, weight, bias] = [input, weight, bias].map(Tensor::as_ptr);
        check(ffi::hrt_linear(input, weight, bias, relu, &raw mut out))?;
        Ok(Tensor::from_ptr(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tests::Native;
    use crate::rounding;
    use tch::{Device, Kind};

    fn numbers(shape: &[i64], kind: Kind) -> Tensor {
        let count: i64 = shape.iter().product();
        let row = Tensor::arange(count, (Kind::Double, Device::Cpu));
        (row * 0.7).sin().reshape(shape).to_kind(kind)
    }

    /// Input, weight and bias, each a leaf that wants its gradient.
    fn leaves(rows: &[i64], kind: Kind) -> [Tensor; 3] {
        let input = numbers(&[rows, &[5]].concat(), kind);
        [input, numbers(&[4, 5], kind), numbers(&[4], kind)].map(|it| it.set_requires_grad(true))
    }

    fn by_pytorch(x: &Tensor, w: &Tensor, b: &Tensor, relu: bool) -> Tensor {
        let output = x.linear(w, Some(b));
        if relu { output.relu() } else { output }
    }

    fn gradients(output: &Tensor, leaves: &[Tensor; 3]) -> Vec<Tensor> {
        Tensor::run_backward(&[(output * output).sum(output.kind())], leaves, false, false)
    }

    #[test]
    fn output_and_gradients_have_the_bits_of_pytorchs_own_layers() {
        for kind in [Kind::Float, Kind::Double] {
            // One row, several, and a third dimension, which libtorch computes.
            for rows in [&[1][..], &[7], &[2, 3]] {
                for relu in [false, true] {
                    let leaves = leaves(rows, kind);
                    let [x, w, b] = &leaves;
                    let output = call(x, w, b, relu).unwrap();
                    let wanted = by_pytorch(x, w, b, relu);
                    assert_eq!(output, wanted);
                    let (found, wanted) =
                        (gradients(&output, &leaves), gradients(&wanted, &leaves));
                    assert_eq!(found, wanted, "{kind:?}, {rows:?}, relu {relu}");
                }
            }
        }
    }

    /// Sums of `inputs` products and a bias, by any order of summation, and the rounding to a float.
    fn bound(x: &Tensor, w: &Tensor, b: &Tensor, inputs: i64) -> Tensor {
        let roundings = u32::try_from(inputs).unwrap() + 3;
        let size = x.abs().matmul(&w.abs().transpose(0, 1)) + b.abs();
        size * rounding::gamma(roundings)
    }

    #[test]
    fn small_products_are_those_of_doubles_up_to_rounding() {
        let _native = Native::used();
        // Whole tiles and vectors, and parts of them.
        for [rows, inputs, outputs] in [[16, 5, 4], [18, 16, 3], [23, 33, 10], [64, 784, 64]] {
            for relu in [false, true] {
                let [x, w, b] = [&[rows, inputs][..], &[outputs, inputs], &[outputs]]
                    .map(|shape| numbers(shape, Kind::Float));
                let found = call(&x, &w, &b, relu).unwrap().to_kind(Kind::Double);
                let [x, w, b] = [x, w, b].map(|it| it.to_kind(Kind::Double));
                let off = (found - by_pytorch(&x, &w, &b, relu)).abs();
                let allowed = bound(&x, &w, &b, inputs);
                assert!(
                    off.le_tensor(&allowed).all().int64_value(&[]) == 1,
                    "{rows}, {inputs}, {outputs}"
                );
            }
        }
    }

    #[test]
    fn a_small_product_passes_nan_on_and_its_gradients_are_those_of_pytorch() {
        let _native = Native::used();
        let leaves = leaves(&[16], Kind::Float);
        let [x, w, b] = &leaves;
        let (output, wanted) = (linear_relu(x, w, b).unwrap(), by_pytorch(x, w, b, true));
        assert!(output.allclose(&wanted, 1e-5, 1e-5, false));
        let (found, wanted) = (gradients(&output, &leaves), gradients(&wanted, &leaves));
        // Six products of numbers below 1, and twice as many roundings in the gradients of their squares.
        assert!(found.iter().zip(&wanted).all(|(a, b)| a.allclose(b, 1e-5, 1e-4, false)));
        let broken = tch::no_grad(|| x.shallow_clone().f_fill_(f64::NAN).unwrap());
        let output = tch::no_grad(|| linear_relu(&broken, w, b)).unwrap();
        assert!(output.isnan().all().int64_value(&[]) == 1);
    }

    /// Whole numbers, whose sums and products are exact.
    fn whole(shape: &[i64], factor: i64) -> Tensor {
        let count: i64 = shape.iter().product();
        let numbers =
            (Tensor::arange(count, (Kind::Int64, Device::Cpu)) * factor).remainder(11) - 5;
        numbers.reshape(shape).to_kind(Kind::Float).set_requires_grad(true)
    }

    #[test]
    fn native_gradients_of_whole_numbers_are_exact() {
        let _native = Native::used();
        // More outputs than a vector has lanes, and rows for which MKL multiplies.
        for [rows, outputs] in [[16, 5], [23, 33], [3, 16]] {
            let leaves = [(&[rows, 4][..], 7), (&[outputs, 4], 3), (&[outputs], 5)]
                .map(|(shape, factor)| whole(shape, factor));
            let [x, w, b] = &leaves;
            for relu in [false, true] {
                let passes = |output: &Tensor| {
                    let loss = (output * whole(&[rows, outputs], 9)).sum(Kind::Float);
                    Tensor::run_backward(&[loss], &leaves, false, false)
                };
                let found = passes(&call(x, w, b, relu).unwrap());
                let wanted = passes(&by_pytorch(x, w, b, relu));
                assert_eq!(found, wanted, "{rows} rows, {outputs} outputs, relu {relu}");
            }
        }
    }

    #[test]
    fn its_gradients_can_be_differentiated() {
        let penalty = |output: &Tensor, leaves: &[Tensor; 3]| {
            let square = (output * output).sum(Kind::Double);
            let first = Tensor::run_backward(&[square], leaves, true, true);
            let norms = first.iter().map(|grad| (grad * grad).sum(Kind::Double));
            Tensor::run_backward(&[norms.sum::<Tensor>()], leaves, false, false)
        };
        let leaves = leaves(&[7], Kind::Double);
        let [x, w, b] = &leaves;
        let found = penalty(&linear_relu(x, w, b).unwrap(), &leaves);
        let wanted = penalty(&by_pytorch(x, w, b, true), &leaves);
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!(found.allclose(wanted, 1e-12, 1e-12, false), "{found} and {wanted}");
        }
    }

    #[test]
    fn a_weight_that_changes_before_the_backward_pass_is_an_error() {
        let [x, w, b] = leaves(&[7], Kind::Float);
        let output = linear_relu(&x, &w, &b).unwrap();
        let _changed = tch::no_grad(|| w.shallow_clone().f_add_scalar_(1.0).unwrap());
        let refused = output.sum(Kind::Float).f_backward().unwrap_err().to_string();
        assert!(refused.contains("modified by an inplace operation"), "{refused}");
    }

    #[test]
    fn nothing_is_recorded_without_gradients() {
        let [x, w, b] = leaves(&[7], Kind::Float);
        let output = tch::no_grad(|| linear_relu(&x, &w, &b)).unwrap();
        assert!(!output.requires_grad());
        assert_eq!(output, by_pytorch(&x, &w, &b, true).detach());
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let [_, w, b] = leaves(&[7], Kind::Float);
        let refused = linear(&numbers(&[7, 6], Kind::Float), &w, &b).unwrap_err().to_string();
        assert!(refused.contains("7x6"), "{refused}");
    }
}
