//! Cross entropy with class numbers: PyTorch's, or one node of the graph if [`kernels::use_native`](super::kernels::use_native) was called.

use std::ptr;

use tch::Tensor;

use super::error::check;
use super::{Result, ffi};

/// The mean of the losses of the labels that are not `ignored`, as `torch.nn.functional.cross_entropy`. Labels may be class probabilities.
///
/// # Errors
/// The shapes do not fit, or a label is not a class.
pub fn cross_entropy(scores: &Tensor, labels: &Tensor, ignored: i64) -> Result<Tensor> {
    let mut out = ptr::null_mut();
    // SAFETY: both live through the call; on success `out` is a new tensor that is ours.
    unsafe {
        check(ffi::hrt_cross_entropy(scores.as_ptr(), labels.as_ptr(), ignored, &raw mut out))?;
        Ok(Tensor::from_ptr(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tests::Native;
    use crate::rounding;
    use tch::{Device, Kind, Reduction};

    const IGNORED: i64 = 1;

    fn scores(rows: i64, classes: i64) -> Tensor {
        let numbers = Tensor::arange(rows * classes, (Kind::Double, Device::Cpu));
        ((numbers * 0.7).sin() * 5.0).reshape([rows, classes]).to_kind(Kind::Float)
    }

    fn labels(rows: i64, classes: i64) -> Tensor {
        (Tensor::arange(rows, (Kind::Int64, Device::Cpu)) * 7).remainder(classes)
    }

    fn by_pytorch(scores: &Tensor, labels: &Tensor) -> Tensor {
        scores.cross_entropy_loss(labels, None::<Tensor>, Reduction::Mean, IGNORED, 0.0)
    }

    #[test]
    fn loss_and_gradient_are_those_of_doubles_up_to_rounding() {
        let _native = Native::used();
        // Less than a vector, whole ones, and one with a rest.
        for (rows, classes) in [(1, 3), (7, 10), (64, 16), (5, 37)] {
            let (own, labels) =
                (scores(rows, classes).set_requires_grad(true), labels(rows, classes));
            let wide = own.detach().to_kind(Kind::Double).set_requires_grad(true);
            let found = cross_entropy(&own, &labels, IGNORED).unwrap();
            let wanted = by_pytorch(&wide, &labels);
            // Scores up to 5, an exponential of each, their sum, and a logarithm: a few roundings of numbers below 16.
            let count = u32::try_from(classes).unwrap() + 16;
            let allowed = 16.0 * rounding::gamma(count);
            let off = (found.double_value(&[]) - wanted.double_value(&[])).abs();
            assert!(off <= allowed, "{rows} x {classes}: off by {off:e}");
            found.backward();
            wanted.backward();
            let off = (own.grad().to_kind(Kind::Double) - wide.grad()).abs().max();
            assert!(off.double_value(&[]) <= allowed, "{rows} x {classes}: {off}");
        }
    }

    #[test]
    fn gradients_can_be_differentiated() {
        let _native = Native::used();
        let penalty = |loss: &dyn Fn(&Tensor) -> Tensor| {
            let scores = scores(6, 4).set_requires_grad(true);
            let first = Tensor::run_backward(&[loss(&scores)], &[&scores], true, true);
            let square = (&first[0] * &first[0]).sum(Kind::Float);
            Tensor::run_backward(&[square], &[&scores], false, false).remove(0)
        };
        let labels = labels(6, 4);
        let found = penalty(&|scores| cross_entropy(scores, &labels, IGNORED).unwrap());
        let wanted = penalty(&|scores| by_pytorch(scores, &labels));
        assert!(found.allclose(&wanted, 1e-4, 1e-6, false), "{found} and {wanted}");
    }

    #[test]
    fn a_label_that_is_no_class_is_an_error_and_nothing_but_ignored_labels_is_nan() {
        let _native = Native::used();
        let error = cross_entropy(&scores(2, 3), &Tensor::from_slice(&[0_i64, 3]), IGNORED);
        assert!(error.unwrap_err().text().contains("out of bounds"));
        let ignored = Tensor::from_slice(&[IGNORED, IGNORED]);
        assert!(
            cross_entropy(&scores(2, 3), &ignored, IGNORED).unwrap().double_value(&[]).is_nan()
        );
        let broken = scores(2, 3).fill_(f64::NAN);
        let loss = cross_entropy(&broken, &Tensor::from_slice(&[0_i64, 2]), IGNORED).unwrap();
        assert!(loss.double_value(&[]).is_nan());
    }

    #[test]
    fn by_default_the_bits_are_those_of_pytorch() {
        let (own, labels) = (scores(7, 10), labels(7, 10));
        assert_eq!(cross_entropy(&own, &labels, IGNORED).unwrap(), by_pytorch(&own, &labels));
    }
}
