//! Borrowed DLPack views of a tensor's memory, and tensors copied from such views.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::{ptr, slice};

use tch::Tensor;

use super::error::check;
use super::{Result, ffi};

/// DLPack's number for the CPU.
pub const DEVICE_CPU: i32 = 1;

/// DLPack's fields as passed to C++. Must match the struct in the shim.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RawView {
    /// First element; strides are counted from here.
    pub data: *mut c_void,
    /// `dims` sizes.
    pub shape: *const i64,
    /// `dims` strides in elements; null means row by row.
    pub strides: *const i64,
    /// Number of dimensions.
    pub dims: i64,
    /// DLPack's device number.
    pub device_type: i32,
    /// Which device of that kind.
    pub device_id: i32,
    /// DLPack's type code: int 0, uint 1, float 2, bfloat 4, complex 5, bool 6.
    pub code: u8,
    /// Bits of one element.
    pub bits: u8,
    /// Elements per vector; always 1 here.
    pub lanes: u16,
}

/// A tensor's memory, borrowed: neither freed nor resized while the view lives.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    raw: RawView,
    tensor: PhantomData<&'a Tensor>,
}

impl<'a> View<'a> {
    /// Views a dense tensor on the CPU or on CUDA.
    pub fn of(tensor: &'a Tensor) -> Result<Self> {
        let mut raw = EMPTY;
        // SAFETY: the tensor lives through the call; `raw` is written only on success.
        unsafe { check(ffi::hrt_describe(tensor.as_ptr(), &raw mut raw))? };
        Ok(Self { raw, tensor: PhantomData })
    }

    /// The fields, for the ABI's own struct. The pointers are valid as long as `'a`.
    pub fn raw(&self) -> RawView {
        self.raw
    }

    /// The sizes.
    pub fn shape(&self) -> &'a [i64] {
        // SAFETY: libtorch's own array of `dims` sizes, alive as long as the tensor.
        unsafe { array(self.raw.shape, self.raw.dims) }
    }

    /// The strides in elements.
    pub fn strides(&self) -> &'a [i64] {
        // SAFETY: libtorch's own array of `dims` strides, alive as long as the tensor.
        unsafe { array(self.raw.strides, self.raw.dims) }
    }
}

/// Creates a tensor with a copy of the memory that `view` describes.
///
/// # Safety
/// `data`, `shape` and `strides` are valid for what the other fields say until the call returns.
pub unsafe fn copy_of(view: &RawView) -> Result<Tensor> {
    let mut out = ptr::null_mut();
    // SAFETY: the caller vouches for the memory; on success `out` is a new tensor that is ours.
    unsafe {
        check(ffi::hrt_copy_of(view, &raw mut out))?;
        Ok(Tensor::from_ptr(out))
    }
}

const EMPTY: RawView = RawView {
    data: ptr::null_mut(),
    shape: ptr::null(),
    strides: ptr::null(),
    dims: 0,
    device_type: DEVICE_CPU,
    device_id: 0,
    code: 0,
    bits: 0,
    lanes: 1,
};

/// # Safety
/// `first` leads to `count` numbers that live as long as `'a`.
unsafe fn array<'a>(first: *const i64, count: i64) -> &'a [i64] {
    match usize::try_from(count) {
        // SAFETY: by the contract.
        Ok(count) if count > 0 => unsafe { slice::from_raw_parts(first, count) },
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Kind;

    #[test]
    fn a_view_and_back_keeps_values_and_layout_facts() {
        let tensor = Tensor::arange(6, (Kind::Float, tch::Device::Cpu)).view([2, 3]).tr();
        let view = View::of(&tensor).unwrap();
        assert_eq!((view.shape(), view.strides()), (&[3, 2][..], &[1, 3][..]));
        let raw = view.raw();
        assert_eq!((raw.code, raw.bits, raw.lanes, raw.device_type), (2, 32, 1, DEVICE_CPU));
        assert_eq!(raw.data, tensor.data_ptr());
        // SAFETY: `tensor` owns that memory and is alive.
        let copy = unsafe { copy_of(&raw) }.unwrap();
        assert_eq!(copy, tensor);
        assert_ne!(copy.data_ptr(), tensor.data_ptr());
    }

    #[test]
    fn a_scalar_has_no_sizes_and_an_undefined_tensor_no_view() {
        let scalar = Tensor::from(3_i64);
        let view = View::of(&scalar).unwrap();
        assert_eq!((view.shape().len(), view.raw().code, view.raw().bits), (0, 0, 64));
        assert!(View::of(&Tensor::new()).is_err());
    }

    #[test]
    fn an_unknown_type_is_refused_by_its_numbers() {
        let tensor = Tensor::from(1.0_f32);
        let raw = RawView { bits: 24, ..View::of(&tensor).unwrap().raw() };
        // SAFETY: refused before the memory is read.
        let error = unsafe { copy_of(&raw) }.unwrap_err();
        assert_eq!(error.text(), "no tensor type for DLPack code 2, 24 bits, 1 lanes");
    }
}
