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
///
/// A handle belongs to the training thread, as everything that a [`Trainer`](crate::Trainer) returns:
///
/// ```compile_fail,E0277
/// # use hookrack_plugin_api::prelude::*;
/// fn in_a_thread(loss: Tensor) {
///     std::thread::spawn(move || loss.item()); // `*const ()` cannot be sent between threads safely
/// }
/// ```
///
/// Copy the numbers and send those: `let loss = t.loss()?.item()?`.
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
    /// The borrow is a mutable one, so that no operator can resize the tensor or write to it while its memory is read:
    ///
    /// ```compile_fail,E0502
    /// # use hookrack_plugin_api::prelude::*;
    /// fn stale(t: &Trainer, x: &mut Tensor) -> Result<f32> {
    ///     let view = x.view()?;
    ///     t.op("aten::resize_")?.run(&[Arg::from(&*x), Arg::from([1_000_000].as_slice())])?;
    ///     Ok(view.elements::<f32>()?[0]) // immutable borrow while `x` is borrowed mutably
    /// }
    /// ```
    ///
    /// Other handles of the same tensor are the host's concern: until the current point returns, it refuses operators that would resize or replace memory that
    /// was borrowed.
    ///
    /// # Errors
    /// The tensor is not on the CPU.
    pub fn view(&mut self) -> Result<View<'_>> {
        let raw = self.host.view(self.id, 0)?;
        View::new(self, raw)
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
