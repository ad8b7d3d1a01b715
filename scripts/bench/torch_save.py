"""How long `torch.save` takes, for the bench of the wait for a checkpoint of hookrack (`cargo xtask bench -- stall`).

python scripts/bench/torch_save.py [--bytes N] [--folder FOLDER]

Prints JSON: the milliseconds of torch.save of two equal tensors, of a copy of them, and the version of torch.
"""

import argparse
import json
import statistics
import tempfile
import time

import torch

ROUNDS = 5


def millis(action):
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1e3


parser = argparse.ArgumentParser()
parser.add_argument("--bytes", type=int, default=400 << 20)
parser.add_argument("--folder")
args = parser.parse_args()
state = {name: torch.ones(args.bytes // 8) for name in ("model", "momentum")}
with tempfile.TemporaryDirectory(dir=args.folder) as folder:
    save = statistics.median(millis(lambda: torch.save(state, f"{folder}/state.pt")) for _ in range(ROUNDS))
    copy = statistics.median(millis(lambda: [t.clone() for t in state.values()]) for _ in range(ROUNDS))
print(json.dumps({"save_ms": save, "copy_ms": copy, "torch": torch.__version__}))
