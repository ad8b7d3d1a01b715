"""Hugging Face's Trainer with any model: its loss is in the model's output, its batches are keyword arguments."""

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

import task as asked
import torch_parts as parts

task = asked.parse()
clock = asked.Clock(task)


class WithLoss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = parts.model(task)
        self.last = None

    def forward(self, inputs, labels):
        self.last = parts.loss(self.model(inputs), labels)
        return {"loss": self.last}


class Named(parts.Batches):
    def __getitem__(self, step):
        inputs, labels = super().__getitem__(step)
        return {"inputs": inputs, "labels": labels}


class WholeBatches(Trainer):
    """Takes the batches that all peers have, instead of collating samples: the method that its guide overrides for that."""

    def get_train_dataloader(self):
        return torch.utils.data.DataLoader(self.train_dataset, batch_size=None)


class Average(TrainerCallback):
    """The Trainer has no average of the weights: PyTorch's."""

    def __init__(self, model):
        self.model, self.average = model, parts.average(model)

    def on_step_end(self, *_, **__):
        self.average.update_parameters(self.model)


class Ticks(TrainerCallback):
    def on_step_end(self, *_, **__):
        clock.tick()


model = WithLoss()
arguments = TrainingArguments(
    output_dir=task.folder, max_steps=task.total, per_device_train_batch_size=task.batch, logging_steps=asked.LOG_EVERY, use_cpu=True,
    # Gradients are clipped at 1.0 unless it is told otherwise; nobody else clips.
    max_grad_norm=0.0, save_strategy="no", report_to="none", disable_tqdm=True, lr_scheduler_type="constant", seed=1)
optimizer = parts.optimizer(task, model.parameters(), fused=True)
constant = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _step: 1.0)
callbacks = [*([Average(model.model)] if task.ema else []), Ticks()]
trainer = WholeBatches(model=model, args=arguments, train_dataset=Named(task), optimizers=(optimizer, constant), callbacks=callbacks)
trainer.train()
clock.report(model.last.item(), "transformers", "accelerate", "torch")
