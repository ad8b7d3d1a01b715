"""Small arrays as NumPy and safetensors save them, for the data sets that read them. Made with numpy 2.4 and safetensors 0.8.

    pip install numpy safetensors
    python scripts/golden/arrays.py

writes host/engine/src/data/golden/: inputs x of shape [3, 2, 2] in three types, class labels y and values v; token ids in every type of
whole numbers, and as texts.
"""

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

OUT = Path(__file__).parents[2] / "host/engine/src/data/golden"

X = np.arange(12, dtype=np.float32).reshape(3, 2, 2) / 4 - 1
Y = np.array([2, 0, 1], dtype=np.int64)
V = np.array([[0.5, -1.0], [2.0, 3.0], [-4.0, 0.25]])

OUT.mkdir(exist_ok=True)
np.save(OUT / "x_f4.npy", X)
np.save(OUT / "x_f8.npy", X.astype(np.float64))
np.save(OUT / "x_u1.npy", np.arange(12, dtype=np.uint8).reshape(3, 2, 2) * 17)
np.save(OUT / "x_fortran.npy", np.asfortranarray(X))
np.save(OUT / "x_c8.npy", X.astype(np.complex64))
np.save(OUT / "y_i8.npy", Y)
np.save(OUT / "y_u1.npy", Y.astype(np.uint8))
np.save(OUT / "v_f8.npy", V)
np.savez_compressed(OUT / "arrays.npz", x=X, y=Y, v=V)
IDS = 7 * np.arange(13) % 17
for kind in ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]:
    np.save(OUT / f"tokens_{kind}.npy", IDS.astype(f"<{kind}"))
np.save(OUT / "tokens_negative.npy", np.array([3, 5, -1, 2, 8, 15], dtype=np.int64))
TEXTS = 10 * np.arange(4)[:, None] + np.arange(6)
np.savez_compressed(OUT / "tokens.npz", ids=IDS.astype(np.uint16), texts=TEXTS.astype(np.int32))
save_file({"inputs": X, "labels": Y, "values": V.astype(np.float32)}, OUT / "arrays.safetensors")
