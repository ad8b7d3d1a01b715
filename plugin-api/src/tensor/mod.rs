//! Tensors that the host keeps, by handle: one, or a whole list at a time.

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

/// One tensor.
///
/// The current batch's tensors are valid until the iteration ends; a later use is an error, not a crash. Tensors that
/// a hook makes are its own until dropped.
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

    /// The handle, for calls of your own through the tables.
    pub fn id(&self) -> HrTensor {
        self.id
    }

    /// Whether there is none: the gradient of a parameter that took no part.
    pub fn is_absent(&self) -> bool {
        self.id == HrTensor::NONE
    }

    /// The single number in it. Waits for the device. [`item_as`](Self::item_as) gives another type than `f64`.
    pub fn item(&self) -> Result<f64> {
        self.host.item(self.id)
    }

    /// The same tensor under a handle that is yours, valid beyond the iteration. No copy.
    pub fn keep(&self) -> Result<Tensor> {
        Ok(Self::owned(self.host, self.host.keep(self.id)?))
    }

    /// Its memory, to read. No copy; the tensor must be on the CPU and its elements in order.
    pub fn view(&self) -> Result<View<'_>> {
        View::new(self, self.host.view(self.id, 0)?)
    }

    /// The handle, no longer this value's to release.
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
