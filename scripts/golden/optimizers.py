"""Golden parameters of every optimizer over 50 steps. Made with torch 2.13.0.

    pip install torch==2.13.0 numpy
    python scripts/golden/optimizers.py

writes host/engine/src/optimizer/golden.json. The problem: two tensors whose gradients follow from a formula
that the tests repeat in Rust (see `gradient`), in doubles. The optimizers are PyTorch's own;
LAMB, LARS and Lion, which PyTorch lacks, are written out here from their papers in plain operators.

No run in floats is kept: it would be that of one CPU, and of one of PyTorch's two or three implementations of each optimizer. The
tests compare floats with these doubles, and take from the arithmetic how far rounding carries them. Lion alone is not continuous:
`main` makes sure that no sign it takes hangs on a rounding.
"""

import json
import math
from pathlib import Path

import torch

OUT = Path(__file__).parents[2] / "host/engine/src/optimizer/golden.json"
STEPS = 50
KEPT = (1, 2, 10, STEPS)
START = {
    "weight": [[1.0, -2.0, 0.5], [3.0, -0.25, 0.75]],
    "bias": [0.1, -1.5, 2.0, -0.6],
}


def gradient(param: torch.Tensor, step: int) -> torch.Tensor:
    """2 (x - sin(step + i)) / 4 for element i, counted over the whole tensor."""
    index = torch.arange(param.numel(), dtype=torch.float64).reshape(param.shape)
    target = torch.sin(step + index).to(param.dtype)
    return (param.detach() - target) * 0.5


class Lamb(torch.optim.Optimizer):
    """You et al., Large Batch Optimization for Deep Learning (arXiv 1904.00962), algorithm 2; phi(x) = x."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for param in group["params"]:
                state = self.state[param]
                if not state:
                    state.update(step=0, m=torch.zeros_like(param), v=torch.zeros_like(param))
                state["step"] += 1
                state["m"] = beta1 * state["m"] + (1 - beta1) * param.grad
                state["v"] = beta2 * state["v"] + (1 - beta2) * param.grad**2
                m = state["m"] / (1 - beta1 ** state["step"])
                v = state["v"] / (1 - beta2 ** state["step"])
                update = m / (v.sqrt() + group["eps"]) + group["weight_decay"] * param
                weight_norm, update_norm = param.norm(), update.norm()
                trust = weight_norm / update_norm if weight_norm > 0 and update_norm > 0 else 1.0
                param -= group["lr"] * trust * update


class Lars(torch.optim.Optimizer):
    """You et al., Large Batch Training of Convolutional Networks (arXiv 1708.03888), algorithm 1."""

    def __init__(self, params, lr=0.1, momentum=0.9, weight_decay=0.0, trust_coefficient=1e-3, eps=1e-8):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay,
                                      trust_coefficient=trust_coefficient, eps=eps))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            decay = group["weight_decay"]
            for param in group["params"]:
                weight_norm, grad_norm = param.norm(), param.grad.norm()
                local = 1.0
                if weight_norm > 0 and grad_norm > 0:
                    local = (group["trust_coefficient"] * weight_norm
                             / (grad_norm + decay * weight_norm + group["eps"]))
                update = group["lr"] * local * (param.grad + decay * param)
                state = self.state[param]
                state["v"] = group["momentum"] * state.get("v", torch.zeros_like(param)) + update
                param -= state["v"]


class Lion(torch.optim.Optimizer):
    """Chen et al., Symbolic Discovery of Optimization Algorithms (arXiv 2302.06675), algorithm 2."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))
        # The smallest number whose sign was taken.
        self.nearest = math.inf

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for param in group["params"]:
                state = self.state[param]
                m = state.get("m", torch.zeros_like(param))
                mixed = beta1 * m + (1 - beta1) * param.grad
                self.nearest = min(self.nearest, mixed.abs().min().item())
                update = torch.sign(mixed)
                param -= group["lr"] * (update + group["weight_decay"] * param)
                state["m"] = beta2 * m + (1 - beta2) * param.grad


TYPES = {
    "SGD": torch.optim.SGD,
    "Adam": torch.optim.Adam,
    "AdamW": torch.optim.AdamW,
    "RMSprop": torch.optim.RMSprop,
    "Adagrad": torch.optim.Adagrad,
    "LAMB": Lamb,
    "LARS": Lars,
    "Lion": Lion,
}

CASES = [
    ("SGD", dict(lr=0.05)),
    ("SGD", dict(lr=0.05, weight_decay=0.1)),
    ("SGD", dict(lr=0.05, momentum=0.9)),
    ("SGD", dict(lr=0.05, momentum=0.9, dampening=0.3, weight_decay=0.1)),
    ("SGD", dict(lr=0.05, momentum=0.9, nesterov=True)),
    ("SGD", dict(lr=0.001, momentum=0.9, maximize=True)),
    ("Adam", dict(lr=0.05)),
    ("Adam", dict(lr=0.05, betas=[0.8, 0.95], eps=1e-4, weight_decay=0.1)),
    ("Adam", dict(lr=0.05, amsgrad=True)),
    ("Adam", dict(lr=0.05, maximize=True)),
    ("AdamW", dict(lr=0.05)),
    ("AdamW", dict(lr=0.05, betas=[0.8, 0.95], weight_decay=0.1)),
    ("AdamW", dict(lr=0.05, amsgrad=True)),
    ("RMSprop", dict(lr=0.02)),
    ("RMSprop", dict(lr=0.02, alpha=0.9, eps=1e-4, weight_decay=0.1)),
    ("RMSprop", dict(lr=0.02, centered=True)),
    ("RMSprop", dict(lr=0.02, momentum=0.9)),
    ("RMSprop", dict(lr=0.02, centered=True, momentum=0.8, weight_decay=0.1)),
    ("RMSprop", dict(lr=0.02, maximize=True)),
    ("Adagrad", dict(lr=0.2)),
    ("Adagrad", dict(lr=0.2, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5)),
    ("Adagrad", dict(lr=0.2, eps=1e-3, maximize=True)),
    ("LAMB", dict(lr=0.05)),
    ("LAMB", dict(lr=0.05, betas=[0.8, 0.95], eps=1e-4, weight_decay=0.1)),
    # A rate of 20 with momentum would move a tensor by 0.4 of its norm per step; in floats, rounding then grows past use.
    ("LARS", dict(lr=2.0, trust_coefficient=0.002)),
    ("LARS", dict(lr=20.0, momentum=0.0, trust_coefficient=0.002, weight_decay=0.1)),
    ("LARS", dict(lr=5.0, momentum=0.8, trust_coefficient=0.01, weight_decay=0.1)),
    ("Lion", dict(lr=0.02)),
    ("Lion", dict(lr=0.02, betas=[0.8, 0.95], weight_decay=0.1)),
]


def train(name: str, settings: dict) -> dict:
    """The parameters after each step of `KEPT`, row by row."""
    params = {key: torch.tensor(value, dtype=torch.float64, requires_grad=True) for key, value in START.items()}
    optimizer = TYPES[name](list(params.values()), **settings)
    kept = {}
    for step in range(1, STEPS + 1):
        for param in params.values():
            param.grad = gradient(param, step)
        optimizer.step()
        if step in KEPT:
            kept[str(step)] = {key: param.detach().flatten().tolist() for key, param in params.items()}
    # Floats are off by some 1e-6 after 50 steps.
    assert getattr(optimizer, "nearest", 1.0) > 1e-4, (name, settings, optimizer.nearest)
    return kept


def main() -> None:
    assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
    cases = [
        {"type": name, "settings": settings, "kept": train(name, settings)} for name, settings in CASES
    ]
    rows = ",\n".join(json.dumps(case) for case in cases)
    OUT.write_text(f'{{"made_with": "torch 2.13.0", "cases": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
