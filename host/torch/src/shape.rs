//! The dimensions of a tensor without allocating a list of them, and counts as libtorch's `i64`.

use tch::Tensor;

/// The number of dimensions that are read without an allocation.
const FEW: usize = 8;

/// Calls `read` with the size of each dimension.
pub fn with_sides<R>(tensor: &Tensor, read: impl FnOnce(&[i64]) -> R) -> R {
    let count = tensor.dim();
    if count > FEW {
        return read(&tensor.size());
    }
    let mut sides = [0_i64; FEW];
    // SAFETY: the tensor lives through the call, which writes `count` numbers, and there is room for them.
    unsafe { torch_sys::at_shape(tensor.as_ptr().cast_mut(), sides.as_mut_ptr()) };
    read(&sides[..count])
}

/// The size of one dimension; `None` if it does not exist.
pub fn side(tensor: &Tensor, index: usize) -> Option<i64> {
    with_sides(tensor, |sides| sides.get(index).copied())
}

/// The number of elements; `Tensor::numel` makes a list first.
pub fn count(tensor: &Tensor) -> usize {
    let count = with_sides(tensor, |sides| sides.iter().product::<i64>());
    usize::try_from(count).unwrap_or(0)
}

/// Whether two tensors have the same shape.
pub fn is_same(one: &Tensor, other: &Tensor) -> bool {
    with_sides(one, |one| with_sides(other, |other| one == other))
}

/// A count or an index as libtorch's `i64`.
pub fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn sides_are_those_of_the_list() {
        for shape in [vec![], vec![3], vec![2, 0, 5], vec![1; 8], vec![2, 1, 1, 1, 1, 1, 1, 1, 4]] {
            let tensor = Tensor::zeros(&shape, (Kind::Float, Device::Cpu));
            for index in 0..=shape.len() {
                assert_eq!(side(&tensor, index), shape.get(index).copied(), "{shape:?}");
            }
            assert_eq!(count(&tensor), tensor.numel(), "{shape:?}");
            assert!(is_same(&tensor, &tensor), "{shape:?}");
            assert!(!is_same(&tensor, &tensor.unsqueeze(0)), "{shape:?}");
        }
    }
}
