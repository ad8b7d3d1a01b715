#!/usr/bin/env python3
"""Makes digits.bin from scikit-learn's digits.csv.gz: per sample 64 pixels of 0..16, then the label, a byte each.

    pip download --no-deps scikit-learn
    unzip scikit_learn-*.whl sklearn/datasets/data/digits.csv.gz
    python3 make.py sklearn/datasets/data/digits.csv.gz digits.bin
"""

import gzip
import sys

source, target = sys.argv[1:]
with gzip.open(source, "rt") as rows:
    samples = [[int(float(value)) for value in row.split(",")] for row in rows]
for number, sample in enumerate(samples):
    assert len(sample) == 65, f"row {number}: {len(sample)} columns, not 65"
    assert all(0 <= pixel <= 16 for pixel in sample[:64]), f"row {number}: a pixel outside 0..16"
    assert 0 <= sample[64] <= 9, f"row {number}: label {sample[64]}"
with open(target, "wb") as out:
    for sample in samples:
        out.write(bytes(sample))
print(f"{len(samples)} samples, {len(samples) * 65} bytes")
