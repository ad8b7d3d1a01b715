//! A tensor's own memory, borrowed and typed.

use crate::abi::{DLTensor, DataType};
use crate::error::Result;
use crate::tensor::Tensor;

/// An element type that a tensor's memory can be read as.
pub trait Element: Copy + sealed::Sealed {
    /// DLPack's name for it.
    const DATA_TYPE: DataType;
}

pub(crate) mod sealed {
    /// Keeps [`super::Element`] to types whose every bit pattern is a value.
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
    /// Floats of 16 bits.
    pub const FLOAT16: Self = Self::new(2, 16);
    /// Floats of 16 bits with the range of 32.
    pub const BFLOAT16: Self = Self::new(4, 16);
    /// Floats of 32 bits.
    pub const FLOAT32: Self = Self::new(2, 32);
    /// Floats of 64 bits.
    pub const FLOAT64: Self = Self::new(2, 64);
    /// Bytes.
    pub const UINT8: Self = Self::new(1, 8);
    /// Integers of 32 bits.
    pub const INT32: Self = Self::new(0, 32);
    /// Integers of 64 bits, which class numbers and indices are.
    pub const INT64: Self = Self::new(0, 64);
    /// Truth values, which comparisons give.
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

/// A tensor's memory, to read, without a copy.
pub struct View<'a> {
    raw: DLTensor,
    tensor: std::marker::PhantomData<&'a Tensor>,
}

impl<'a> View<'a> {
    pub(crate) fn new(tensor: &'a Tensor, raw: DLTensor) -> Result<Self> {
        let _ = tensor;
        crate::ensure!(
            raw.device.device_type == 1,
            "the tensor is not on the CPU: copy it there first"
        );
        Ok(Self { raw, tensor: std::marker::PhantomData })
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &'a [i64] {
        self.raw.sizes()
    }

    /// The element type.
    pub fn data_type(&self) -> DataType {
        self.raw.dtype
    }

    /// All elements in order.
    ///
    /// # Errors
    /// They are of another type, or not in order in memory (`contiguous` makes such a copy).
    pub fn elements<T: Element>(&self) -> Result<&'a [T]> {
        let (found, wanted) = (self.raw.dtype, T::DATA_TYPE);
        crate::ensure!(found == wanted, "elements are {found}, not {wanted}");
        crate::ensure!(
            self.raw.is_in_order(),
            "the elements are not in order in memory: call aten::contiguous first"
        );
        Ok(self.raw.elements())
    }
}
