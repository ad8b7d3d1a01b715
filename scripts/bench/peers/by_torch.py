"""Bare PyTorch: the loop of its tutorials; `fused` optimizers, and `channels_last` beside them."""

import torch

import task as asked
import torch_parts as parts

task = asked.parse(variant=["plain", "fused", "channels_last"])
model = parts.model(task)
layout = torch.contiguous_format
if task.variant == "channels_last":
    layout = torch.channels_last
    model = model.to(memory_format=layout)
optimizer = parts.optimizer(task, model.parameters(), fused=task.variant != "plain")
average = parts.average(model) if task.ema else None
batches, clock, log = parts.Batches(task), asked.Clock(task), asked.Log(task)
for step in range(1, task.total + 1):
    inputs, labels = batches[step - 1]
    if layout is torch.channels_last:
        inputs = inputs.contiguous(memory_format=layout)
    loss = parts.loss(model(inputs), labels)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if average is not None:
        average.update_parameters(model)
    if log.is_due(step):
        log.write(step, loss.item())
    clock.tick()
clock.report(loss.item(), "torch")
