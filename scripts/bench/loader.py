"""Samples a second: PyTorch's DataLoader and hookrack's loader, side by side on Fashion-MNIST.

    pip install torch==2.13.0 numpy
    cargo build -p hookrack-bench
    python scripts/bench/loader.py --bench target/debug/hookrack-bench

Both read the images from memory as bytes, crop with padding 2, flip, normalise, and give shuffled batches of 64 floats.
PyTorch's way is the one of its tutorials: a map-style data set, one sample at a time, two worker processes, default
collation; the workers are kept from epoch to epoch. The rounds take turns, the first of each is not counted, and the
medians are compared. Ends with exit code 1 when hookrack is not three times as fast.
"""

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

LEAST = 3.0
MEAN, STD, PADDING, BATCH = 0.286, 0.353, 2, 64


def idx(path, header):
    return torch.from_numpy(np.frombuffer(gzip.open(path).read(), dtype=np.uint8, offset=header).copy())


class FashionMnist(Dataset):
    def __init__(self, folder):
        self.images = idx(folder / "train-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28)
        self.labels = idx(folder / "train-labels-idx1-ubyte.gz", 8).long()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = F.pad(self.images[index], [PADDING] * 4)
        top, left = torch.randint(0, 2 * PADDING + 1, (2,)).tolist()
        image = image[:, top : top + 28, left : left + 28]
        if torch.rand(()) < 0.5:
            image = image.flip(-1)
        image = image.float().div_(255).sub_(MEAN).div_(STD)
        return image, self.labels[index]


def by_pytorch(loader):
    began, samples = time.perf_counter(), 0
    for images, _ in loader:
        samples += len(images)
    return samples / (time.perf_counter() - began)


def by_hookrack(bench, folder, workers):
    command = [bench, "loader", "--dir", folder, "--workers", str(workers), "--batch-size", str(BATCH)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(said)["samples_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default="target/debug/hookrack-bench")
    parser.add_argument("--dir", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    data = FashionMnist(Path(args.dir))
    loader = DataLoader(data, BATCH, shuffle=True, num_workers=args.workers, persistent_workers=True)
    found = {"pytorch": [], "hookrack": [], "hookrack, no workers": []}
    for number in range(args.rounds + 1):
        speeds = [
            by_pytorch(loader),
            by_hookrack(args.bench, args.dir, args.workers),
            by_hookrack(args.bench, args.dir, 0),
        ]
        if number:
            for speeds_of, speed in zip(found.values(), speeds):
                speeds_of.append(speed)
    medians = {name: statistics.median(speeds) for name, speeds in found.items()}
    for name, median in medians.items():
        ratio = median / medians["pytorch"]
        print(f"{name:<22}{median:>12,.0f} samples/s {ratio:>7.1f}x")
    holds = medians["hookrack"] >= LEAST * medians["pytorch"]
    print(f"at least {LEAST:g}x: {'ok' if holds else 'MISSED'}   (torch {torch.__version__}, {args.workers} workers)")
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
