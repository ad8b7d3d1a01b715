"""JAX: one jitted step with Optax, whose state is donated; the average is part of it."""

import os

# One thread, as everybody has. XLA reads both when it starts.
os.environ |= {"NPROC": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "JAX_PLATFORMS": "cpu"}

from functools import partial

import jax
import jax.numpy as jnp
import optax

import data
import task as asked
from jax_models import MODELS, Draws

task = asked.parse()
params, statistics, forward = MODELS[task.model](Draws(1))
if task.model == "gpt":
    optimizer = optax.adamw(asked.ADAMW["lr"], *asked.ADAMW["betas"], weight_decay=asked.ADAMW["weight_decay"])
else:
    optimizer = optax.sgd(asked.SGD["lr"], asked.SGD["momentum"])
# Donated memory is used once, so the average needs its own.
average = jax.tree.map(jnp.copy, params) if task.ema else None
state = {"params": params, "statistics": statistics, "optimizer": optimizer.init(params), "average": average}


@partial(jax.jit, donate_argnums=0)
def train_step(state, inputs, labels):
    def loss_of(params):
        scores, statistics = forward(params, state["statistics"], inputs)
        return optax.softmax_cross_entropy_with_integer_labels(scores, labels.astype(jnp.int32)).mean(), statistics

    (loss, statistics), gradients = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
    updates, moments = optimizer.update(gradients, state["optimizer"], state["params"])
    params = optax.apply_updates(state["params"], updates)
    average = state["average"]
    if average is not None:
        average = optax.incremental_update(params, average, 1 - asked.EMA_DECAY)
    return {"params": params, "statistics": statistics, "optimizer": moments, "average": average}, loss


inputs, labels = data.load(task)
clock, log = asked.Clock(task), asked.Log(task)
for step in range(1, task.total + 1):
    rows = data.rows_of(task, len(inputs), step - 1)
    state, loss = train_step(state, inputs[rows], labels[rows])
    if log.is_due(step):
        log.write(step, loss.item())
    clock.tick(lambda: jax.block_until_ready((state, loss)))
clock.report(loss, "jax", "optax")
