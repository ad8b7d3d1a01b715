//! The steps of training, for hooks with a role.

use super::Trainer;
use crate::abi::{SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT};
use crate::error::Result;
use crate::phase::Phase;
use crate::tensor::Tensor;

/// The steps of training. A hook with a role calls them in place of the built-in main hook.
///
/// They are allowed while the hook is called in any role. At other points the hook must declare what they
/// change; the error names the word:
///
/// | method | a word of `mutates` |
/// |---|---|
/// | [`forward`](Self::forward) | `output` |
/// | [`criterion`](Self::criterion) | `loss` |
/// | [`backward`](Self::backward) | `grads` |
/// | [`optimizer_step`](Self::optimizer_step) | `params` |
/// | [`lr_step`](Self::lr_step), [`set_lr`](Self::set_lr), [`set_group_lr`](Self::set_group_lr) | `lr` |
/// | [`count_lr_by_epoch`](Self::count_lr_by_epoch) | `lr` or `params` |
///
/// [`model`](Self::model), [`train_forward`](Self::train_forward) and [`criterion_of`](Self::criterion_of)
/// need none.
///
/// What runs the model takes as long as the model. On several ranks a backward pass meets the other ranks,
/// and so does a forward pass in training with `distributed.sync_batch_norm`: all of them must make it, and
/// in a hook that does not run on all ranks it is an error.
impl Trainer {
    /// Runs the model on the current input and sets the output.
    ///
    /// In training it runs in training mode and records gradients, in other phases in evaluation mode without
    /// them. In a pipeline it runs this rank's stage on what the stage before has sent, once for each
    /// micro-batch.
    ///
    /// # Errors
    /// There is no batch at this point. In training, another hook has the forward role, which this would
    /// bypass: call [`train_forward`](Self::train_forward) to run that hook, or [`model`](Self::model) to run
    /// only the model. Or libtorch returned an error, such as that the input has another shape than the model
    /// takes.
    pub fn forward(&mut self) -> Result<()> {
        self.host.forward()
    }

    /// Runs the model on the current input and sets the loss to what `loss` computes from output and label: a
    /// whole forward role for a custom loss.
    ///
    /// In a prediction, which has neither label nor loss, only the model is run.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward) and [`set_loss`](Self::set_loss); or `loss` returns an error.
    pub fn forward_with_loss(
        &mut self,
        loss: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>,
    ) -> Result<()> {
        self.forward()?;
        if self.phase() == Phase::Pred {
            return Ok(());
        }
        let loss = loss(&self.output()?, &self.label()?)?;
        self.set_loss(&loss)
    }

    /// Runs the model on any input and returns its output; the current output does not change.
    ///
    /// Gradients are recorded in the training phase, at every point, and not in other phases: whether they
    /// are recorded at this point does not matter. [`forward_in`](Self::forward_in) runs it without gradients
    /// in every phase. In training it runs in training mode, which updates running statistics and draws the
    /// numbers of dropout. The output belongs to the caller and keeps its graph until it is dropped.
    ///
    /// # Errors
    /// The model does not take the input, or this rank has a stage of a pipeline. In training with
    /// `distributed.sync_batch_norm`, the hook does not run on all ranks.
    pub fn model(&self, input: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.model(input.id())?))
    }

    /// Runs the training forward pass on the current batch again, through the hook that has that role, with
    /// gradient recording on, and sets output and loss.
    ///
    /// For a second pass within an iteration, such as in sharpness-aware minimization. Other hooks are not
    /// called, at the points around the role either. Handles of the previous output and loss stay valid until
    /// the iteration ends.
    ///
    /// # Errors
    /// The phase is not training, there is no batch at this point, the hook in the role failed, or it is the
    /// caller itself. In a pipeline there is no second pass. Needs a host of plugin-api 1.2.
    pub fn train_forward(&mut self) -> Result<()> {
        self.host.train_forward()
    }

    /// Computes the configured loss of the current output and label and sets the loss. A prediction has no
    /// label.
    ///
    /// In a pipeline it does nothing on a rank that does not have the last stage.
    ///
    /// # Errors
    /// The config has no `[loss]`, there is no output or label, or the loss does not take them; in training,
    /// as for [`forward`](Self::forward).
    pub fn criterion(&mut self) -> Result<()> {
        self.host.criterion()
    }

    /// Returns the configured loss of any output and label; the current loss does not change. Gradients are
    /// recorded.
    ///
    /// For a loss with several terms: mixed labels, a second head, an additional term. The result belongs to
    /// the caller.
    ///
    /// # Errors
    /// The config has no `[loss]`, or it does not take these tensors. Needs a host of plugin-api 1.2.
    pub fn criterion_of(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.criterion_of(output.id(), label.id())?))
    }

    /// Computes the gradients of the loss and adds them to those of the parameters.
    ///
    /// In `on_iter_backward` the micro-batch is weighted by its share of the batch. From `before_clip_grad`
    /// on, the current tensors are those of the whole batch, and so is the gradient, unscaled also in fp16.
    /// After clipping, the limits of `train.clip_grad_*` are applied again by
    /// [`optimizer_step`](Self::optimizer_step), which in fp16 is skipped if a gradient is not finite.
    ///
    /// Frees the graph of the loss: a further pass needs a new [`train_forward`](Self::train_forward).
    /// Handles from [`grads`](Self::grads) may be outdated afterwards: ask again. Adds nothing if the labels
    /// of all ranks are ignored. On several ranks the gradients of the last micro-batch are summed over all
    /// ranks meanwhile.
    ///
    /// # Errors
    /// There is no loss, or it does not depend on a parameter. The hook does not run on all ranks. On several
    /// ranks, a parameter that is trained received no gradient.
    pub fn backward(&mut self) -> Result<()> {
        self.host.backward()
    }

    /// Updates the parameters with their gradients. The gradients stay until the iteration ends.
    ///
    /// Parameters without a gradient do not change. In fp16 it does nothing if a gradient of this
    /// iteration was not finite. After a further [`backward`](Self::backward) it clips first. With
    /// `optimizer.shard` the ranks exchange what each has updated.
    pub fn optimizer_step(&mut self) -> Result<()> {
        self.host.optimizer_step()
    }

    /// Advances the configured schedule and sets the learning rates of all groups.
    ///
    /// A schedule that counts iterations does not advance if the optimizer's step was skipped in fp16.
    pub fn lr_step(&mut self) -> Result<()> {
        self.host.lr_step()
    }

    /// Makes the configured schedule count epochs or iterations, overriding the config. Call it at
    /// `before_run`.
    ///
    /// # Errors
    /// The schedule has already started, or cannot be rebuilt from the config. Needs a host of plugin-api
    /// 1.1.
    pub fn count_lr_by_epoch(&mut self, by_epoch: bool) -> Result<()> {
        self.host.count_lr_by_epoch(by_epoch)
    }

    /// Replaces the input of the whole batch, at `before_iter` and `before_train_iter` (`before_eval_iter`,
    /// …), before it is split into micro-batches. A role runs the model on another input with
    /// [`model`](Self::model).
    ///
    /// The tensor is not copied: a later change in place changes the batch. It may have another shape or
    /// dtype, on the device of the model. On several ranks each rank sets its own rows, and only some of them
    /// may do so. Handles of the previous input stay valid until the iteration ends.
    ///
    /// # Errors
    /// The call is made at another point, there is no batch, the number of rows differs, or the hook does not
    /// declare `mutates = "input"`. A host before plugin-api 1.2 refuses it.
    pub fn set_input(&mut self, input: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_INPUT, input.id())
    }

    /// Replaces the label of the batch, as [`set_input`](Self::set_input). At `before_train_iter` the new
    /// labels determine the weight of each micro-batch.
    ///
    /// # Errors
    /// As for [`set_input`](Self::set_input), with `mutates = "label"`; or the batch has no label, as in a
    /// prediction.
    pub fn set_label(&mut self, label: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_LABEL, label.id())
    }

    /// Sets the output; only in a role. Not a copy.
    ///
    /// In training it should lead back to the parameters: a backward pass from a tensor without a graph is an
    /// error.
    ///
    /// # Errors
    /// The caller is not called as a role.
    pub fn set_output(&mut self, output: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_OUTPUT, output.id())
    }

    /// Sets the loss, a scalar tensor; only in a role. Not a copy.
    ///
    /// Its value is the mean over the micro-batch: the host weights it by the micro-batch's share of the
    /// batch. Shape and graph are not checked here, but by the backward pass.
    ///
    /// # Errors
    /// The caller is not called as a role.
    pub fn set_loss(&mut self, loss: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_LOSS, loss.id())
    }

    /// Returns the number of parameter groups of the optimizer.
    pub fn group_count(&self) -> usize {
        self.host.group_count()
    }

    /// Returns the current learning rate of a group.
    ///
    /// # Errors
    /// There is no such group.
    pub fn group_lr(&self, group: usize) -> Result<f64> {
        self.host.lr(group)
    }

    /// Sets the learning rate of a group. The schedule overrides it at its next step, unless the hook has the
    /// role `on_lr_adjust`.
    ///
    /// Takes effect in the next optimizer step; [`lr`](Self::lr) returns it at once. Checkpoints save it. On
    /// several ranks every rank must set the same one.
    ///
    /// # Errors
    /// There is no such group.
    pub fn set_group_lr(&mut self, group: usize, lr: f64) -> Result<()> {
        self.host.set_lr(group, lr)
    }

    /// Sets the learning rate of every group, as [`set_group_lr`](Self::set_group_lr).
    pub fn set_lr(&mut self, lr: f64) -> Result<()> {
        (0..self.group_count()).try_for_each(|group| self.host.set_lr(group, lr))
    }
}
