//! One argument or result of an operator, as passed to C++: a plain struct, no allocation.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use tch::Tensor;

use super::ffi;
use super::{Result, TensorList, TorchError};

/// The type of a [`RawValue`]. Must match the constants in the shim's `values.h`.
pub mod tag {
    /// Nothing; also an omitted optional argument.
    pub const NONE: i32 = 0;
    /// `pointer` is a tensor.
    pub const TENSOR: i32 = 1;
    /// `pointer` and `length` are an array of tensor pointers.
    pub const TENSORS: i32 = 2;
    /// `pointer` is a [`TensorList`](super::TensorList)'s.
    pub const LIST: i32 = 3;
    /// `real`.
    pub const F64: i32 = 4;
    /// `integer`.
    pub const I64: i32 = 5;
    /// `integer`, 0 or 1.
    pub const BOOL: i32 = 6;
    /// `pointer` and `length` are UTF-8 bytes; types, devices and memory formats are given so, too.
    pub const STR: i32 = 7;
    /// `pointer` and `length` are `i64`s; a list of bools is given so, too.
    pub const INTS: i32 = 8;
    /// `pointer` and `length` are `f64`s.
    pub const FLOATS: i32 = 9;
}

/// The C representation of an argument or a result.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RawValue {
    /// One of [`tag`].
    pub tag: i32,
    /// Zero.
    pub reserved: i32,
    /// The value of an int or a bool.
    pub integer: i64,
    /// The value of a float.
    pub real: f64,
    /// Where a tensor, a list or a string is.
    pub pointer: *mut c_void,
    /// How many elements `pointer` leads to.
    pub length: i64,
}

impl RawValue {
    /// Nothing.
    pub const NONE: Self = Self {
        tag: tag::NONE,
        reserved: 0,
        integer: 0,
        real: 0.0,
        pointer: ptr::null_mut(),
        length: 0,
    };

    fn slice<T>(tag: i32, values: &[T]) -> Self {
        let length = i64::try_from(values.len()).unwrap_or(i64::MAX);
        Self { tag, pointer: values.as_ptr().cast_mut().cast(), length, ..Self::NONE }
    }
}

/// An argument that borrows what it points to.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Arg<'a>(RawValue, PhantomData<&'a ()>);

impl<'a> Arg<'a> {
    /// An omitted optional argument.
    pub const NONE: Arg<'static> = Arg(RawValue::NONE, PhantomData);

    /// A tensor.
    pub fn tensor(tensor: &'a Tensor) -> Self {
        let pointer = tensor.as_ptr().cast_mut().cast();
        Self(RawValue { tag: tag::TENSOR, pointer, ..RawValue::NONE }, PhantomData)
    }

    /// A list of tensors.
    pub fn list(list: &'a TensorList) -> Self {
        let pointer = list.as_raw().cast();
        Self(RawValue { tag: tag::LIST, pointer, ..RawValue::NONE }, PhantomData)
    }

    /// A float; it stays a float if the schema says `Scalar`.
    pub fn float(real: f64) -> Self {
        Self(RawValue { tag: tag::F64, real, ..RawValue::NONE }, PhantomData)
    }

    /// An int; it becomes a float if the schema says `float`.
    pub fn int(integer: i64) -> Self {
        Self(RawValue { tag: tag::I64, integer, ..RawValue::NONE }, PhantomData)
    }

    /// A bool.
    pub fn bool(value: bool) -> Self {
        Self(RawValue { tag: tag::BOOL, integer: value.into(), ..RawValue::NONE }, PhantomData)
    }

    /// A string; also a type (`"float32"`), a device (`"cpu"`), a memory format (`"channels_last"`).
    pub fn str(text: &'a str) -> Self {
        Self(RawValue::slice(tag::STR, text.as_bytes()), PhantomData)
    }

    /// A list of ints.
    pub fn ints(values: &'a [i64]) -> Self {
        Self(RawValue::slice(tag::INTS, values), PhantomData)
    }

    /// A list of floats.
    pub fn floats(values: &'a [f64]) -> Self {
        Self(RawValue::slice(tag::FLOATS, values), PhantomData)
    }

    /// Takes ownership of a value that was filled in elsewhere.
    ///
    /// # Safety
    /// What the tag says about `pointer` and `length` holds for as long as the argument is used.
    pub unsafe fn from_raw(raw: RawValue) -> Self {
        Self(raw, PhantomData)
    }
}

/// One result, owned.
#[derive(Debug)]
pub enum Return {
    /// The operator returned nothing here.
    None,
    /// A tensor with a handle of its own.
    Tensor(Tensor),
    /// A list of tensors.
    List(TensorList),
    /// A float.
    F64(f64),
    /// An int.
    I64(i64),
    /// A bool.
    Bool(bool),
}

/// The results of a call. Keep one and reuse it: a call then allocates nothing on this side.
#[derive(Debug, Default)]
pub struct Returns {
    values: Vec<RawValue>,
}

impl Returns {
    /// The number of results of the last call.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether the last call returned nothing.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Moves one result out; `Return::None` if there is none, or it was moved already.
    pub fn take(&mut self, index: usize) -> Return {
        let Some(slot) = self.values.get_mut(index) else { return Return::None };
        let value = std::mem::replace(slot, RawValue::NONE);
        match value.tag {
            // SAFETY: the shim made this handle for us, and the slot no longer owns it.
            tag::TENSOR => Return::Tensor(unsafe { Tensor::from_ptr(value.pointer.cast()) }),
            // SAFETY: as above.
            tag::LIST => Return::List(unsafe { TensorList::from_raw(value.pointer.cast()) }),
            tag::F64 => Return::F64(value.real),
            tag::I64 => Return::I64(value.integer),
            tag::BOOL => Return::Bool(value.integer != 0),
            _ => Return::None,
        }
    }

    /// Moves one result out, which must be a tensor.
    pub fn tensor(&mut self, index: usize) -> Result<Tensor> {
        match self.take(index) {
            Return::Tensor(tensor) => Ok(tensor),
            other => Err(TorchError::new(&format!("result {index} is not a tensor but {other:?}"))),
        }
    }

    /// Drops the results of the last call and makes room for `count` new ones.
    pub(super) fn prepare(&mut self, count: usize) -> &mut [RawValue] {
        self.clear();
        self.values.resize(count, RawValue::NONE);
        &mut self.values
    }

    /// Drops the results of the last call.
    pub fn clear(&mut self) {
        for value in &mut self.values {
            // SAFETY: the shim filled it in, or it is NONE; freeing leaves NONE.
            unsafe { ffi::hrt_value_free(value) };
        }
        self.values.clear();
    }
}

impl Drop for Returns {
    fn drop(&mut self) {
        self.clear();
    }
}
