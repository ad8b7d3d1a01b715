"""What every peer is asked to do, and how it answers: one line of JSON.

`hookrack-bench peers` starts each peer as a process of its own with these options. A peer trains `warmup` steps that are not
counted and `steps` that are, without an epoch's end between them, and calls `Clock.tick` after each step.
"""

import argparse
import importlib.metadata
import json
import math
import sys
import time

BATCH = {"mlp": 64, "mlp_ema": 64, "cnn": 64, "resnet18": 64, "gpt": 16}
LOG_EVERY = 20
EMA_DECAY = 0.999
SGD = {"lr": 0.01, "momentum": 0.9}
ADAMW = {"lr": 1e-3, "betas": (0.9, 0.95), "weight_decay": 0.1}


def parse(**choices):
    """The options of the command line; `choices` adds options of one peer, each with its allowed values."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=BATCH, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warmup", type=int, required=True)
    parser.add_argument("--images", help="folder with the files of Fashion-MNIST or MNIST", required=True)
    parser.add_argument("--text", help="file whose bytes the GPT learns", required=True)
    parser.add_argument("--folder", help="where logs are written", required=True)
    parser.add_argument("--started", type=float, help="when this process was started, in seconds since 1970", required=True)
    for name, values in choices.items():
        parser.add_argument(f"--{name}", choices=values, required=True)
    task = parser.parse_args()
    task.total = task.warmup + task.steps
    task.batch = BATCH[task.model]
    task.ema = task.model == "mlp_ema"
    return task


class Clock:
    """Times the counted steps, and the first one from the start of the process."""

    def __init__(self, task):
        self.task, self.done = task, 0
        self.first = self.began = self.ended = None

    def tick(self, wait=lambda: None):
        """A step is complete. `wait` blocks until it really is, where steps are asynchronous; it is called three times in all."""
        self.done += 1
        if self.done == 1:
            wait()
            self.first = time.time() - self.task.started
        if self.done == self.task.warmup:
            wait()
            self.began = time.perf_counter()
        if self.done == self.task.total:
            wait()
            self.ended = time.perf_counter()

    def report(self, loss, *packages):
        """Prints the figures, the last loss, and the versions of the packages that were compared."""
        if self.ended is None:
            sys.exit(f"{self.done} steps were trained instead of {self.task.total}")
        if not math.isfinite(loss):
            sys.exit(f"the loss is {loss}")
        versions = {name: importlib.metadata.version(name) for name in packages}
        seconds = self.ended - self.began
        found = {"steps_per_second": self.task.steps / seconds, "first_step": self.first, "loss": float(loss), "versions": versions}
        print(json.dumps(found), flush=True)


class Log:
    """The loss of every 20th step as a line of JSON in a file, for peers that have no logger of their own."""

    def __init__(self, task):
        self.file = open(f"{task.folder}/log.jsonl", "w", buffering=1)

    def is_due(self, step):
        return step % LOG_EVERY == 0

    def write(self, step, loss):
        self.file.write(json.dumps({"iter": step, "train/loss": loss}) + "\n")
