"""The TorchScript files that configs and tests train. Made with torch 2.13.0.

    pip install torch==2.13.0
    python scripts/golden/torchscript.py

writes configs/models/digits_cnn.pt, a scripted network with BatchNorm and dropout over 8x8 images, and
tests/fixtures/torchscript/traced.pt, the same network traced, which a host must refuse, and traced_plain.pt, a traced
one without either, which trains like any other.
"""

import io
import zipfile
from pathlib import Path

import torch
from torch import nn

ROOT = Path(__file__).parents[2]


class DigitsCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(8 * 4 * 4, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        x = nn.functional.max_pool2d(x, 2).flatten(1)
        return self.head(self.drop(x))


def save(module, path):
    """Saves without the debug records, which name the folders of the machine that wrote the file."""
    path = ROOT / path
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = zipfile.ZipFile(io.BytesIO(module.save_to_buffer()))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        for entry in whole.infolist():
            if not entry.filename.endswith(".debug_pkl"):
                out.writestr(zipfile.ZipInfo(entry.filename), whole.read(entry))
    torch.jit.load(str(path))
    print(path.relative_to(ROOT), path.stat().st_size, "bytes")


def main():
    torch.manual_seed(0)
    model = DigitsCnn()
    example = torch.zeros(2, 1, 8, 8)
    save(torch.jit.script(model), "configs/models/digits_cnn.pt")
    save(torch.jit.trace(model, example, check_trace=False), "tests/fixtures/torchscript/traced.pt")
    plain = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    save(torch.jit.trace(plain, example), "tests/fixtures/torchscript/traced_plain.pt")


if __name__ == "__main__":
    main()
