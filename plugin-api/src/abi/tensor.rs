//! Tensors in the ABI: opaque handles, operator calls, and DLPack views of their memory.

use super::{HrHeader, HrStatus, HrStr};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// A handle to a tensor that the host keeps; 0 for none. Using a handle that was released, or whose iteration has ended,
/// is an error.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub struct HrTensor(pub u64);

impl HrTensor {
    /// No tensor.
    pub const NONE: Self = Self(0);
}

/// A borrowed list of handles.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HrTensors {
    /// The first handle.
    pub ptr: *const HrTensor,
    /// The number of handles.
    pub len: usize,
}

/// An operator that was looked up; valid for the life of the process.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub struct HrOp(pub u64);

/// An omitted argument, or no result.
pub const ARG_NONE: u32 = 0;
/// `int` is a tensor handle.
pub const ARG_TENSOR: u32 = 1;
/// `ptr` points to `len` tensor handles.
pub const ARG_TENSORS: u32 = 2;
/// `float_` is the value.
pub const ARG_FLOAT: u32 = 3;
/// `int` is the value.
pub const ARG_INT: u32 = 4;
/// `int` is 0 or 1.
pub const ARG_BOOL: u32 = 5;
/// `ptr` points to `len` bytes of UTF-8: a text, a dtype ("float32") or a device ("cpu").
pub const ARG_TEXT: u32 = 6;
/// `ptr` points to `len` 64-bit integers.
pub const ARG_INTS: u32 = 7;
/// `ptr` points to `len` doubles.
pub const ARG_FLOATS: u32 = 8;

/// An argument or a result of an operator.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HrArg {
    /// An `ARG_*` number: which of the fields below counts.
    pub kind: u32,
    /// A handle, an integer or a boolean.
    pub int: i64,
    /// A float.
    pub float_: f64,
    /// The first element of a list.
    pub ptr: *const c_void,
    /// The number of elements of a list.
    pub len: usize,
}

impl HrArg {
    /// An omitted argument.
    pub const NONE: Self =
        Self { kind: ARG_NONE, int: 0, float_: 0.0, ptr: std::ptr::null(), len: 0 };
}

/// DLPack's element type.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub struct DataType {
    /// 0 signed integer, 1 unsigned integer, 2 float, 4 bfloat, 5 complex, 6 bool.
    pub code: u8,
    /// Bits of one element.
    pub bits: u8,
    /// Always 1.
    pub lanes: u16,
}

/// DLPack's device.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub struct DLDevice {
    /// 1 CPU, 2 CUDA.
    pub device_type: i32,
    /// The index of the device.
    pub device_id: i32,
}

/// DLPack's borrowed tensor, field by field as in dlpack.h.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct DLTensor {
    /// The first element (with `byte_offset` added).
    pub data: *mut c_void,
    /// Where the memory is.
    pub device: DLDevice,
    /// The number of dimensions.
    pub ndim: i32,
    /// The element type.
    pub dtype: DataType,
    /// `ndim` sizes.
    pub shape: *const i64,
    /// `ndim` strides in elements.
    pub strides: *const i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// The current batch's input.
pub const SLOT_INPUT: u32 = 0;
/// The current batch's label.
pub const SLOT_LABEL: u32 = 1;
/// The output of the model.
pub const SLOT_OUTPUT: u32 = 2;
/// The loss.
pub const SLOT_LOSS: u32 = 3;
/// The total norm of the gradients, computed on first use.
pub const SLOT_GRAD_NORM: u32 = 4;

/// The model's parameters.
pub const LIST_PARAMS: u32 = 0;
/// Their gradients, in the same order; a parameter without one has handle 0.
pub const LIST_GRADS: u32 = 1;
/// The buffers of the model.
pub const LIST_BUFFERS: u32 = 2;

/// Request a writable view. Refused unless the manifest declares that the hook mutates something.
pub const VIEW_WRITE: u32 = 1;

/// Tensors and operators.
#[repr(C)]
#[derive(StableAbi)]
pub struct TensorTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// The tensor of a `SLOT_*`; ABSENT if there is none at this point. [train-thread] [borrowed until the iteration
    /// ends]
    pub slot: unsafe extern "C" fn(host: *mut c_void, slot: u32, out: *mut HrTensor) -> HrStatus,
    /// Replaces the tensor of SLOT_OUTPUT or SLOT_LOSS, in a role; since 1.2 also that of SLOT_INPUT or SLOT_LABEL, at
    /// `before_*iter`, with the same number of rows. Refused elsewhere. [train-thread]
    pub set_slot: unsafe extern "C" fn(host: *mut c_void, slot: u32, tensor: HrTensor) -> HrStatus,
    /// The handles of a `LIST_*`. [train-thread] [the row is borrowed until the next call; parameters and buffers
    /// keep their handles for the whole run, gradients until the iteration ends]
    pub list: unsafe extern "C" fn(host: *mut c_void, list: u32, out: *mut HrTensors) -> HrStatus,
    /// The name of the tensor at `index` of LIST_PARAMS or LIST_BUFFERS. [train-thread] [borrowed for the run]
    pub name: unsafe extern "C" fn(
        host: *mut c_void,
        list: u32,
        index: usize,
        out: *mut HrStr,
    ) -> HrStatus,
    /// Another handle to the same tensor, which stays valid until the caller releases it. [train-thread]
    pub keep:
        unsafe extern "C" fn(host: *mut c_void, tensor: HrTensor, out: *mut HrTensor) -> HrStatus,
    /// Releases `count` handles that the caller owns. [train-thread]
    pub release: unsafe extern "C" fn(host: *mut c_void, tensors: *const HrTensor, count: usize),
    /// The value of a tensor with one element. Waits for the device. [train-thread]
    pub item: unsafe extern "C" fn(host: *mut c_void, tensor: HrTensor, out: *mut f64) -> HrStatus,
    /// A view of a tensor's memory, without a copy. [train-thread] [borrowed until the calling point returns]
    pub view: unsafe extern "C" fn(
        host: *mut c_void,
        tensor: HrTensor,
        flags: u32,
        out: *mut DLTensor,
    ) -> HrStatus,
    /// A new tensor with a copy of the viewed memory, to be released by the caller. [train-thread]
    pub from_view: unsafe extern "C" fn(
        host: *mut c_void,
        view: *const DLTensor,
        out: *mut HrTensor,
    ) -> HrStatus,
    /// Looks up an operator of libtorch by name, such as `aten::lerp_.Scalar`. [train-thread] [valid for the process]
    pub op_find: unsafe extern "C" fn(host: *mut c_void, name: HrStr, out: *mut HrOp) -> HrStatus,
    /// Calls an operator. Trailing arguments may be omitted if the operator has defaults. A `_foreach_` operator skips
    /// entries whose handle is 0; they are 0 in a list of results too. Writes at most `capacity` results, and their
    /// number to `count`. Result tensors are owned by the caller; a result's list of handles is borrowed until the next
    /// operator call. [train-thread]
    pub op_call: unsafe extern "C" fn(
        host: *mut c_void,
        op: HrOp,
        args: *const HrArg,
        arg_count: usize,
        results: *mut HrArg,
        capacity: usize,
        count: *mut usize,
    ) -> HrStatus,
}

impl HrArg {
    /// Copies the handles of a returned list.
    pub(crate) fn handles(&self) -> Vec<HrTensor> {
        if self.len == 0 || self.ptr.is_null() {
            return Vec::new();
        }
        // SAFETY: a host that returns ARG_TENSORS lends `len` handles until the next operator call.
        unsafe { std::slice::from_raw_parts(self.ptr.cast::<HrTensor>(), self.len) }.to_vec()
    }
}

impl DLTensor {
    fn row<'a>(&self, first: *const i64) -> &'a [i64] {
        let ndim = usize::try_from(self.ndim).unwrap_or(0);
        if ndim == 0 || first.is_null() {
            return &[];
        }
        // SAFETY: a view's shape and strides have `ndim` numbers and live as long as the view; `View` ties the
        // slice to the tensor that it was made from.
        unsafe { std::slice::from_raw_parts(first, ndim) }
    }

    /// The size of each dimension.
    pub(crate) fn sizes<'a>(&self) -> &'a [i64] {
        self.row(self.shape)
    }

    /// Whether the elements follow each other in memory. No elements always do, whatever their strides.
    pub(crate) fn is_in_order(&self) -> bool {
        let mut expected = 1;
        let (sizes, strides) = (self.sizes(), self.row(self.strides));
        sizes.contains(&0)
            || sizes.iter().zip(strides).rev().all(|(size, stride)| {
                let fits = *size == 1 || *stride == expected;
                expected *= size;
                fits
            })
    }

    /// All elements; the caller has checked their type, order and device.
    pub(crate) fn elements<'a, T: crate::view::Element>(&self) -> &'a [T] {
        let count: i64 = self.sizes().iter().product();
        let count = usize::try_from(count).unwrap_or(0);
        if count == 0 || self.data.is_null() {
            return &[];
        }
        #[expect(clippy::cast_possible_truncation, reason = "an offset within one allocation")]
        // SAFETY: the view describes `count` elements of this type in order, on the CPU, borrowed until the calling
        // point returns; every bit pattern of an `Element` is a value.
        unsafe {
            let first = self.data.cast::<u8>().add(self.byte_offset as usize).cast::<T>();
            std::slice::from_raw_parts(first, count)
        }
    }
}

impl DLTensor {
    /// Lends rows of numbers as a view.
    pub(crate) fn lend<T: crate::view::Element>(
        elements: &[T],
        shape: &[i64],
    ) -> crate::Result<Self> {
        let count: i64 = shape.iter().product();
        let fits = usize::try_from(count).is_ok_and(|count| count == elements.len());
        crate::ensure!(fits, "{} elements do not make a tensor of shape {shape:?}", elements.len());
        Ok(Self {
            data: elements.as_ptr().cast_mut().cast(),
            device: DLDevice { device_type: 1, device_id: 0 },
            ndim: i32::try_from(shape.len())?,
            dtype: T::DATA_TYPE,
            shape: shape.as_ptr(),
            strides: std::ptr::null(),
            byte_offset: 0,
        })
    }
}
