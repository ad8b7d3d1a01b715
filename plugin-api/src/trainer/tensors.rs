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
///
/// | at | input, label | output, loss | gradients |
/// |---|---|---|---|
/// | `before_iter`, `before_train_iter` | the batch | – | absent |
/// | `on_train_forward` | the micro-batch | set here | of the micro-batches before |
/// | `after_forward`, `before_backward`, `on_iter_backward` | the micro-batch | of the micro-batch, with graph | of the micro-batches before |
/// | `after_backward` | the micro-batch | of the micro-batch | up to this micro-batch; in fp16 scaled |
/// | `before_clip_grad` | the batch | of the batch | of the batch, unscaled |
/// | `before_optimizer_step` to `after_iter` | the batch | of the batch | of the batch, clipped |
/// | an evaluation or prediction, up to its forward role | the batch | – | absent |
/// | an evaluation or prediction, `after_forward` to `after_iter` | the batch | of the batch | absent |
/// | all other points | – | – | absent |
///
/// "–" is an error that says so, and so are label and loss in a prediction. An absent gradient is skipped by
/// operations on lists. Parameters and buffers are there at every point, from `on_attach` on.
///
/// Handles of the batch are made once per iteration and tensor, however often they are asked for. They refer
/// to the tensor that was current then: at another micro-batch, or after a second forward pass, ask again. A
/// handle that is used after its iteration is an error that says so.
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

    /// Returns the input of the current batch, or of the current micro-batch inside an iteration.
    ///
    /// The handle is valid until the iteration ends; using it later is an error. [`keep`](Tensor::keep) makes
    /// one that stays valid.
    ///
    /// It is the whole batch at `before_iter` and `before_train_iter`, and from `before_clip_grad` on. On
    /// several ranks it has this rank's rows.
    ///
    /// # Errors
    /// There is no batch at this point.
    pub fn input(&self) -> Result<Tensor> {
        self.slot(SLOT_INPUT, "input")
    }

    /// Returns the label of the current batch, as [`input`](Self::input).
    ///
    /// # Errors
    /// There is no batch at this point, or the data to predict has no labels.
    pub fn label(&self) -> Result<Tensor> {
        self.slot(SLOT_LABEL, "label")
    }

    /// Returns the output of the model for the current batch, valid until the iteration ends. With
    /// micro-batches, those of all of them joined from `before_clip_grad` on.
    ///
    /// In training it has its graph up to the backward pass, which frees it; joined outputs have none. Its
    /// rows are those of [`input`](Self::input).
    ///
    /// # Errors
    /// The forward pass has not run yet. In a pipeline this rank does not have the last stage: set
    /// `ranks = "last_stage"`.
    pub fn output(&self) -> Result<Tensor> {
        self.slot(SLOT_OUTPUT, "output")
    }

    /// Returns the loss of the current batch as a scalar tensor, valid until the iteration ends. With
    /// micro-batches, that of the whole batch from `before_clip_grad` on.
    ///
    /// Reading its value with [`item`](Tensor::item) waits for the device. On several ranks it is the loss
    /// over all of them from `before_clip_grad` on, and the first call before `after_train_iter` waits for
    /// the other ranks. NaN if all labels are ignored.
    ///
    /// # Errors
    /// The forward pass has not run yet, or there is no loss, as in a prediction. In a pipeline, the loss of
    /// a micro-batch is on the last stage only.
    pub fn loss(&self) -> Result<Tensor> {
        self.slot(SLOT_LOSS, "loss")
    }

    /// Returns the denominator of the mean loss: the number of labels that are not ignored, or their total
    /// class weight; otherwise the number of rows.
    ///
    /// The loss over several batches is `Σ loss · weight / Σ weight`. 0 if all labels are ignored; the loss
    /// is then NaN. Waits for the device if the labels are not on the CPU. A host older than this extension
    /// returns the number of rows.
    ///
    /// Goes through the labels, unless each counts as one. In training it is that over all ranks from
    /// `before_clip_grad` on; in an evaluation that of this rank's batch. 0 on a rank without the last stage
    /// of a pipeline while micro-batches run, and in an evaluation.
    ///
    /// # Errors
    /// There is no label at this point, or the data to predict has no labels.
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer rows than 2^53")]
    pub fn loss_weight(&self) -> Result<f64> {
        Ok(self.host.loss_weight()?.unwrap_or(self.batch_size() as f64))
    }

    /// Returns the total norm of all gradients as a scalar tensor; from `before_optimizer_step` on, the norm
    /// before clipping by `train.clip_grad_norm`.
    ///
    /// Its order is `train.clip_grad_norm_type`, by default 2. Computed by clipping or by the first call,
    /// with one call for all gradients, and kept until the next backward pass or clipping: a hook that
    /// changes gradients in place does not change it. If `train.clip_grad_norm` is not set, a call from
    /// `before_optimizer_step` on computes it anew, of the gradients as `train.clip_grad_value` has left
    /// them. In fp16 the gradients are scaled until `before_clip_grad`. Reading its value with
    /// [`item`](Tensor::item) waits for the device. 0 if there is no gradient.
    ///
    /// # Errors
    /// In a pipeline it is not available before `before_optimizer_step`.
    pub fn grad_norm(&self) -> Result<Tensor> {
        self.slot(SLOT_GRAD_NORM, "gradient norm")
    }

    /// Returns the parameters of the model, in a fixed order. The handles are valid for the whole run; the
    /// list itself is borrowed.
    ///
    /// Frozen ones are among them. The tensors are the model's own: they change with each step, and
    /// [`keep`](Tensor::keep) is not a copy. [`clone_detached`](crate::tensor::AsTensors::clone_detached)
    /// copies them.
    pub fn params(&self) -> Tensors<'_> {
        self.list(LIST_PARAMS)
    }

    /// Returns the gradients, in the order of [`params`](Self::params), valid until the iteration ends.
    ///
    /// The gradient of a frozen parameter, and every gradient before the first backward pass, is absent; list
    /// operations skip absent tensors. At the end of an iteration all gradients are set to none: outside of
    /// an iteration all are absent.
    ///
    /// The first call after a backward pass looks for the gradient of every parameter, later ones only for
    /// those that were absent. Inside an iteration the gradients are those so far of the micro-batches, of
    /// this rank, and in fp16 times the loss scale; from `before_clip_grad` on they are those of the whole
    /// batch on all ranks, from `before_optimizer_step` on clipped.
    pub fn grads(&self) -> Tensors<'_> {
        self.list(LIST_GRADS)
    }

    /// Returns the buffers of the model, such as the running statistics of batch norms. Valid for the whole
    /// run.
    ///
    /// To change one declare `mutates = "params"`. On several ranks each has its own statistics during
    /// training; those of rank 0 are used in evaluations.
    pub fn buffers(&self) -> Tensors<'_> {
        self.list(LIST_BUFFERS)
    }

    /// Returns the names of the parameters, in the order of [`params`](Self::params). Allocates: call it
    /// once.
    pub fn param_names(&self) -> Result<Vec<String>> {
        self.names(LIST_PARAMS)
    }

    /// Returns the names of the buffers, in the order of [`buffers`](Self::buffers). Allocates: call it once.
    pub fn buffer_names(&self) -> Result<Vec<String>> {
        self.names(LIST_BUFFERS)
    }

    /// Looks up an operator of libtorch by name, such as `aten::lerp_.Scalar`. Keep the result, or use a
    /// [`CachedOp`]: the lookup is slow.
    ///
    /// The result is valid for the life of the process.
    ///
    /// # Errors
    /// This libtorch has no operator of that name.
    pub fn op(&self, name: &str) -> Result<Op> {
        Op::find(self.host, name)
    }

    /// Calls an operator, which is looked up at its first call in the process.
    ///
    /// Arguments are in the order of the operator's schema; trailing ones with defaults can be omitted. Each
    /// tensor in the result belongs to the caller.
    ///
    /// # Errors
    /// The operator does not exist, an argument has the wrong kind, or libtorch returned an error; the
    /// message names the operator and the shapes. The operator writes to a tensor of the run that `mutates`
    /// does not cover, or would resize one or replace its memory.
    pub fn call(&self, op: &CachedOp, args: &[Arg<'_>]) -> Result<Returned> {
        op.call(self.host, args)
    }

    /// Returns a new tensor on the CPU with these elements, in row-major order. Copies them;
    /// [`to_device`](Tensor::to_device) moves it.
    ///
    /// # Errors
    /// `shape` does not have as many elements.
    pub fn tensor<T: crate::view::Element>(&self, elements: &[T], shape: &[i64]) -> Result<Tensor> {
        let view = crate::abi::DLTensor::lend(elements, shape)?;
        Ok(Tensor::owned(self.host, self.host.from_view(&view)?))
    }
}
