"""One AdamW step and one update of an average over given parameters: milliseconds of PyTorch's own.

    python tensors.py --shapes '[[64, 3, 7, 7], [64]]' --rounds 20

`adamw_ms` is a step of `torch.optim.AdamW(fused=True)`; `lerp_ms` is `lerp_` of one flat tensor that has as many numbers, after such a
step, as in training: the most that an average can be expected to reach. Medians; the first rounds are not counted.
"""

import argparse
import json
import math
import statistics
import time

import torch

WARMUP = 3

parser = argparse.ArgumentParser()
parser.add_argument("--shapes", type=json.loads, required=True)
parser.add_argument("--rounds", type=int, required=True)
args = parser.parse_args()
torch.set_num_threads(1)


def milliseconds(*actions):
    """The median time of each action; they take turns."""
    times = [[] for _ in actions]
    for _ in range(WARMUP + args.rounds):
        for action, found in zip(actions, times):
            began = time.perf_counter()
            action()
            found.append((time.perf_counter() - began) * 1e3)
    return [statistics.median(found[WARMUP:]) for found in times]


params = [torch.randn(shape, requires_grad=True) for shape in args.shapes]
for param in params:
    param.grad = torch.randn_like(param)
count = sum(math.prod(shape) for shape in args.shapes)
average, weights = torch.zeros(count), torch.randn(count)
step = torch.optim.AdamW(params, lr=1e-3, fused=True).step
adamw, lerp = milliseconds(step, lambda: average.lerp_(weights, 1e-3))
print(json.dumps({"adamw_ms": adamw, "lerp_ms": lerp, "torch": torch.__version__}))
