"""The data, as NumPy arrays: images as bytes, in the order of the files, so that all peers see the same batches."""

import gzip
from pathlib import Path

import numpy as np

CONTEXT = 128


def read(path):
    """The bytes of a file, plain or gzipped."""
    plain, gzipped = Path(path), Path(f"{path}.gz")
    return plain.read_bytes() if plain.exists() else gzip.decompress(gzipped.read_bytes())


def load(task):
    """Inputs and labels; the last incomplete batch is left out."""
    if task.model == "gpt":
        tokens = np.frombuffer(read(task.text), dtype=np.uint8)
        rows = (len(tokens) - 1) // CONTEXT
        inputs = tokens[: rows * CONTEXT].reshape(rows, CONTEXT)
        labels = tokens[1 : rows * CONTEXT + 1].reshape(rows, CONTEXT)
    else:
        folder = Path(task.images)
        inputs = np.frombuffer(read(folder / "train-images-idx3-ubyte"), dtype=np.uint8, offset=16).reshape(-1, 1, 28, 28)
        labels = np.frombuffer(read(folder / "train-labels-idx1-ubyte"), dtype=np.uint8, offset=8)
    whole = len(inputs) // task.batch * task.batch
    return inputs[:whole], labels[:whole]


def rows_of(task, count, step):
    """The rows of a step's batch; after the last batch the first one follows."""
    start = step * task.batch % count
    return slice(start, start + task.batch)
