"""How long `torch.save` of 400 MiB takes, beside the stall that `cargo xtask bench` prints for a checkpoint of hookrack.

python scripts/bench/torch_save.py [FOLDER]
"""

import statistics
import sys
import tempfile
import time

import torch

ROUNDS = 5
state = {f"tensor.{i}": torch.ones(4 << 20) for i in range(25)}


def seconds(action):
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
    file = f"{folder}/state.pt"
    save = statistics.median(seconds(lambda: torch.save(state, file)) for _ in range(ROUNDS))
    copy = statistics.median(seconds(lambda: [t.clone() for t in state.values()]) for _ in range(ROUNDS))
print(f"torch {torch.__version__}: torch.save {save * 1e3:.0f} ms, a copy {copy * 1e3:.0f} ms (medians of {ROUNDS})")
