//! A small dense tensor in plain Rust, with libtorch's sharing of memory between views.

use crate::abi::DataType;
use crate::error::Result;
use crate::view::Element;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// A tensor of the fake trainer: on the CPU, of any shape, with the dtypes that plugins can read, and
/// booleans.
///
/// A clone shares the memory, as a second handle to a tensor does; [`copy`](Self::copy) does not. What a hook
/// changes in place is seen in every clone, also in the one that the test has kept. For tests: each operation
/// is a plain loop.
#[derive(Clone)]
pub struct FakeTensor {
    memory: Rc<RefCell<Memory>>,
    shape: Rc<[i64]>,
    strides: Rc<[i64]>,
    offset: usize,
}

macro_rules! memory {
    ($($variant:ident($ty:ty) $dtype:ident = $code:literal $bits:literal,)*) => {
        /// The elements, in their own dtype.
        pub(crate) enum Memory { $($variant(Vec<$ty>)),* }

        $(pub(crate) const $dtype: DataType = DataType { code: $code, bits: $bits, lanes: 1 };)*

        impl Memory {
            fn zeros(dtype: DataType, len: usize) -> Result<Self> {
                $(if dtype == $dtype {
                    return Ok(Self::$variant(vec![<$ty>::default(); len]));
                })*
                crate::bail!("the fake trainer has no tensors of {dtype}")
            }

            fn dtype(&self) -> DataType {
                match self { $(Self::$variant(_) => $dtype),* }
            }

            fn first(&mut self) -> *mut std::ffi::c_void {
                match self { $(Self::$variant(numbers) => numbers.as_mut_ptr().cast()),* }
            }

            #[allow(clippy::cast_lossless, clippy::cast_precision_loss, trivial_numeric_casts, clippy::allow_attributes,
                    reason = "one body for every type; small numbers alone go through a test")]
            fn number(&self, at: usize) -> f64 {
                match self { $(Self::$variant(numbers) => numbers[at] as f64),* }
            }

            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, trivial_numeric_casts, clippy::allow_attributes,
                    reason = "storing into a narrower type is what the caller asked for")]
            fn set(&mut self, at: usize, number: f64) {
                let number = if self.dtype() == BOOL { f64::from(number != 0.0) } else { number };
                match self { $(Self::$variant(numbers) => numbers[at] = number as $ty),* }
            }
        }
    };
}
memory! {
    F32(f32) FLOAT32 = 2 32,
    F64(f64) FLOAT64 = 2 64,
    I64(i64) INT64 = 0 64,
    I32(i32) INT32 = 0 32,
    I16(i16) INT16 = 0 16,
    I8(i8) INT8 = 0 8,
    U8(u8) UINT8 = 1 8,
    Bool(u8) BOOL = 6 8,
}

/// The dtype with this name in libtorch.
pub(crate) fn dtype_named(name: &str) -> Result<DataType> {
    let known = [FLOAT32, FLOAT64, INT64, INT32, INT16, INT8, UINT8, BOOL];
    let named = known.into_iter().find(|dtype| dtype.to_string() == name);
    named.ok_or_else(|| crate::Error::new(format!("the fake trainer has no tensors of {name}")))
}

/// The strides of a contiguous tensor.
fn in_order(shape: &[i64]) -> Rc<[i64]> {
    let mut strides = vec![1; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim] * shape[dim].max(1);
    }
    strides.into()
}

pub(crate) fn count(shape: &[i64]) -> usize {
    usize::try_from(shape.iter().product::<i64>()).unwrap_or(0)
}

/// Creation.
impl FakeTensor {
    /// Returns a float32 tensor, such as a parameter of a model. Numbers are rounded to float32.
    ///
    /// # Errors
    /// The number of elements does not match the shape.
    pub fn new(numbers: &[f64], shape: &[i64]) -> Result<Self> {
        Self::of(FLOAT32, numbers, shape)
    }

    pub(crate) fn of(dtype: DataType, numbers: &[f64], shape: &[i64]) -> Result<Self> {
        let wanted = count(shape);
        crate::ensure!(
            numbers.len() == wanted,
            "{} numbers do not make a tensor of shape {shape:?}",
            numbers.len()
        );
        let mut memory = Memory::zeros(dtype, wanted)?;
        for (at, number) in numbers.iter().enumerate() {
            memory.set(at, *number);
        }
        Ok(Self::over(memory, shape))
    }

    fn over(memory: Memory, shape: &[i64]) -> Self {
        Self {
            memory: Rc::new(RefCell::new(memory)),
            shape: shape.into(),
            strides: in_order(shape),
            offset: 0,
        }
    }

    /// A view of the same memory with another shape.
    pub(crate) fn seen(&self, shape: Vec<i64>, strides: Vec<i64>, offset: usize) -> Self {
        let (shape, strides) = (shape.into(), strides.into());
        Self { memory: Rc::clone(&self.memory), shape, strides, offset }
    }
}

impl From<f64> for FakeTensor {
    /// A 0-dim tensor, such as a loss.
    fn from(number: f64) -> Self {
        Self::over(Memory::F32(vec![rounded(number)]), &[])
    }
}

impl From<Vec<f64>> for FakeTensor {
    fn from(numbers: Vec<f64>) -> Self {
        let shape = [i64::try_from(numbers.len()).unwrap_or(0)];
        Self::over(Memory::F32(numbers.into_iter().map(rounded).collect()), &shape)
    }
}

impl From<Vec<i64>> for FakeTensor {
    /// An int64 tensor, such as labels.
    fn from(numbers: Vec<i64>) -> Self {
        let shape = [i64::try_from(numbers.len()).unwrap_or(0)];
        Self::over(Memory::I64(numbers), &shape)
    }
}

impl<const N: usize> From<[f64; N]> for FakeTensor {
    fn from(numbers: [f64; N]) -> Self {
        numbers.to_vec().into()
    }
}

impl<const N: usize> From<[i64; N]> for FakeTensor {
    fn from(numbers: [i64; N]) -> Self {
        numbers.to_vec().into()
    }
}

impl<const N: usize, const M: usize> From<[[f64; M]; N]> for FakeTensor {
    /// A 2-dim tensor from rows, such as a batch's input or a model's output.
    fn from(rows: [[f64; M]; N]) -> Self {
        let shape = [N, M].map(|size| i64::try_from(size).unwrap_or(0));
        Self::over(Memory::F32(rows.concat().into_iter().map(rounded).collect()), &shape)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "tensors of 32-bit floats round what they take"
)]
fn rounded(number: f64) -> f32 {
    number as f32
}

/// Access.
impl FakeTensor {
    /// Returns the size of each dimension.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DataType {
        self.memory.borrow().dtype()
    }

    /// Returns all elements in row-major order, as doubles.
    pub fn values(&self) -> Vec<f64> {
        let memory = self.memory.borrow();
        self.places().map(|at| memory.number(at)).collect()
    }

    /// Returns all elements in row-major order, as `T`. Does not convert.
    ///
    /// # Errors
    /// The dtype is another one.
    pub fn elements<T: Element>(&self) -> Result<Vec<T>> {
        let (found, wanted) = (self.dtype(), T::DATA_TYPE);
        crate::ensure!(found == wanted, "elements are {found}, not {wanted}");
        let copy = self.copy();
        let view = copy.dl_tensor();
        Ok(view.elements::<T>().to_vec())
    }

    /// Returns the value of a tensor with one element.
    ///
    /// # Errors
    /// The tensor does not have exactly one element.
    pub fn item(&self) -> Result<f64> {
        match self.values().as_slice() {
            [number] => Ok(*number),
            _ => crate::bail!("a tensor of shape {:?} does not have a single element", self.shape),
        }
    }

    /// Returns a copy with its own memory.
    #[must_use]
    pub fn copy(&self) -> Self {
        self.map(|number| number)
    }

    /// Returns a copy as float64.
    #[must_use]
    pub fn double(&self) -> Self {
        self.map_to(FLOAT64, |number| number)
    }

    /// Applies a function to each element and returns a new tensor of the same dtype, to which the results
    /// are rounded.
    #[must_use]
    pub fn map(&self, function: impl Fn(f64) -> f64) -> Self {
        self.map_to(self.dtype(), function)
    }

    pub(crate) fn map_to(&self, dtype: DataType, function: impl Fn(f64) -> f64) -> Self {
        let values = self.values();
        let mut memory = Memory::zeros(dtype, values.len())
            .unwrap_or_else(|_| Memory::F32(vec![0.0; values.len()]));
        for (at, number) in values.into_iter().enumerate() {
            memory.set(at, function(number));
        }
        Self::over(memory, &self.shape)
    }

    /// Copies the elements of another tensor, which is expanded if necessary; every view of this memory is
    /// changed.
    ///
    /// # Errors
    /// The shapes do not match.
    pub fn assign(&self, source: &Self) -> Result<()> {
        let values = source.expanded(&self.shape)?.values();
        let places: Vec<_> = self.places().collect();
        let mut memory = self.memory.borrow_mut();
        for (at, number) in places.into_iter().zip(values) {
            memory.set(at, number);
        }
        Ok(())
    }

    /// The memory offset of each element, in row-major order.
    pub(crate) fn offsets(&self) -> Vec<usize> {
        self.places().collect()
    }

    fn places(&self) -> impl Iterator<Item = usize> + '_ {
        (0..count(&self.shape)).map(|index| self.place(index))
    }

    fn place(&self, index: usize) -> usize {
        let (mut index, mut at) = (i64::try_from(index).unwrap_or(0), 0);
        for (size, stride) in self.shape.iter().zip(self.strides.iter()).rev() {
            at += index % size * stride;
            index /= size;
        }
        self.offset + usize::try_from(at).unwrap_or(0)
    }

    pub(crate) fn strides(&self) -> &[i64] {
        &self.strides
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// Whether the tensor is contiguous.
    pub(crate) fn is_in_order(&self) -> bool {
        let ordered = in_order(&self.shape);
        let mut dims = self.shape.iter().zip(self.strides.iter().zip(ordered.iter()));
        dims.all(|(size, (stride, wanted))| *size == 1 || stride == wanted)
    }

    /// Expands dimensions of size 1 to a larger shape, without a copy.
    pub(crate) fn expanded(&self, shape: &[i64]) -> Result<Self> {
        let refusal =
            || crate::Error::new(format!("shape {:?} does not expand to {shape:?}", self.shape));
        let new = shape.len().checked_sub(self.shape.len()).ok_or_else(refusal)?;
        let (mut sizes, mut strides) = (Vec::new(), Vec::new());
        for (dim, wanted) in shape.iter().enumerate() {
            let own = dim.checked_sub(new).map(|dim| (self.shape[dim], self.strides[dim]));
            let (size, stride) = match own {
                Some((size, stride)) if size == *wanted || *wanted == -1 => (size, stride),
                Some((1, _)) | None if *wanted >= 0 => (*wanted, 0),
                _ => return Err(refusal()),
            };
            sizes.push(size);
            strides.push(stride);
        }
        Ok(self.seen(sizes, strides, self.offset))
    }

    /// The DLPack view that a hook receives; valid for as long as this tensor lives.
    pub(crate) fn dl_tensor(&self) -> crate::abi::DLTensor {
        let dtype = self.dtype();
        crate::abi::DLTensor {
            data: self.memory.borrow_mut().first(),
            device: crate::abi::DLDevice { device_type: 1, device_id: 0 },
            ndim: i32::try_from(self.shape.len()).unwrap_or(0),
            dtype,
            shape: self.shape.as_ptr(),
            strides: self.strides.as_ptr(),
            byte_offset: (self.offset * usize::from(dtype.bits) / 8) as u64,
        }
    }

    /// Returns whether both are views of one memory.
    pub fn shares_memory_with(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.memory, &other.memory)
    }
}

impl PartialEq for FakeTensor {
    /// The same dtype, shape and elements; NaN is not equal to anything.
    fn eq(&self, other: &Self) -> bool {
        self.dtype() == other.dtype()
            && self.shape == other.shape
            && self.values() == other.values()
    }
}

impl fmt::Debug for FakeTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {:?}", self.dtype(), self.shape, self.values())
    }
}
