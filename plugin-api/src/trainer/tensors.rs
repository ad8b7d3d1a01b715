//! The tensors of the iteration and of the model.

use super::Trainer;
use crate::abi::{
    LIST_BUFFERS, LIST_GRADS, LIST_PARAMS, SLOT_GRAD_NORM, SLOT_INPUT, SLOT_LABEL, SLOT_LOSS,
    SLOT_OUTPUT,
};
use crate::error::{Error, Result};
use crate::op::{Arg, CachedOp, Op, Returned};
use crate::tensor::{AsTensors, Tensor, Tensors};

/// Tensors.
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

    /// The current batch's input.
    pub fn input(&self) -> Result<Tensor> {
        self.slot(SLOT_INPUT, "input")
    }

    /// The current batch's label.
    pub fn label(&self) -> Result<Tensor> {
        self.slot(SLOT_LABEL, "label")
    }

    /// What the model made of the input.
    pub fn output(&self) -> Result<Tensor> {
        self.slot(SLOT_OUTPUT, "output")
    }

    /// The loss.
    pub fn loss(&self) -> Result<Tensor> {
        self.slot(SLOT_LOSS, "loss")
    }

    /// What the mean of the loss is taken over: how many labels count, or what they weigh together; the rows where each
    /// counts as one. Losses of batches, weighed by it, make the loss of all of them: `Σ loss · weight / Σ weight`. 0 where
    /// no label counts, and the loss is NaN. Waits for the device where labels are not on the CPU. A host that is too old
    /// to say gives the rows.
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer rows than 2^53")]
    pub fn loss_weight(&self) -> Result<f64> {
        Ok(self.host.loss_weight()?.unwrap_or(self.batch_size() as f64))
    }

    /// The norm of all gradients together, before clipping.
    pub fn grad_norm(&self) -> Result<Tensor> {
        self.slot(SLOT_GRAD_NORM, "gradient norm")
    }

    /// The model's parameters.
    pub fn params(&self) -> Tensors<'_> {
        self.list(LIST_PARAMS)
    }

    /// Their gradients, in the same order.
    pub fn grads(&self) -> Tensors<'_> {
        self.list(LIST_GRADS)
    }

    /// What the model keeps beside its parameters.
    pub fn buffers(&self) -> Tensors<'_> {
        self.list(LIST_BUFFERS)
    }

    /// The parameters' names, in their order.
    pub fn param_names(&self) -> Result<Vec<String>> {
        self.names(LIST_PARAMS)
    }

    /// The buffers' names, in their order.
    pub fn buffer_names(&self) -> Result<Vec<String>> {
        self.names(LIST_BUFFERS)
    }

    /// An operator of libtorch by name, such as `aten::lerp_.Scalar`. Find once, call often.
    pub fn op(&self, name: &str) -> Result<Op> {
        Op::find(self.host, name)
    }

    /// Calls an operator with a fixed name, which is looked up at the first call of the process.
    pub fn call(&self, op: &CachedOp, args: &[Arg<'_>]) -> Result<Returned> {
        op.call(self.host, args)
    }

    /// A new tensor from rows of numbers; `shape` multiplied is their count.
    pub fn tensor<T: crate::view::Element>(&self, elements: &[T], shape: &[i64]) -> Result<Tensor> {
        let view = crate::abi::DLTensor::lend(elements, shape)?;
        Ok(Tensor::owned(self.host, self.host.from_view(&view)?))
    }
}
