//! Handles to tensors that the host keeps, single ones and lists.

mod arithmetic;
mod list;
mod methods;
mod read;

pub use arithmetic::Operand;
pub use list::{AsTensors, TensorList, Tensors};
pub use methods::ops;

use crate::abi::{Host, HrTensor};
use crate::error::Result;
use crate::view::View;

/// A handle to a tensor that the host keeps.
///
/// Handles of the current batch are valid until the iteration ends, those of parameters and buffers for the whole run. Using an invalid handle is an error, never
/// undefined behaviour. A tensor returned by an operation belongs to the caller and is freed when the handle is dropped.
pub struct Tensor {
    host: Host,
    id: HrTensor,
    owned: bool,
}

impl Tensor {
    pub(crate) fn owned(host: Host, id: HrTensor) -> Self {
        Self { host, id, owned: true }
    }

    pub(crate) fn borrowed(host: Host, id: HrTensor) -> Self {
        Self { host, id, owned: false }
    }

    /// The handle, for direct calls through the ABI.
    pub fn id(&self) -> HrTensor {
        self.id
    }

    /// Whether there is no tensor, as for the gradient of a frozen parameter.
    pub fn is_absent(&self) -> bool {
        self.id == HrTensor::NONE
    }

    /// The value of a tensor with one element. Copies it, which waits for the device. [`item_as`](Self::item_as) returns other types than `f64`.
    ///
    /// # Errors
    /// The tensor does not have exactly one element.
    pub fn item(&self) -> Result<f64> {
        self.host.item(self.id)
    }

    /// A handle to the same tensor that stays valid until it is dropped, also after the iteration. Not a copy.
    pub fn keep(&self) -> Result<Tensor> {
        Ok(Self::owned(self.host, self.host.keep(self.id)?))
    }

    /// Borrows the tensor's memory for reading, without a copy, until the current point returns.
    ///
    /// # Errors
    /// The tensor is not on the CPU.
    pub fn view(&self) -> Result<View<'_>> {
        View::new(self, self.host.view(self.id, 0)?)
    }

    /// The handle, which the caller must release.
    pub(crate) fn into_id(mut self) -> HrTensor {
        self.owned = false;
        self.id
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        if self.owned {
            self.host.release(&[self.id]);
        }
    }
}
