//! CPU tensors whose memory Rust reads or writes in place: a batch is collated with one allocation, labels are counted
//! with none.

use std::slice;

use tch::{Device, Kind, Tensor};

use super::{Result, TorchError, shape};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for i64 {}
    impl Sealed for u8 {}
}

/// An element that a tensor can be filled with.
pub trait Element: sealed::Sealed + Copy {
    /// libtorch's dtype.
    const KIND: Kind;
    /// DLPack's: type code and bits.
    const DLPACK: (u8, u8);
}

impl Element for f32 {
    const KIND: Kind = Kind::Float;
    const DLPACK: (u8, u8) = (2, 32);
}

impl Element for i64 {
    const KIND: Kind = Kind::Int64;
    const DLPACK: (u8, u8) = (0, 64);
}

impl Element for u8 {
    const KIND: Kind = Kind::Uint8;
    const DLPACK: (u8, u8) = (1, 8);
}

/// A new tensor of `shape`, zeroed and then written by `fill`, which sees it row by row.
pub fn filled<T: Element>(shape: &[i64], fill: impl FnOnce(&mut [T])) -> Result<Tensor> {
    let tensor = Tensor::f_zeros(shape, (T::KIND, Device::Cpu))?;
    let memory = tensor.data_ptr().cast::<T>();
    // libtorch took the shape, so no side of it is negative.
    let len = usize::try_from(shape.iter().product::<i64>()).unwrap_or(0);
    if len == 0 {
        fill(&mut []);
    } else if memory.is_null() {
        return Err(TorchError::new("a new tensor has no memory"));
    } else {
        // SAFETY: just made here, contiguous, on the CPU, initialized, of this element type and this many
        // elements, and nobody else has a handle yet.
        fill(unsafe { slice::from_raw_parts_mut(memory, len) });
    }
    Ok(tensor)
}

/// Calls `read` with the elements of a tensor, row by row. `None` if they are not contiguous in the CPU's memory, or are of
/// another type. `read` must not write to the tensor through another handle.
pub fn with_elements<T: Element, R>(tensor: &Tensor, read: impl FnOnce(&[T]) -> R) -> Option<R> {
    let is_in_a_row = tensor.defined()
        && tensor.kind() == T::KIND
        && tensor.device() == Device::Cpu
        && !tensor.is_sparse()
        && tensor.is_contiguous();
    if !is_in_a_row {
        return None;
    }
    let (memory, len) = (tensor.data_ptr().cast::<T>().cast_const(), shape::count(tensor));
    if len == 0 || memory.is_null() {
        return (len == 0).then(|| read(&[]));
    }
    // SAFETY: contiguous, on the CPU, of this element type and this many elements; the tensor outlives the call, and the
    // training thread, which is here, is the only one that writes tensors.
    Some(read(unsafe { slice::from_raw_parts(memory, len) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_where_they_lie_in_a_row() {
        let tensor = Tensor::from_slice(&[1_i64, 2, 3, 4]);
        assert_eq!(with_elements(&tensor, <[i64]>::to_vec), Some(vec![1, 2, 3, 4]));
        let part = tensor.narrow(0, 1, 2);
        assert_eq!(with_elements(&part, <[i64]>::to_vec), Some(vec![2, 3]));
        assert_eq!(with_elements(&tensor.narrow(0, 0, 0), <[i64]>::len), Some(0));
        assert_eq!(with_elements(&tensor.view([2, 2]).tr(), <[i64]>::len), None);
        assert_eq!(with_elements(&tensor, <[f32]>::len), None);
    }

    #[test]
    fn the_closure_writes_the_tensor() {
        let tensor =
            filled::<i64>(&[2, 2], |memory| memory.copy_from_slice(&[1, 2, 3, 4])).unwrap();
        assert_eq!(tensor.int64_value(&[1, 0]), 3);
        assert_eq!(
            filled::<f32>(&[0, 5], |memory| assert!(memory.is_empty())).unwrap().size(),
            [0, 5]
        );
    }
}
