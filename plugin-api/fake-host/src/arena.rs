//! Tensors as vectors, each under one or more handles.

use hookrack_plugin_api::abi::{DLDevice, DLTensor, DataType, HrTensor};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A tensor's contents.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Floats, with the size of each dimension.
    F32(Vec<f32>, Vec<i64>),
    /// Whole numbers, with the size of each dimension.
    I64(Vec<i64>, Vec<i64>),
}

impl Data {
    /// A row of floats.
    pub fn floats(numbers: &[f32]) -> Self {
        Self::F32(numbers.to_vec(), vec![i64::try_from(numbers.len()).unwrap_or(i64::MAX)])
    }

    /// A row of whole numbers.
    pub fn ints(numbers: &[i64]) -> Self {
        Self::I64(numbers.to_vec(), vec![i64::try_from(numbers.len()).unwrap_or(i64::MAX)])
    }
}

/// All tensors by handle. Two handles may lead to the same tensor.
#[derive(Default)]
pub(crate) struct Arena {
    tensors: HashMap<u64, Rc<RefCell<Data>>>,
    made: u64,
}

impl Arena {
    pub(crate) fn add(&mut self, data: Data) -> HrTensor {
        self.insert(Rc::new(RefCell::new(data)))
    }

    fn insert(&mut self, tensor: Rc<RefCell<Data>>) -> HrTensor {
        self.made += 1;
        self.tensors.insert(self.made, tensor);
        HrTensor(self.made)
    }

    pub(crate) fn find(&self, id: HrTensor) -> Result<Rc<RefCell<Data>>, String> {
        self.tensors.get(&id.0).cloned().ok_or_else(|| format!("there is no tensor {}", id.0))
    }

    pub(crate) fn keep(&mut self, id: HrTensor) -> Result<HrTensor, String> {
        let tensor = self.find(id)?;
        Ok(self.insert(tensor))
    }

    pub(crate) fn release(&mut self, id: HrTensor) {
        self.tensors.remove(&id.0);
    }

    /// The contents; an empty row for a handle that is not alive.
    pub(crate) fn data(&self, id: HrTensor) -> Data {
        self.find(id).map_or(Data::floats(&[]), |tensor| tensor.borrow().clone())
    }

    pub(crate) fn set(&mut self, id: HrTensor, data: Data) {
        if let Ok(tensor) = self.find(id) {
            *tensor.borrow_mut() = data;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.tensors.len()
    }

    /// A view of the memory; valid until the tensor is set or released.
    pub(crate) fn view(&self, id: HrTensor) -> Result<DLTensor, String> {
        let tensor = self.find(id)?;
        let tensor = tensor.borrow();
        let (data, shape, code, bits) = match &*tensor {
            Data::F32(numbers, shape) => (numbers.as_ptr().cast_mut().cast(), shape, 2, 32),
            Data::I64(numbers, shape) => (numbers.as_ptr().cast_mut().cast(), shape, 0, 64),
        };
        let mut strides = vec![1; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i] * shape[i];
        }
        Ok(DLTensor {
            data,
            device: DLDevice { device_type: 1, device_id: 0 },
            ndim: i32::try_from(shape.len()).unwrap_or(0),
            dtype: DataType { code, bits, lanes: 1 },
            shape: shape.as_ptr(),
            strides: strides.leak().as_ptr(),
            byte_offset: 0,
        })
    }
}
