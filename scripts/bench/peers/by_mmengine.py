"""MMEngine: a Runner with its default hooks but the checkpoint, and its EMAHook for the average."""

import torch
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.runner import Runner

import task as asked
import torch_parts as parts

task = asked.parse()
clock = asked.Clock(task)


class Model(BaseModel):
    def __init__(self):
        super().__init__()
        self.model = parts.model(task)
        self.last = None

    def forward(self, inputs, labels, mode):
        self.last = parts.loss(self.model(inputs), labels)
        return {"loss": self.last}


class Ticks(Hook):
    # After the average, so that a step includes it.
    priority = "LOWEST"

    def after_train_iter(self, *_, **__):
        clock.tick()


if task.model == "gpt":
    optimizer = {"type": "AdamW", **asked.ADAMW, "fused": True}
else:
    optimizer = {"type": "SGD", **asked.SGD, "fused": True}
hooks = [Ticks()]
if task.ema:
    hooks.append({"type": "EMAHook", "ema_type": "ExponentialMovingAverage", "momentum": 1 - asked.EMA_DECAY})
# Its hooks need a batch sampler, which a loader of whole batches does not have: a batch of one of them is that one.
loader = torch.utils.data.DataLoader(parts.Batches(task), batch_size=1, collate_fn=lambda batches: batches[0])
model = Model()
runner = Runner(
    model=model, work_dir=task.folder, train_dataloader=loader, optim_wrapper={"optimizer": optimizer},
    train_cfg={"by_epoch": True, "max_epochs": 1}, custom_hooks=hooks,
    default_hooks={"logger": {"type": "LoggerHook", "interval": asked.LOG_EVERY}, "checkpoint": None})
runner.train()
clock.report(model.last.item(), "mmengine", "torch")
