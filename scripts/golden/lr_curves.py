"""Writes the learning rate curves that the host's schedules are compared with.

The files in host/engine/src/lr/golden were made with torch 2.13.0:

    pip install torch==2.13.0 numpy
    python scripts/golden/lr_curves.py

A curve is PyTorch's own where PyTorch has the schedule ("by": "torch 2.13.0"): its class is stepped through a whole
run. Where only ColossalAI, LiBai (OneFlow) or iMIX (Hugging Face) has it, PyTorch's class still gives the inner part,
or a function of the step goes through LambdaLR ("by": "formula"). One file per case: type, settings, base rate, and the
rate at every step of the run; "momenta" beside the rates where the schedule moves the momentum too. A schedule that
follows a metric has the values that it was "told", and the rate after each.
"""

import json
import math
import pathlib
import warnings
from bisect import bisect_right

import torch
from torch.optim import lr_scheduler as lrs

warnings.simplefilter("ignore")
T, BASE = 60, 0.1
OUT = pathlib.Path(__file__).resolve().parents[2] / "host/engine/src/lr/golden"


def curves(make, steps=T, base=BASE):
    """The rates and momenta of a PyTorch scheduler, step by step."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=base, momentum=0.9)
    scheduler = make(optimizer)
    rates, momenta = [], []
    for _ in range(steps):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        momenta.append(float(optimizer.param_groups[0]["momentum"]))
        optimizer.step()
        scheduler.step()
    return rates, momenta


def curve(make, steps=T, base=BASE):
    """The rates alone."""
    return curves(make, steps, base)[0]


def factors(function, steps=T):
    """The rates of base times a function of the step."""
    return curve(lambda o: lrs.LambdaLR(o, function), steps)


def write(name, settings, rates, by, case="", **more):
    by = f"torch {torch.__version__.split('+')[0]}" if by == "torch" else by
    body = {"type": name, "settings": settings, "by": by, "base": BASE, "rates": rates, **more}
    text = json.dumps(body, separators=(",", ":")) + "\n"
    (OUT / f"{name}{'-' + case if case else ''}.json").write_text(text)


def torch_case(name, settings, make, case=""):
    write(name, settings, curve(make), "torch", case)


def momentum_case(name, settings, make, case=""):
    rates, momenta = curves(make)
    write(name, settings, rates, "torch", case, momenta=momenta)


def plateau_case(settings, told, case=""):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=BASE)
    scheduler = lrs.ReduceLROnPlateau(optimizer, **settings)
    rates = []
    for value in told:
        scheduler.step(value)
        rates.append(float(optimizer.param_groups[0]["lr"]))
    settings = {"metric": "val/Loss", **settings}
    write("ReduceLROnPlateau", settings, rates, "torch", case, told=told)


def formula_case(name, settings, rates, case=""):
    assert len(rates) == T, name
    write(name, settings, rates, "formula", case)


def pytorch():
    torch_case("ConstantLR", {}, lambda o: lrs.ConstantLR(o, factor=1.0))
    torch_case("ConstantSchedule", {}, lambda o: lrs.LambdaLR(o, lambda t: 1))
    torch_case("CosineAnnealingLR", {"eta_min": 0.01}, lambda o: lrs.CosineAnnealingLR(o, T, 0.01))
    torch_case("CosineAnnealingLR", {"t_max": 17}, lambda o: lrs.CosineAnnealingLR(o, 17), "t_max")
    torch_case("MultiStepLR", {"milestones": [20, 45, 45], "gamma": 0.3},
               lambda o: lrs.MultiStepLR(o, [20, 45, 45], 0.3))
    for case, settings in [
        ("", {}),
        ("linear", {"anneal_strategy": "linear", "pct_start": 0.4, "div_factor": 10.0}),
        ("three_phase", {"three_phase": True, "pct_start": 0.25, "final_div_factor": 100.0,
                         "base_momentum": 0.7, "max_momentum": 0.99}),
    ]:
        momentum_case("OneCycleLR", settings, lambda o: lrs.OneCycleLR(o, BASE, total_steps=T, **settings), case)
    settings = {"cycle_momentum": False, "pct_start": 0.5}
    torch_case("OneCycleLR", settings, lambda o: lrs.OneCycleLR(o, BASE, total_steps=T, **settings), "still")
    torch_case("PolynomialLR", {"end_lr": 0.0, "power": 2.0, "total_iters": 40},
               lambda o: lrs.PolynomialLR(o, 40, 2.0), "torch")
    torch_case("StepLR", {"step_size": 13, "gamma": 0.5}, lambda o: lrs.StepLR(o, 13, 0.5))
    torch_case("ExponentialLR", {"gamma": 0.93}, lambda o: lrs.ExponentialLR(o, 0.93))
    torch_case("MultiStepLR", {"milestones": [0.29, 0.5, 0.84], "gamma": 0.3},
               lambda o: lrs.MultiStepLR(o, [17, 30, 50], 0.3), "ratio")
    table = [0.5, 1.0, 0.25, 0.125]
    torch_case("LambdaLR", {"factors": table, "every": 20},
               lambda o: lrs.LambdaLR(o, lambda t: table[min(t // 20, 3)]))
    torch_case("MultiplicativeLR", {"factors": [0.9, 1.5, 0.2]},
               lambda o: lrs.MultiplicativeLR(o, lambda t: [0.9, 1.5, 0.2][t - 1] if t <= 3 else 1.0))
    torch_case("CosineAnnealingWarmRestarts", {"t_0": 7, "t_mult": 2, "eta_min": 0.001},
               lambda o: lrs.CosineAnnealingWarmRestarts(o, 7, 2, 0.001))
    torch_case("CosineAnnealingWarmRestarts", {"t_0": 9},
               lambda o: lrs.CosineAnnealingWarmRestarts(o, 9), "even")
    torch_case("LinearLR", {"start_factor": 0.2, "end_factor": 0.9, "total_iters": 25},
               lambda o: lrs.LinearLR(o, 0.2, 0.9, 25))
    for mode in ["triangular", "triangular2", "exp_range"]:
        settings = {"base_lr": 0.01, "step_size_up": 8, "step_size_down": 5, "mode": mode, "gamma": 0.97}
        momentum_case("CyclicLR", settings, lambda o: lrs.CyclicLR(o, max_lr=BASE, **settings), mode)
    settings = {"base_lr": 0.02, "step_size_up": 4, "cycle_momentum": False}
    torch_case("CyclicLR", settings, lambda o: lrs.CyclicLR(o, max_lr=BASE, **settings), "still")
    for case, milestones in [("", [10, 45]), ("ratio", [0.17, 0.75])]:
        torch_case(
            "Sequential",
            {"schedules": [{"type": "LinearLR", "start_factor": 0.1, "total_iters": 10},
                           {"type": "CosineAnnealingLR"}, {"type": "ExponentialLR", "gamma": 0.8}],
             "milestones": milestones},
            lambda o: lrs.SequentialLR(o, [lrs.LinearLR(o, 0.1, 1.0, 10), lrs.CosineAnnealingLR(o, 35),
                                           lrs.ExponentialLR(o, 0.8)], [10, 45]), case)


def plateaus():
    # Falls, stays within the threshold, falls again, and then only rises.
    losses = [1.0, 0.9, 0.8] + [0.8 - 1e-5 * t for t in range(6)] + [0.5, 0.4] + [0.4 + 0.01 * t for t in range(19)]
    plateau_case({"patience": 2}, losses)
    plateau_case({"patience": 1, "factor": 0.5, "cooldown": 3, "min_lr": 0.02}, losses, "cooldown")
    plateau_case({"mode": "max", "patience": 3, "threshold": 0.05, "threshold_mode": "abs"},
                 [0.1, 0.2, 0.24, 0.26, 0.3, 0.31, 0.32, 0.33, 0.34, 0.36, 0.37, 0.38, 0.39, 0.40, 0.405, 0.41], "max")
    plateau_case({"mode": "max", "patience": 0, "threshold": 0.1}, [0.5, 0.54, 0.56, 0.6, 0.7, 0.7], "max_rel")
    plateau_case({"patience": 0, "factor": 0.1, "eps": 1e-3}, [1.0] * 8, "eps")


def risen(warmup, rates, divisor=None):
    """ColossalAI's wrapper: a rise, then a schedule from its own step 0."""
    return [(t + 1) / (divisor or warmup + 1) * BASE for t in range(warmup)] + rates


def colossal():
    w = 12
    poly = lambda n, end, power: [(BASE - end) * (1 - min(t, n) / n) ** power + end for t in range(n)]
    cosine = lambda n, end=0.0: curve(lambda o: lrs.CosineAnnealingLR(o, n, end), n)
    formula_case("CosineAnnealingWarmupLR", {"warmup_steps": w, "eta_min": 0.002}, risen(w, cosine(T - w, 0.002)))
    flat = int(T * 0.72)
    formula_case("FlatAnnealingLR", {}, [BASE] * flat + cosine(T - flat))
    flat = int((T - w) * 0.6)
    rise = [(t + 1) / w * BASE for t in range(w)]
    formula_case("FlatAnnealingWarmupLR", {"warmup_steps": w, "pct_start": 0.6, "eta_min": 0.001},
                 rise + [BASE] * flat + cosine(T - w - flat, 0.001))
    for name in ["LinearWarmupLR", "LinearWarmupDecay"]:
        formula_case(name, {"warmup_steps": w}, risen(w, [(T - t) / (T - w) * BASE for t in range(w, T)]))
    inner = curve(lambda o: lrs.MultiStepLR(o, [30 - w, 50 - w], 0.2), T - w)
    formula_case("MultiStepWarmupLR", {"warmup_steps": w, "milestones": [5, 30, 50], "gamma": 0.2}, risen(w, inner))
    formula_case("PolynomialLR", {"power": 1.5}, poly(T, 1e-4, 1.5))
    formula_case("PolynomialWarmupLR", {"warmup_steps": w, "end_lr": 0.003, "power": 2.0},
                 risen(w, poly(T - w, 0.003, 2.0)))
    formula_case("Warmup", {"warmup_steps": w, "schedule": {"type": "CosineAnnealingLR"}}, risen(w, cosine(T - w)))
    # The other version of the rise, (t + 1) / w, and lengths as shares of the run: 0.2 of 60 is 12.
    other, shares = {"warmup_steps": w, "warmup_divisor": "w"}, {"warmup_ratio": 0.2}
    formula_case("CosineAnnealingWarmupLR", other, risen(w, cosine(T - w), w), "divisor")
    formula_case("CosineAnnealingWarmupLR", shares, risen(w, cosine(T - w)), "ratio")
    flat = int((T - w) * 0.72)
    formula_case("FlatAnnealingWarmupLR", {"warmup_steps": w, "warmup_divisor": "w+1"},
                 risen(w, [BASE] * flat + cosine(T - w - flat)), "divisor")
    formula_case("FlatAnnealingWarmupLR", shares, risen(w, [BASE] * flat + cosine(T - w - flat), w), "ratio")
    fall = [(T - t) / (T - w) * BASE for t in range(w, T)]
    for name in ["LinearWarmupLR", "LinearWarmupDecay"]:
        formula_case(name, other, risen(w, fall, w), "divisor")
        formula_case(name, shares, risen(w, fall), "ratio")
    formula_case("PolynomialWarmupLR", other, risen(w, poly(T - w, 1e-4, 1.0), w), "divisor")
    formula_case("PolynomialWarmupLR", shares, risen(w, poly(T - w, 1e-4, 1.0)), "ratio")
    formula_case("MultiStepWarmupLR", {**other, "milestones": [5, 30, 50], "gamma": 0.2}, risen(w, inner, w), "divisor")
    formula_case("MultiStepWarmupLR", {**shares, "milestones": [0.1, 0.5, 0.85], "gamma": 0.2},
                 risen(w, curve(lambda o: lrs.MultiStepLR(o, [30 - w, 51 - w], 0.2), T - w)), "ratio")
    formula_case("Warmup", {**shares, "warmup_divisor": "w", "schedule": {"type": "CosineAnnealingLR"}},
                 risen(w, cosine(T - w), w), "ratio")


def oneflow(inner, factor, warmup, method):
    """OneFlow's WarmUpLR without a prefix, and iMIX's factor on the schedule's own rate."""
    rates = []
    for t in range(T):
        a = t / warmup
        if t >= warmup:
            rates.append(inner[t])
        elif method == "linear":
            rates.append(BASE * (factor + (inner[warmup] / BASE - factor) * a))
        elif method == "constant":
            rates.append(BASE * factor)
        elif method == "scaled_linear":
            rates.append(inner[t] * (factor * (1 - a) + a))
        else:
            rates.append(inner[t] * factor)
    return rates


def oneflow_polynomial(steps, end, power, cycle):
    rates = []
    for t in range(T):
        whole = steps
        if cycle:
            t = max(t, 1)
            whole = steps * math.ceil(t / steps)
        else:
            t = min(t, steps)
        rates.append((BASE - end) * (1 - t / whole) ** power + end)
    return rates


def libai():
    w, factor = 10, 0.05
    cases = [
        ("WarmupCosineLR", {"alpha": 0.02},
         [BASE * ((1 - 0.02) * 0.5 * (1 + math.cos(math.pi * t / T)) + 0.02) for t in range(T)]),
        ("WarmupCosineAnnealingLR", {"eta_min": 0.004}, curve(lambda o: lrs.CosineAnnealingLR(o, T, 0.004))),
        ("WarmupStepLR", {"step_size": 9, "gamma": 0.6}, curve(lambda o: lrs.StepLR(o, 9, 0.6))),
        ("WarmupMultiStepLR", {"milestones": [6, 30, 50]}, curve(lambda o: lrs.MultiStepLR(o, [6, 30, 50], 0.1))),
        ("WarmupExponentialLR", {"gamma": 0.95}, curve(lambda o: lrs.ExponentialLR(o, 0.95))),
        ("WarmupPolynomialLR", {"power": 2.0}, oneflow_polynomial(T, 1e-4, 2.0, False)),
    ]
    for name, settings, inner in cases:
        for method in ["linear", "constant", "scaled_linear", "scaled_constant"]:
            if method == "linear" or name in ("WarmupCosineLR", "WarmupMultiStepLR"):
                more = {"warmup_factor": factor, "warmup_iter": w, "warmup_method": method}
                rates = oneflow(inner, factor, w, method)
                formula_case(name, {**settings, **more}, rates, "" if method == "linear" else method)
    # warmup_iter = ceil(train_iter * warmup_ratio), milestones = int(train_iter * ratio): auto_scale_hyperparams.
    for name, settings, inner in cases:
        if name == "WarmupMultiStepLR":
            settings = {"milestones": [0.1, 0.5, 0.84]}
            inner = curve(lambda o: lrs.MultiStepLR(o, [6, 30, 50], 0.1))
        more = {"warmup_factor": factor, "warmup_ratio": 0.16}
        formula_case(name, {**settings, **more}, oneflow(inner, factor, 10, "linear"), "ratio")
    settings = {"max_iter": 25, "cycle": True, "warmup_iter": w, "warmup_factor": factor}
    rates = oneflow(oneflow_polynomial(25, 1e-4, 1.0, True), factor, w, "linear")
    formula_case("WarmupPolynomialLR", settings, rates, "cycle")
    settings = {"warmup_steps": w, "warmup_factor": factor, "shift": False,
                "schedule": {"type": "ExponentialLR", "gamma": 0.95}}
    formula_case("Warmup", settings, oneflow(cases[4][2], factor, w, "linear"), "unshifted")


def imix():
    w = 15
    rise = lambda then: lambda t: t / w if t < w else then(t)
    left = lambda t: max(0.0, (T - t) / max(1, T - w))
    done = lambda t: (t - w) / max(1, T - w)
    # Hugging Face's ceil(steps * warmup_ratio): 15 too.
    for case, own, warm in [
        ("", {"warmup_iterations": w}, {"num_warmup_steps": w}),
        ("ratio", {"warmup_ratio": 0.24}, {"warmup_ratio": 0.24}),
    ]:
        formula_case("WarmupLinearScheduleNonZero", {**own, "min_lr": 0.004},
                     [max(r, 0.004) for r in factors(rise(left))], case)
        formula_case("WarmupConstantSchedule", warm, factors(rise(lambda t: 1.0)), case)
        formula_case("WarmupLinearSchedule", warm, factors(rise(left)), case)
        formula_case("WarmupCosineSchedule", {**warm, "num_cycles": 1.25},
                     factors(rise(lambda t: max(0.0, 0.5 * (1 + math.cos(math.pi * 1.25 * 2 * done(t)))))), case)
        formula_case("WarmupCosineWithHardRestartsSchedule", {**warm, "num_cycles": 4},
                     factors(rise(lambda t: 0.5 * (1 + math.cos(math.pi * ((4 * done(t)) % 1.0))))), case)
        formula_case("WarmupPolynomialSchedule", {**warm, "lr_end": 0.001, "power": 3.0},
                     factors(rise(lambda t: ((BASE - 0.001) * (1 - done(t)) ** 3 + 0.001) / BASE)), case)
    x = lambda t: t / T
    for method, then in [
        ("warmup_linear", lambda t: max((x(t) - 1) / (0.3 - 1), 0)),
        ("warmup_cosine", lambda t: 0.5 * (1 + math.cos(math.pi * x(t)))),
        ("warmup_constant", lambda t: 1.0),
    ]:
        function = lambda t: x(t) / 0.3 if x(t) < 0.3 else then(t)
        formula_case("BertWarmupLinearLR", {"warmup": 0.3, "warmup_method": method}, factors(function), method)
    for name in ["PythiaScheduler", "MultiStepScheduler"]:
        steps = [25, 50]
        settings = {"use_warmup": True, "lr_steps": steps, "lr_ratio": 0.2, "warmup_factor": 0.25,
                    "warmup_iterations": w}
        function = lambda t: 0.25 * (1 - t / w) + t / w if t <= w else 0.2 ** bisect_right(steps, t)
        formula_case(name, settings, factors(function))
        settings = {"use_warmup": True, "lr_steps": [0.42, 0.84], "lr_ratio": 0.2, "warmup_factor": 0.25,
                    "warmup_ratio": 0.24}
        formula_case(name, settings, factors(function), "ratio")


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.glob("*.json"):
        old.unlink()
    for family in (pytorch, plateaus, colossal, libai, imix):
        family()
    print(f"{len(list(OUT.glob('*.json')))} curves by torch {torch.__version__} in {OUT}")
