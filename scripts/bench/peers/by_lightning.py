"""Lightning: a LightningModule and a Trainer that logs to a CSV file; no progress bar, checkpoint or summary."""

import warnings

import lightning as L
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import CSVLogger

import task as asked
import torch_parts as parts

task = asked.parse()
clock = asked.Clock(task)
# Advice about loader workers, which nobody has here: one thread each.
warnings.filterwarnings("ignore")


class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = parts.model(task)
        self.last = None

    def training_step(self, batch, _index):
        inputs, labels = batch
        self.last = parts.loss(self.model(inputs), labels)
        self.log("train/loss", self.last)
        return self.last

    def configure_optimizers(self):
        return parts.optimizer(task, self.parameters(), fused=True)


class Ticks(Callback):
    def on_train_batch_end(self, *_):
        clock.tick()


callbacks = []
if task.ema:
    from lightning.pytorch.callbacks import EMAWeightAveraging

    callbacks.append(EMAWeightAveraging(decay=asked.EMA_DECAY))
trainer = L.Trainer(
    accelerator="cpu", devices=1, max_epochs=1, log_every_n_steps=asked.LOG_EVERY, logger=CSVLogger(task.folder),
    # After the average, so that a step includes it.
    callbacks=[*callbacks, Ticks()],
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
module = Module()
trainer.fit(module, parts.loader(task))
clock.report(module.last.item(), "lightning", "torch")
