//! Max pooling and its ReLU as one node of the graph: the numbers of PyTorch's, from fewer passes over memory.

use std::ptr;

use tch::Tensor;

use super::error::check;
use super::{Result, ffi};

/// `relu(max_pool2d(input, 2))`, bit for bit, and with the same gradients.
pub fn max_pool_relu(input: &Tensor) -> Result<Tensor> {
    let mut out = ptr::null_mut();
    // SAFETY: `input` lives through the call; on success `out` is a new tensor that is ours.
    unsafe {
        check(ffi::hrt_max_pool_relu(input.as_ptr(), &raw mut out))?;
        Ok(Tensor::from_ptr(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    fn by_pytorch(input: &Tensor) -> Tensor {
        input.max_pool2d([2; 2], [2; 2], [0; 2], [1; 2], false).relu()
    }

    /// Images with equal numbers, windows below zero, zeros of both signs, infinities and NaN in them.
    fn images(shape: [i64; 4], kind: Kind) -> Tensor {
        let count: i64 = shape.iter().product();
        let waves = (Tensor::arange(count, (Kind::Double, Device::Cpu)) * 0.7).sin();
        let steps = (waves * 3.0).round();
        for (index, value) in [(3, f64::NAN), (8, f64::INFINITY), (11, f64::NEG_INFINITY)] {
            let _set = steps.get(index).fill_(value);
        }
        steps.reshape(shape).to_kind(kind)
    }

    fn layouts(images: &Tensor) -> [Tensor; 3] {
        let last = images.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]);
        // A view with gaps, which libtorch computes.
        let view = Tensor::cat(&[images, images], 3).narrow(3, 0, images.size()[3]);
        [images.shallow_clone(), last, view].map(|it| it.detach().set_requires_grad(true))
    }

    /// The layout in memory: a side of 1 has any stride.
    fn strides(tensor: &Tensor) -> Vec<(i64, i64)> {
        let sides = tensor.size().into_iter().zip(tensor.stride());
        sides.filter(|(side, _)| *side > 1).collect()
    }

    /// The bits of all numbers, by which NaN equals NaN. The sign of a zero is left out: PyTorch's ReLU keeps it or not, depending on a number's
    /// place in a vector.
    fn bits(tensor: &Tensor) -> Vec<u64> {
        let numbers = Vec::<f64>::try_from(tensor.to_kind(Kind::Double).flatten(0, -1)).unwrap();
        numbers.into_iter().map(|number| (number + 0.0).to_bits()).collect()
    }

    #[test]
    fn output_and_gradient_have_the_bits_of_pytorchs_own_layers() {
        for kind in [Kind::Float, Kind::Double] {
            // Odd sides, whose last row or column is in no window, a single channel, and rows and channels of more than a vector.
            let wide = [[2, 3, 4, 22], [2, 20, 4, 6], [1, 16, 2, 3]];
            for shape in [[2, 3, 4, 6], [2, 3, 5, 7], [3, 1, 4, 4]].into_iter().chain(wide) {
                for input in layouts(&images(shape, kind)) {
                    let (found, wanted) = (max_pool_relu(&input).unwrap(), by_pytorch(&input));
                    assert_eq!(bits(&found), bits(&wanted), "{kind:?}, {shape:?}");
                    assert_eq!(strides(&found), strides(&wanted), "{kind:?}, {shape:?}");
                    let scale =
                        images([1, 1, 1, wanted.size().iter().product()], kind).view_as(&wanted);
                    let gradient = |output: &Tensor| {
                        let sum = (output * &scale).sum(kind);
                        bits(&Tensor::run_backward(&[sum], &[&input], false, false)[0])
                    };
                    assert_eq!(gradient(&found), gradient(&wanted), "{kind:?}, {shape:?}");
                }
            }
        }
    }

    #[test]
    fn its_gradient_can_be_differentiated() {
        let waves = (Tensor::arange(70, (Kind::Double, Device::Cpu)) * 0.7).sin();
        let input = waves.reshape([1, 2, 5, 7]).set_requires_grad(true);
        let second = |output: Tensor| {
            let cubes = output.pow_tensor_scalar(3).sum(Kind::Double);
            let first = Tensor::run_backward(&[cubes], &[&input], true, true).remove(0);
            let norm = (&first * &first).sum(Kind::Double);
            bits(&Tensor::run_backward(&[norm], &[&input], false, false)[0])
        };
        assert_eq!(second(max_pool_relu(&input).unwrap()), second(by_pytorch(&input)));
    }

    #[test]
    fn a_second_backward_pass_is_refused_as_pytorch_refuses_it() {
        let input = images([2, 3, 4, 6], Kind::Float).set_requires_grad(true);
        let loss = max_pool_relu(&input).unwrap().sum(Kind::Float);
        loss.backward();
        let refused = loss.f_backward().unwrap_err().to_string();
        assert!(refused.contains("backward through the graph a second time"), "{refused}");
    }

    #[test]
    fn nothing_is_recorded_without_gradients() {
        let input = images([2, 3, 4, 6], Kind::Float).set_requires_grad(true);
        assert!(!tch::no_grad(|| max_pool_relu(&input)).unwrap().requires_grad());
    }

    #[test]
    fn what_is_not_a_batch_of_images_is_refused() {
        let refused = max_pool_relu(&Tensor::zeros([4], (Kind::Float, Device::Cpu))).unwrap_err();
        assert!(refused.to_string().contains("3D or 4D"), "{refused}");
    }
}
