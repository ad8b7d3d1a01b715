//! What a role does to the engine.

use super::Trainer;
use crate::abi::{SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT};
use crate::error::Result;
use crate::phase::Phase;
use crate::tensor::Tensor;

/// What roles do.
impl Trainer {
    /// Runs the model on the current input; its result is the output. In training, while another hook holds the forward
    /// role, this is an error: [`train_forward`](Self::train_forward) runs that hook, [`model`](Self::model) the model alone.
    pub fn forward(&mut self) -> Result<()> {
        self.host.forward()
    }

    /// Runs the model on the current input and has `loss` make the loss of output and label: all that a forward role does
    /// for a loss of its own. What is predicted has neither label nor loss; there the model alone runs.
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

    /// Runs the model on a tensor of your own.
    pub fn model(&mut self, input: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.model(input.id())?))
    }

    /// Runs the training forward pass on the current batch once more, by whichever hook holds that role, with gradients
    /// being recorded; output and loss are the new ones. For a second pass within an iteration, such as that of
    /// sharpness-aware minimisation. Other hooks are not called: the points around the role belong to the loop's own pass.
    ///
    /// # Errors
    /// This is not training, the hook that holds the role failed, or it is being called: a hook does not run its own
    /// role by this. A host of plugin-api 1.1 cannot, and says so.
    pub fn train_forward(&mut self) -> Result<()> {
        self.host.train_forward()
    }

    /// Computes the configured loss of output and label. What is predicted has no label.
    pub fn criterion(&mut self) -> Result<()> {
        self.host.criterion()
    }

    /// The configured loss of an output and a label of your own; the slots stay as they are. Gradients are recorded. For a
    /// loss in parts: of mixed labels, of a second head, beside a term of your own. An error where the config has no
    /// `[loss]`; a host of plugin-api 1.1 cannot, and says so.
    pub fn criterion_of(&mut self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.criterion_of(output.id(), label.id())?))
    }

    /// Differentiates the loss and adds to the gradients. In `on_iter_backward` it counts for its share of the batch. From
    /// `before_optimizer_step` on the slots hold the whole batch, and so does the gradient, of true size in fp16 too; the
    /// limits of `train.clip_grad_*` apply once more in [`optimizer_step`](Self::optimizer_step), and a gradient that is
    /// not finite has fp16 leave that step out.
    pub fn backward(&mut self) -> Result<()> {
        self.host.backward()
    }

    /// Changes the parameters by their gradients, which stay until the iteration ends.
    pub fn optimizer_step(&mut self) -> Result<()> {
        self.host.optimizer_step()
    }

    /// Sets the learning rate by the configured schedule.
    pub fn lr_step(&mut self) -> Result<()> {
        self.host.lr_step()
    }

    /// Makes the configured schedule step by epoch or by iteration, overriding the config. Call it at
    /// `before_run`; a host of plugin-api 1.0 cannot, and says so.
    pub fn count_lr_by_epoch(&mut self, by_epoch: bool) -> Result<()> {
        self.host.count_lr_by_epoch(by_epoch)
    }

    /// Changes the input of the batch: of the whole one at `before_iter` and the points beside it (`before_train_iter`,
    /// `before_eval_iter`, …), before it is cut into micro-batches; in a forward role, of the micro-batch in progress.
    /// An error elsewhere, and where it has another number of rows.
    pub fn set_input(&mut self, input: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_INPUT, input.id())
    }

    /// Changes the label of the batch, as [`set_input`](Self::set_input) its input. At `before_train_iter` the new labels
    /// say how much each micro-batch weighs.
    pub fn set_label(&mut self, label: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_LABEL, label.id())
    }

    /// Gives the output. An error outside of a role.
    pub fn set_output(&mut self, output: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_OUTPUT, output.id())
    }

    /// Gives the loss. An error outside of a role.
    pub fn set_loss(&mut self, loss: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_LOSS, loss.id())
    }

    /// How many groups of parameters the optimizer has.
    pub fn group_count(&self) -> usize {
        self.host.group_count()
    }

    /// A group's learning rate.
    pub fn group_lr(&self, group: usize) -> Result<f64> {
        self.host.lr(group)
    }

    /// Sets a group's learning rate.
    pub fn set_group_lr(&mut self, group: usize, lr: f64) -> Result<()> {
        self.host.set_lr(group, lr)
    }

    /// Sets the learning rate of every group.
    pub fn set_lr(&mut self, lr: f64) -> Result<()> {
        (0..self.group_count()).try_for_each(|group| self.host.set_lr(group, lr))
    }
}
