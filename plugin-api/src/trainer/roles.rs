//! The steps of training, for hooks with a role.

use super::Trainer;
use crate::abi::{SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT};
use crate::error::Result;
use crate::phase::Phase;
use crate::tensor::Tensor;

/// The steps of training. A hook with a role calls them in place of the built-in main hook.
impl Trainer {
    /// Runs the model on the current input and sets the output.
    ///
    /// # Errors
    /// In training, another hook has the forward role, which this would bypass: call [`train_forward`](Self::train_forward) to run that hook, or
    /// [`model`](Self::model) to run only the model. Or libtorch returned an error.
    pub fn forward(&mut self) -> Result<()> {
        self.host.forward()
    }

    /// Runs the model on the current input and sets the loss to what `loss` computes from output and label: a whole forward role for a custom loss.
    ///
    /// In a prediction, which has neither label nor loss, only the model is run.
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

    /// Runs the model on any input and returns its output; the current output does not change. Gradients are recorded if they are recorded at this point.
    pub fn model(&mut self, input: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.model(input.id())?))
    }

    /// Runs the training forward pass on the current batch again, through the hook that has that role, with gradient recording on, and sets output and loss.
    ///
    /// For a second pass within an iteration, such as in sharpness-aware minimization. Other hooks are not called, at the points around the role either.
    ///
    /// # Errors
    /// The phase is not training, the hook in the role failed, or it is the caller itself. Needs a host of plugin-api 1.2.
    pub fn train_forward(&mut self) -> Result<()> {
        self.host.train_forward()
    }

    /// Computes the configured loss of the current output and label and sets the loss. A prediction has no label.
    ///
    /// # Errors
    /// The config has no `[loss]`, or there is no label; in training, as for [`forward`](Self::forward).
    pub fn criterion(&mut self) -> Result<()> {
        self.host.criterion()
    }

    /// Returns the configured loss of any output and label; the current loss does not change. Gradients are recorded.
    ///
    /// For a loss with several terms: mixed labels, a second head, an additional term.
    ///
    /// # Errors
    /// The config has no `[loss]`. Needs a host of plugin-api 1.2.
    pub fn criterion_of(&mut self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.criterion_of(output.id(), label.id())?))
    }

    /// Computes the gradients of the loss and adds them to those of the parameters.
    ///
    /// In `on_iter_backward` the micro-batch is weighted by its share of the batch. From `before_optimizer_step` on, the current tensors are those of the whole batch, and so
    /// is the gradient, unscaled also in fp16. The limits of `train.clip_grad_*` are then applied again by [`optimizer_step`](Self::optimizer_step),
    /// which in fp16 is skipped if a gradient is not finite.
    pub fn backward(&mut self) -> Result<()> {
        self.host.backward()
    }

    /// Updates the parameters with their gradients. The gradients stay until the iteration ends.
    pub fn optimizer_step(&mut self) -> Result<()> {
        self.host.optimizer_step()
    }

    /// Advances the configured schedule and sets the learning rates of all groups.
    pub fn lr_step(&mut self) -> Result<()> {
        self.host.lr_step()
    }

    /// Makes the configured schedule count epochs or iterations, overriding the config. Call it at `before_run`.
    ///
    /// # Errors
    /// The schedule has already started. Needs a host of plugin-api 1.1.
    pub fn count_lr_by_epoch(&mut self, by_epoch: bool) -> Result<()> {
        self.host.count_lr_by_epoch(by_epoch)
    }

    /// Replaces the input of the whole batch, at `before_iter` and `before_train_iter` (`before_eval_iter`, …), before it is split into
    /// micro-batches. A role runs the model on another input with [`model`](Self::model).
    ///
    /// # Errors
    /// The call is made at another point, or the number of rows differs.
    pub fn set_input(&mut self, input: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_INPUT, input.id())
    }

    /// Replaces the label of the batch, as [`set_input`](Self::set_input). At `before_train_iter` the new labels determine the weight of each micro-batch.
    pub fn set_label(&mut self, label: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_LABEL, label.id())
    }

    /// Sets the output; only in a role.
    ///
    /// # Errors
    /// The caller is not called as a role.
    pub fn set_output(&mut self, output: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_OUTPUT, output.id())
    }

    /// Sets the loss, a scalar tensor; only in a role.
    ///
    /// # Errors
    /// The caller is not called as a role.
    pub fn set_loss(&mut self, loss: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_LOSS, loss.id())
    }

    /// The number of parameter groups of the optimizer.
    pub fn group_count(&self) -> usize {
        self.host.group_count()
    }

    /// The current learning rate of a group.
    ///
    /// # Errors
    /// There is no such group.
    pub fn group_lr(&self, group: usize) -> Result<f64> {
        self.host.lr(group)
    }

    /// Sets the learning rate of a group. The schedule overrides it at its next step, unless the hook has the role `on_lr_adjust`.
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
