//! Single dimensions of a tensor without allocating a list of all of them, and counts as libtorch's `i64`.

use tch::Tensor;

/// The number of dimensions that are read without an allocation.
const FEW: usize = 8;

/// The size of one dimension; `None` if it does not exist.
pub fn side(tensor: &Tensor, index: usize) -> Option<i64> {
    let count = tensor.dim();
    if count > FEW {
        return tensor.size().get(index).copied();
    }
    let mut sides = [0_i64; FEW];
    // SAFETY: the tensor lives through the call, which writes `count` numbers, and there is room for them.
    unsafe { torch_sys::at_shape(tensor.as_ptr().cast_mut(), sides.as_mut_ptr()) };
    sides[..count].get(index).copied()
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
        }
    }
}
