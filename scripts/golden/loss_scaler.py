"""A run of torch.amp.GradScaler with overflows. Made with torch 2.13.0.

    pip install torch==2.13.0
    python scripts/golden/loss_scaler.py

writes host/engine/src/loss_scaler.golden.json: the settings, the gradient of every step, and after each step the scale,
the good steps in a row and the weights. Plain gradient descent; the loss is the product of weights and gradient, so the
gradient is what it says. A gradient of 1e35 overflows 32 bits once it is scaled.
"""

import json
from pathlib import Path

import torch

OUT = Path(__file__).parents[2] / "host/engine/src/loss_scaler.golden.json"
SETTINGS = [65536.0, 2.0, 0.5, 3]
LR = 0.01
HUGE, SMALL = 1e35, 1e-12


def gradients():
    out = []
    for step in range(40):
        first = 0.5 - 0.03 * step
        second = SMALL * (step + 1)
        if step in (0, 1, 9, 22):
            first = HUGE
        if step == 30:
            second = float("inf")
        out.append([first, second])
    return out


def main():
    init, growth, backoff, interval = SETTINGS
    scaler = torch.amp.GradScaler("cpu", init_scale=init, growth_factor=growth, backoff_factor=backoff,
                                  growth_interval=interval)
    weights = torch.tensor([1.0, -1.0], requires_grad=True)
    optimizer = torch.optim.SGD([weights], lr=LR)
    scales, tracker, seen = [], [], []
    for gradient in gradients():
        optimizer.zero_grad()
        loss = (weights * torch.tensor(gradient)).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        tracker.append(scaler._get_growth_tracker())
        seen.append(weights.detach().double().tolist())
    # JSON has no infinity; 1e39 is one in 32 bits.
    shown = [[1e39 if value == float("inf") else value for value in pair] for pair in gradients()]
    OUT.write_text(json.dumps({"made_with": "torch 2.13.0", "settings": SETTINGS, "lr": LR, "gradients": shown, "scales": scales,
                               "growth": tracker, "weights": seen}) + "\n")


if __name__ == "__main__":
    main()
