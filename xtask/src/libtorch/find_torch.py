"""Prints the folder of the torch that this Python would import, without importing it (that takes seconds)."""

import importlib.util
import os

spec = importlib.util.find_spec("torch")
if spec and spec.origin:
    print(os.path.dirname(os.path.realpath(spec.origin)))
