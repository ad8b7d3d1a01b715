//! The memory of a tensor, borrowed and typed.

use crate::abi::{DLTensor, DataType};
use crate::error::Result;
use crate::tensor::Tensor;

/// A type that a tensor's elements can be read as.
///
/// 16-bit floats and booleans have no such type: convert them by [`to_dtype`](Tensor::to_dtype), or let
/// [`to_vec`](Tensor::to_vec) do it. Another crate cannot implement it.
#[diagnostic::on_unimplemented(
    message = "a tensor's elements cannot be read as `{Self}`",
    note = "booleans are read as `u8`, 16-bit floats as `f32`, `usize` as `i64`: `x.to_vec::<u8>()?`"
)]
pub trait Element: Copy + sealed::Sealed {
    /// The dtype of a tensor with such elements.
    const DATA_TYPE: DataType;
}

pub(crate) mod sealed {
    /// Restricts [`super::Element`] to types for which every bit pattern is valid.
    pub trait Sealed {}
}

macro_rules! element {
    ($($ty:ty: $code:literal $bits:literal),*) => {
        $(impl sealed::Sealed for $ty {}
          impl Element for $ty {
            const DATA_TYPE: DataType = DataType { code: $code, bits: $bits, lanes: 1 };
        })*
    };
}
element!(i8: 0 8, i16: 0 16, i32: 0 32, i64: 0 64, u8: 1 8, f32: 2 32, f64: 2 64);

impl DataType {
    /// 16-bit floats.
    pub const FLOAT16: Self = Self::new(2, 16);
    /// bfloat16: 16 bits with the range of 32-bit floats.
    pub const BFLOAT16: Self = Self::new(4, 16);
    /// 32-bit floats.
    pub const FLOAT32: Self = Self::new(2, 32);
    /// 64-bit floats.
    pub const FLOAT64: Self = Self::new(2, 64);
    /// Bytes.
    pub const UINT8: Self = Self::new(1, 8);
    /// 32-bit integers.
    pub const INT32: Self = Self::new(0, 32);
    /// 64-bit integers, the dtype of class indices.
    pub const INT64: Self = Self::new(0, 64);
    /// Booleans, the result of comparisons.
    pub const BOOL: Self = Self::new(6, 8);

    const fn new(code: u8, bits: u8) -> Self {
        Self { code, bits, lanes: 1 }
    }
}

impl std::fmt::Display for DataType {
    /// The name that libtorch gives it, such as `float32`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code {
            0 => write!(f, "int{}", self.bits),
            1 => write!(f, "uint{}", self.bits),
            2 => write!(f, "float{}", self.bits),
            4 => write!(f, "bfloat{}", self.bits),
            5 => write!(f, "complex{}", self.bits),
            6 => f.write_str("bool"),
            code => write!(f, "DLPack type {code} of {} bits", self.bits),
        }
    }
}

/// The memory of a tensor on the CPU, borrowed for reading without a copy. It is valid until the current
/// point returns.
///
/// While it exists, the [`Tensor`] it was borrowed from cannot be used. Any bit pattern of an [`Element`] is a
/// value, so reading is always sound.
pub struct View<'a> {
    raw: DLTensor,
    tensor: std::marker::PhantomData<&'a mut Tensor>,
}

impl<'a> View<'a> {
    pub(crate) fn new(tensor: &'a mut Tensor, raw: DLTensor) -> Result<Self> {
        let _ = tensor;
        crate::ensure!(
            raw.device.device_type == 1,
            "the tensor is not on the CPU: copy it there first"
        );
        Ok(Self { raw, tensor: std::marker::PhantomData })
    }

    /// Returns the size of each dimension; empty for a scalar tensor.
    pub fn shape(&self) -> &'a [i64] {
        self.raw.sizes()
    }

    /// Returns the dtype.
    pub fn data_type(&self) -> DataType {
        self.raw.dtype
    }

    /// Returns all elements in row-major order, as a slice. Not a copy and not a call.
    ///
    /// # Errors
    /// The dtype is another one, or the tensor is not contiguous (`contiguous()` makes a copy that is).
    /// Booleans are not bytes here.
    pub fn elements<T: Element>(&self) -> Result<&'a [T]> {
        let (found, wanted) = (self.raw.dtype, T::DATA_TYPE);
        crate::ensure!(found == wanted, "elements are {found}, not {wanted}");
        crate::ensure!(
            self.raw.is_in_order(),
            "the tensor is not contiguous: call contiguous() first"
        );
        Ok(self.raw.elements())
    }
}
