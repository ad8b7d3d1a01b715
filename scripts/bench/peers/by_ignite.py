"""PyTorch-Ignite: an engine around a training step, with handlers for logging, timing and the average."""

from ignite.engine import Engine, Events
from ignite.handlers import EMAHandler

import task as asked
import torch_parts as parts

task = asked.parse()
model = parts.model(task)
optimizer = parts.optimizer(task, model.parameters(), fused=True)
clock, log = asked.Clock(task), asked.Log(task)


def train_step(_engine, batch):
    inputs, labels = batch
    loss = parts.loss(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


trainer = Engine(train_step)
if task.ema:
    ema = EMAHandler(model, momentum=1 - asked.EMA_DECAY)
    ema.attach(trainer, event=Events.ITERATION_COMPLETED)


@trainer.on(Events.ITERATION_COMPLETED(every=asked.LOG_EVERY))
def write_loss(engine):
    log.write(engine.state.iteration, engine.state.output.item())


trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda _engine: clock.tick())
trainer.run(parts.loader(task), max_epochs=1)
clock.report(trainer.state.output.item(), "pytorch-ignite", "torch")
