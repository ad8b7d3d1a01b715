//! A list of tensors that lives in C++, built once and passed to list operators without copying.

use std::fmt;

use tch::Tensor;
use torch_sys::C_tensor;

use super::ffi;
use super::ffi::RawList;

/// Handles to tensors, in order. Pushing or cloning shares the tensors' memory.
pub struct TensorList {
    raw: *mut RawList,
}

// SAFETY: owns its handles, as a vector of `Tensor` would, and `Tensor` is `Send`.
unsafe impl Send for TensorList {}

impl TensorList {
    /// An empty list with room for `room` tensors.
    pub fn with_capacity(room: usize) -> Self {
        // SAFETY: takes a number, hands over a new list; the shim ends the process when memory is out.
        Self { raw: unsafe { ffi::hrt_list_new(room) } }
    }

    /// Takes ownership of a list that the shim created.
    ///
    /// # Safety
    /// `raw` is not null, came from the shim and has no other owner.
    pub(super) unsafe fn from_raw(raw: *mut RawList) -> Self {
        Self { raw }
    }

    /// The number of tensors.
    pub fn len(&self) -> usize {
        // SAFETY: `raw` lives as long as `self`.
        unsafe { ffi::hrt_list_len(self.raw) }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a handle to `tensor` at the end.
    pub fn push(&mut self, tensor: &Tensor) {
        // SAFETY: both live until the call returns; the shim copies the handle.
        unsafe { ffi::hrt_list_push(self.raw, tensor.as_ptr()) };
    }

    /// Drops the handles, keeps the capacity.
    pub fn clear(&mut self) {
        // SAFETY: `raw` lives as long as `self`.
        unsafe { ffi::hrt_list_clear(self.raw) };
    }

    /// A new handle to one tensor.
    pub fn tensor(&self, index: usize) -> Option<Tensor> {
        let pointer = self.pointer(index)?;
        // SAFETY: `pointer` is a live tensor of this list; a handle of its own is made.
        Some(unsafe { Tensor::clone_from_ptr(pointer) })
    }

    /// The tensor at `index` as the shim and `tch` point to it: borrowed, valid until the list changes.
    pub fn pointer(&self, index: usize) -> Option<*mut C_tensor> {
        // SAFETY: `raw` lives as long as `self`; out of range gives null.
        let pointer = unsafe { ffi::hrt_list_at(self.raw, index) };
        (!pointer.is_null()).then_some(pointer)
    }

    /// A new handle to each tensor in turn.
    pub fn iter(&self) -> impl Iterator<Item = Tensor> + '_ {
        (0..self.len()).filter_map(|index| self.tensor(index))
    }

    /// The list as the shim points to it: borrowed, valid while `self` lives.
    pub fn as_raw(&self) -> *mut RawList {
        self.raw
    }
}

impl Default for TensorList {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl Clone for TensorList {
    fn clone(&self) -> Self {
        let mut copy = Self::with_capacity(self.len());
        copy.extend(self.iter());
        copy
    }
}

impl Extend<Tensor> for TensorList {
    fn extend<I: IntoIterator<Item = Tensor>>(&mut self, tensors: I) {
        for tensor in tensors {
            self.push(&tensor);
        }
    }
}

impl<'a> FromIterator<&'a Tensor> for TensorList {
    fn from_iter<I: IntoIterator<Item = &'a Tensor>>(tensors: I) -> Self {
        let mut list = Self::default();
        for tensor in tensors {
            list.push(tensor);
        }
        list
    }
}

impl FromIterator<Tensor> for TensorList {
    fn from_iter<I: IntoIterator<Item = Tensor>>(tensors: I) -> Self {
        let mut list = Self::default();
        list.extend(tensors);
        list
    }
}

impl fmt::Debug for TensorList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

impl Drop for TensorList {
    fn drop(&mut self) {
        // SAFETY: made by the shim for `self`, freed once.
        unsafe { ffi::hrt_list_free(self.raw) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_share_memory_and_out_of_range_is_none() {
        let mut first = Tensor::from_slice(&[1.0_f32]);
        let list: TensorList = [first.shallow_clone()].into_iter().collect();
        let _ = first.fill_(7.0);
        assert_eq!(list.len(), 1);
        assert_eq!(list.tensor(0).unwrap().double_value(&[0]).to_bits(), 7.0_f64.to_bits());
        assert!(list.tensor(1).is_none());
        assert_eq!(list.clone().len(), 1);
    }
}
