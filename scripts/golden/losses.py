"""Golden values and gradients of every loss. Made with torch 2.13.0.

    pip install torch==2.13.0 numpy
    python scripts/golden/losses.py

writes host/engine/src/loss/golden.json: per case the settings as a config writes them, the inputs by name, the loss and
the gradient of the output.
"""

import json
from pathlib import Path

import torch
import torch.nn.functional as F

OUT = Path(__file__).parents[2] / "host/engine/src/loss/golden.json"

SCORES = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [-2.0, 0.0, 1.0], [0.1, 0.2, 0.3]]
CLASSES = [2, 0, 1, 2]
VALUES = [[0.25, -0.5, 1.0], [1.0, 3.0, -0.5], [-2.5, 0.0, 0.0], [0.0, 1.2, 0.3]]
BITS = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0], [1.0, 1.0, 0.0]]
SHARES = [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.6, 0.3, 0.1], [0.25, 0.25, 0.5]]
LOGS = torch.log_softmax(torch.tensor(SCORES, dtype=torch.float64), 1).tolist()
LOG_SHARES = torch.log_softmax(torch.tensor(VALUES, dtype=torch.float64), 1).tolist()
WEIGHTS = [0.5, 1.0, 3.0]


def t(values):
    return torch.tensor(values, dtype=torch.float64)


# type, settings, output, label, the loss in torch
CASES = [
    ("CrossEntropy", {}, SCORES, CLASSES, F.cross_entropy),
    ("CrossEntropy", {"label_smoothing": 0.2}, SCORES, CLASSES,
     lambda x, y: F.cross_entropy(x, y, label_smoothing=0.2)),
    ("CrossEntropy", {"ignore_index": 0}, SCORES, CLASSES, lambda x, y: F.cross_entropy(x, y, ignore_index=0)),
    ("CrossEntropy", {"class_weights": WEIGHTS}, SCORES, CLASSES,
     lambda x, y: F.cross_entropy(x, y, weight=t(WEIGHTS))),
    ("CrossEntropy", {"class_weights": WEIGHTS, "label_smoothing": 0.1, "ignore_index": 1}, SCORES, CLASSES,
     lambda x, y: F.cross_entropy(x, y, weight=t(WEIGHTS), label_smoothing=0.1, ignore_index=1)),
    ("NLL", {}, LOGS, CLASSES, F.nll_loss),
    ("NLL", {"class_weights": WEIGHTS, "ignore_index": 1}, LOGS, CLASSES,
     lambda x, y: F.nll_loss(x, y, weight=t(WEIGHTS), ignore_index=1)),
    ("BCEWithLogits", {}, SCORES, BITS, F.binary_cross_entropy_with_logits),
    ("BCEWithLogits", {"pos_weight": WEIGHTS}, SCORES, BITS,
     lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=t(WEIGHTS))),
    ("BCEWithLogits", {"pos_weight": [2.0]}, SCORES, BITS,
     lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=t([2.0]))),
    ("MSE", {}, SCORES, VALUES, F.mse_loss),
    ("L1", {}, SCORES, VALUES, F.l1_loss),
    ("Huber", {}, SCORES, VALUES, F.huber_loss),
    ("Huber", {"delta": 0.3}, SCORES, VALUES, lambda x, y: F.huber_loss(x, y, delta=0.3)),
    ("SmoothL1", {}, SCORES, VALUES, F.smooth_l1_loss),
    ("SmoothL1", {"beta": 0.3}, SCORES, VALUES, lambda x, y: F.smooth_l1_loss(x, y, beta=0.3)),
    ("KL", {}, LOGS, SHARES, lambda x, y: F.kl_div(x, y, reduction="batchmean")),
    ("KL", {"log_target": True}, LOGS, LOG_SHARES,
     lambda x, y: F.kl_div(x, y, reduction="batchmean", log_target=True)),
    ("KL", {"reduction": "mean"}, LOGS, SHARES, lambda x, y: F.kl_div(x, y, reduction="mean")),
    ("Sum", {"losses": [{"type": "MSE", "weight": 0.5}, {"type": "L1"}, {"type": "Huber", "weight": -0.25, "delta": 0.3}]},
     SCORES, VALUES, lambda x, y: 0.5 * F.mse_loss(x, y) + F.l1_loss(x, y) - 0.25 * F.huber_loss(x, y, delta=0.3)),
]


def case(name, settings, output, label, loss):
    output = t(output).requires_grad_()
    classes = isinstance(label[0], int)
    value = loss(output, torch.tensor(label) if classes else t(label))
    value.backward()
    return {"type": name, "settings": settings, "classes": classes, "output": output.detach().flatten().tolist(),
            "label": torch.tensor(label, dtype=torch.float64).flatten().tolist(), "loss": value.item(),
            "gradient": output.grad.flatten().tolist()}


def main():
    assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
    rows = ",\n".join(json.dumps(case(*row)) for row in CASES)
    OUT.write_text(f'{{"made_with": "torch 2.13.0", "rows": 4, "columns": 3, "cases": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
