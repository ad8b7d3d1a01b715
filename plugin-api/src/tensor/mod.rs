//! Handles to tensors that the host keeps, single ones and lists.

mod arithmetic;
mod index;
mod list;
mod methods;
mod read;

pub use arithmetic::Operand;
pub use index::{Index, Indices};
pub use list::{AsTensors, TensorList, Tensors};
pub use methods::ops;

use crate::abi::{Host, HrTensor};
use crate::error::Result;
use crate::view::View;

/// A handle to a tensor that the host keeps.
///
/// Handles of the current batch are valid until the iteration ends, those of parameters and buffers for the
/// whole run. Using an invalid handle is an error, never undefined behavior. A tensor returned by an
/// operation belongs to the caller and is freed when the handle is dropped.
///
/// Creating, passing and dropping a handle costs a few nanoseconds and copies nothing. A handle that is kept in
/// a field keeps the tensor's memory, and if gradients were recorded its whole graph: keep a
/// [copy](Self::clone_detached) or a [detached](Self::detach) one. The log has a warning when hooks hold
/// 100,000 tensors.
///
/// # What belongs to the run
/// Parameters, buffers, gradients, the batch, its output and its loss can be changed in place only by a hook
/// that [declares it](crate::Trainer#what-a-hook-may-change). A tensor that shares memory with one of them
/// counts as that one: a view, what [`detach`](Self::detach) and [`keep`](Self::keep) return, what a hook
/// [shares](crate::Trainer::state_tensor), and also the result of an operator that copies only if necessary,
/// such as [`contiguous`](Self::contiguous), [`reshape`](Self::reshape) and [`to_dtype`](Self::to_dtype),
/// whether it has copied or not. Any other result, such as that of [`clone_detached`](Self::clone_detached),
/// is the hook's own. [Outputs of layers](crate::Trainer::layer_output) cannot be changed at all.
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

    /// A handle that must be released, or none.
    pub(crate) fn owned_or_absent(host: Host, id: HrTensor) -> Self {
        Self { host, id, owned: id != HrTensor::NONE }
    }

    pub(crate) fn borrowed(host: Host, id: HrTensor) -> Self {
        Self { host, id, owned: false }
    }

    /// Returns the handle, for direct calls through the ABI. It is valid as long as this one.
    pub fn id(&self) -> HrTensor {
        self.id
    }

    /// Returns whether there is no tensor, as for the gradient of a frozen parameter. Not a call. Operations
    /// on lists skip an absent tensor; any other use of it is an error.
    pub fn is_absent(&self) -> bool {
        self.id == HrTensor::NONE
    }

    /// Returns the value of a tensor with one element. Copies it, which waits for the device.
    /// [`item_as`](Self::item_as) returns other types than `f64`.
    ///
    /// On a GPU the wait is for everything that was started before, such as the forward pass: in every
    /// iteration it costs the overlap of host and device. On the CPU there is nothing to wait for.
    ///
    /// # Errors
    /// The tensor does not have exactly one element.
    pub fn item(&self) -> Result<f64> {
        self.host.item(self.id)
    }

    /// Returns a handle to the same tensor that stays valid until it is dropped, also after the iteration.
    /// Not a copy.
    ///
    /// The memory stays allocated, and a later change of the tensor in place is seen. For values that must
    /// not change, use [`clone_detached`](Self::clone_detached).
    ///
    /// # Errors
    /// The handle is no longer valid, or there is no tensor.
    pub fn keep(&self) -> Result<Tensor> {
        Ok(Self::owned(self.host, self.host.keep(self.id)?))
    }

    /// Borrows the tensor's memory for reading, without a copy, until the current point returns.
    ///
    /// The borrow is a mutable one, so that no operator can resize the tensor or write to it while its memory
    /// is read:
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
    /// The host protects other handles of the same tensor: until the current point returns, it rejects operators
    /// that would resize or replace borrowed memory. It does not reject in-place writes: read the values first.
    ///
    /// # Errors
    /// The tensor is not on the CPU, or has no memory that can be read in place, such as a sparse
    /// one.
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
