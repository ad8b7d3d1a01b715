"""Small arrays as NumPy and safetensors save them, for the data sets that read them. Made with numpy 2.4 and safetensors 0.8.

    pip install numpy safetensors
    python scripts/golden/arrays.py

writes host/src/engine/data/golden/: inputs x of shape [3, 2, 2] in three types, class labels y and values v.
"""

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

OUT = Path(__file__).parents[2] / "host/src/engine/data/golden"

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
save_file({"inputs": X, "labels": Y, "values": V.astype(np.float32)}, OUT / "arrays.safetensors")
