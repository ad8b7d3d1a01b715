//! The tensors of the iteration and of the model.

use super::Trainer;
use crate::abi::{
    LIST_BUFFERS, LIST_GRADS, LIST_PARAMS, SLOT_GRAD_NORM, SLOT_INPUT, SLOT_LABEL, SLOT_LOSS,
    SLOT_OUTPUT,
};
use crate::error::{Error, Result};
use crate::op::{Arg, CachedOp, Op, Returned};
use crate::tensor::{AsTensors, Tensor, Tensors};

/// The tensors of the iteration and of the model, and operators of libtorch.
impl Trainer {
    fn slot(&self, slot: u32, name: &str) -> Result<Tensor> {
        match self.host.slot(slot)? {
            Some(id) => Ok(Tensor::borrowed(self.host, id)),
            None => Err(Error::new(format!("no {name} is available at this point"))),
        }
    }

    fn list(&self, list: u32) -> Tensors<'_> {
        Tensors::new(self.host, self.host.list(list).unwrap_or(&[]))
    }

    fn names(&self, list: u32) -> Result<Vec<String>> {
        (0..self.list(list).len()).map(|index| self.host.name(list, index)).collect()
    }

    /// The input of the current batch, or of the current micro-batch inside an iteration.
    ///
    /// The handle is valid until the iteration ends; using it later is an error. [`keep`](Tensor::keep) makes one that stays valid.
    ///
    /// # Errors
    /// There is no batch at this point.
    pub fn input(&self) -> Result<Tensor> {
        self.slot(SLOT_INPUT, "input")
    }

    /// The label of the current batch, as [`input`](Self::input).
    ///
    /// # Errors
    /// There is no batch at this point, or the data to predict has no labels.
    pub fn label(&self) -> Result<Tensor> {
        self.slot(SLOT_LABEL, "label")
    }

    /// The output of the model for the current batch, valid until the iteration ends. With micro-batches, those of all of them joined from `before_clip_grad` on.
    ///
    /// # Errors
    /// The forward pass has not run yet.
    pub fn output(&self) -> Result<Tensor> {
        self.slot(SLOT_OUTPUT, "output")
    }

    /// The loss of the current batch as a scalar tensor, valid until the iteration ends. With micro-batches, that of the whole batch from `before_clip_grad` on.
    ///
    /// Reading its value with [`item`](Tensor::item) waits for the device.
    ///
    /// # Errors
    /// The forward pass has not run yet, or there is no loss, as in a prediction.
    pub fn loss(&self) -> Result<Tensor> {
        self.slot(SLOT_LOSS, "loss")
    }

    /// The denominator of the mean loss: the number of labels that are not ignored, or their total class weight; otherwise the number of rows.
    ///
    /// The loss over several batches is `Σ loss · weight / Σ weight`. 0 if all labels are ignored; the loss is then NaN. Waits for the device if the labels are not on the CPU.
    /// A host older than this extension returns the number of rows.
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer rows than 2^53")]
    pub fn loss_weight(&self) -> Result<f64> {
        Ok(self.host.loss_weight()?.unwrap_or(self.batch_size() as f64))
    }

    /// The total norm of all gradients as a scalar tensor; from `before_optimizer_step` on, the norm before clipping.
    ///
    /// Computed at most once per iteration, by clipping or by the first call, with one call for all gradients. Reading its value with [`item`](Tensor::item) waits for the device.
    pub fn grad_norm(&self) -> Result<Tensor> {
        self.slot(SLOT_GRAD_NORM, "gradient norm")
    }

    /// The parameters of the model, in a fixed order. The handles are valid for the whole run; the list itself is borrowed.
    pub fn params(&self) -> Tensors<'_> {
        self.list(LIST_PARAMS)
    }

    /// The gradients, in the order of [`params`](Self::params), valid until the iteration ends.
    ///
    /// The gradient of a frozen parameter, and every gradient before the first backward pass, is absent; list operations skip absent tensors.
    pub fn grads(&self) -> Tensors<'_> {
        self.list(LIST_GRADS)
    }

    /// The buffers of the model, such as the running statistics of batch norms. Valid for the whole run.
    pub fn buffers(&self) -> Tensors<'_> {
        self.list(LIST_BUFFERS)
    }

    /// The names of the parameters, in the order of [`params`](Self::params). Allocates: call it once.
    pub fn param_names(&self) -> Result<Vec<String>> {
        self.names(LIST_PARAMS)
    }

    /// The names of the buffers, in the order of [`buffers`](Self::buffers). Allocates: call it once.
    pub fn buffer_names(&self) -> Result<Vec<String>> {
        self.names(LIST_BUFFERS)
    }

    /// Looks up an operator of libtorch by name, such as `aten::lerp_.Scalar`. Keep the result, or use a [`CachedOp`]: the lookup is slow.
    ///
    /// # Errors
    /// This libtorch has no operator of that name.
    pub fn op(&self, name: &str) -> Result<Op> {
        Op::find(self.host, name)
    }

    /// Calls an operator, which is looked up at its first call in the process.
    ///
    /// # Errors
    /// The operator does not exist, an argument has the wrong kind, or libtorch returned an error; the message names the operator and the shapes.
    pub fn call(&self, op: &CachedOp, args: &[Arg<'_>]) -> Result<Returned> {
        op.call(self.host, args)
    }

    /// A new tensor on the CPU with these elements, in row-major order. Copies them; [`to_device`](Tensor::to_device) moves it.
    ///
    /// # Errors
    /// `shape` does not have as many elements.
    pub fn tensor<T: crate::view::Element>(&self, elements: &[T], shape: &[i64]) -> Result<Tensor> {
        let view = crate::abi::DLTensor::lend(elements, shape)?;
        Ok(Tensor::owned(self.host, self.host.from_view(&view)?))
    }
}
