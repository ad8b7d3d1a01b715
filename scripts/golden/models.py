"""Golden outputs and gradients of the models. Made with torch 2.13.0.

    pip install torch==2.13.0 numpy
    python scripts/golden/models.py

writes host/engine/src/model/golden.json. The models are written out here in plain PyTorch, with the names of torchvision's ResNet
and of Hugging Face's GPT-2. Weights, inputs and the factors of the loss follow from a formula that the tests repeat in Rust (see
`numbers`), so that the file holds only what comes out: the output in evaluation; then of one pass in training the loss (the mean of
output times factor), the norm and a few values of each gradient, and the same of the buffers afterwards. Before them stand the
values that each `init` draws.

All of it but the draws is in doubles: there a CPU's order of summation is 1e-13 of a number, and a padding, an epsilon or a scale that
is not PyTorch's a million times that. Draws are in floats, as models make them; `condition` is by how much the orthogonal ones magnify
a rounding.
"""

import json
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

OUT = Path(__file__).parents[2] / "host/engine/src/model/golden.json"


def bits(count, stream):
    """Random bits of element i: a hash of i and the number of the stream."""
    x = np.arange(count, dtype=np.uint64) * 2654435761 + (stream + 1) * 97003 & 0xFFFFFFFF
    x ^= x >> 16
    x = x * 2246822519 & 0xFFFFFFFF
    x ^= x >> 13
    x = x * 3266489917 & 0xFFFFFFFF
    return x ^ x >> 16


def numbers(shape, stream):
    """Numbers in [-0.5, 0.5) in doubles."""
    return (bits(math.prod(shape), stream) / 2.0**32 - 0.5).reshape(shape)


def fill(name, tensor, stream):
    if tensor.dim() == 0:
        return
    values = numbers(tuple(tensor.shape), stream)
    if tensor.dim() >= 2:
        values = values * math.sqrt(12.0 / (tensor.numel() // tensor.shape[0]))
    elif name.endswith((".weight", ".running_var")):
        values = 1.0 + 0.5 * values
    with torch.no_grad():
        tensor.copy_(torch.from_numpy(values))


class LeNet(nn.Module):
    def __init__(self, channels, side, hidden, outputs, kernel, padding, avg=False, activation=F.relu):
        super().__init__()
        self.convs, self.linears = len(channels) - 1, len(hidden) + 1
        self.pool = F.avg_pool2d if avg else F.max_pool2d
        self.activation = activation
        for i, (a, b) in enumerate(zip(channels, channels[1:])):
            setattr(self, f"conv{i + 1}", nn.Conv2d(a, b, kernel, padding=padding))
            side = (side + 2 * padding - kernel + 1) // 2
        widths = [channels[-1] * side * side, *hidden, outputs]
        for i, (a, b) in enumerate(zip(widths, widths[1:])):
            setattr(self, f"fc{i + 1}", nn.Linear(a, b))

    def forward(self, x):
        for i in range(self.convs):
            x = self.pool(self.activation(getattr(self, f"conv{i + 1}")(x)), 2)
        x = x.flatten(1)
        for i in range(self.linears):
            x = getattr(self, f"fc{i + 1}")(x if i == 0 else self.activation(x))
        return x


class Block(nn.Module):
    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        self.bottleneck = bottleneck
        outputs = 4 * width if bottleneck else width
        sides = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)] if bottleneck else \
            [(inputs, width, 3, stride), (width, width, 3, 1)]
        for i, (a, b, side, step) in enumerate(sides):
            setattr(self, f"conv{i + 1}", nn.Conv2d(a, b, side, step, side // 2, bias=False))
            setattr(self, f"bn{i + 1}", nn.BatchNorm2d(b))
        self.downsample = None
        if stride > 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.bottleneck:
            y = self.bn3(self.conv3(F.relu(y)))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, counts, bottleneck, stem, width, channels, outputs):
        super().__init__()
        self.imagenet = stem == "imagenet"
        side, stride = (7, 2) if self.imagenet else (3, 1)
        self.conv1 = nn.Conv2d(channels, width, side, stride, side // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        inputs = width
        for group, count in enumerate(counts):
            blocks = []
            for i in range(count):
                blocks.append(Block(inputs, width << group, 2 if group and not i else 1, bottleneck))
                inputs = (width << group) * (4 if bottleneck else 1)
            setattr(self, f"layer{group + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(inputs, outputs)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        if self.imagenet:
            x = F.max_pool2d(x, 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Projection(nn.Module):
    """A linear layer with the layout of GPT-2's files."""

    def __init__(self, inputs, outputs, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs)) if bias else None

    def forward(self, x):
        y = x @ self.weight
        return y if self.bias is None else y + self.bias


class GptAttention(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.heads = heads
        self.c_attn = Projection(width, 3 * width, bias)
        self.c_proj = Projection(width, width, bias)

    def forward(self, x):
        batch, places, width = x.shape
        q, k, v = (part.view(batch, places, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).split(width, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        hidden = torch.ones(places, places, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
        return self.c_proj(mixed.transpose(1, 2).reshape(batch, places, width))


class GptMlp(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.c_fc = Projection(width, 4 * width, bias)
        self.c_proj = Projection(4 * width, width, bias)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class GptBlock(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, bias=bias)
        self.attn = GptAttention(width, heads, bias)
        self.ln_2 = nn.LayerNorm(width, bias=bias)
        self.mlp = GptMlp(width, bias)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, layers, heads, width, places, vocab, tied=True, bias=True):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(vocab, width), "wpe": nn.Embedding(places, width),
            "h": nn.ModuleList(GptBlock(width, heads, bias) for _ in range(layers)), "ln_f": nn.LayerNorm(width, bias=bias)})
        self.lm_head = nn.Linear(width, vocab, bias=False)
        if tied:
            self.lm_head.weight = self.transformer.wte.weight

    def forward(self, tokens):
        x = self.transformer.wte(tokens) + self.transformer.wpe(torch.arange(tokens.shape[1]))
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x))


class Sequential(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


class Residual(nn.Module):
    def __init__(self, *layers, projection=None):
        super().__init__()
        self.layers = nn.Sequential(*layers)
        self.projection = projection or nn.Identity()

    def forward(self, x):
        return self.layers(x) + self.projection(x)


class Positional(nn.Embedding):
    def forward(self, x):
        return x + self.weight[: x.shape[1]]


class Attention(nn.MultiheadAttention):
    def forward(self, x):
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return super().forward(x, x, x, attn_mask=mask, need_weights=False)[0]


IMAGE_LAYERS = [
    {"type": "conv", "outputs": 6, "kernel": 3, "padding": 1, "groups": 3, "bias": False},
    {"type": "norm"},
    {"type": "activation", "kind": "leaky_relu"},
    {"type": "pool", "kind": "max", "kernel": 3, "stride": 2, "padding": 1},
    {"type": "residual", "projection": True, "layers": [
        {"type": "conv", "outputs": 8, "stride": 2, "padding": 1},
        {"type": "norm", "kind": "group", "groups": 4},
        {"type": "activation"},
        {"type": "residual", "layers": [{"type": "conv", "outputs": 8, "kernel": 1}, {"type": "norm", "kind": "layer"}]},
    ]},
    {"type": "pool", "kind": "avg"},
    {"type": "flatten"},
    {"type": "dropout", "share": 0.0},
    {"type": "linear", "outputs": 5, "bias": False},
    {"type": "norm", "kind": "batch"},
    {"type": "linear"},
]


def image_layers():
    return Sequential(
        nn.Conv2d(3, 6, 3, padding=1, groups=3, bias=False), nn.BatchNorm2d(6), nn.LeakyReLU(), nn.MaxPool2d(3, 2, 1),
        Residual(nn.Conv2d(6, 8, 3, 2, 1), nn.GroupNorm(4, 8), nn.ReLU(),
                 Residual(nn.Conv2d(8, 8, 1), nn.LayerNorm([8, 4, 4])), projection=nn.Conv2d(6, 8, 1, 2, bias=False)),
        nn.AvgPool2d(2), nn.Flatten(), nn.Dropout(0.0), nn.Linear(32, 5, bias=False), nn.BatchNorm1d(5), nn.Linear(5, 4))


ROW_LAYERS = [
    {"type": "embedding", "width": 8},
    {"type": "positional"},
    {"type": "residual", "layers": [{"type": "norm", "kind": "layer"}, {"type": "attention", "heads": 2, "causal": True}]},
    {"type": "activation", "kind": "gelu"},
    {"type": "linear"},
]


def row_layers():
    return Sequential(nn.Embedding(11, 8), Positional(6, 8), Residual(nn.LayerNorm(8), Attention(8, 2, batch_first=True)),
                      nn.GELU(), nn.Linear(8, 11))


# type, settings, shape of a sample, classes, batch, the model in torch; a shape of one side is a row of tokens
CASES = [
    ("LeNet", {}, [3, 32, 32], 10, 4, lambda: LeNet([3, 6, 16], 32, [120, 84], 10, 5, 0)),
    ("LeNet", {"channels": [3, 5, 7], "kernel": 3, "padding": 1, "hidden": [], "pool": "avg", "activation": "silu"},
     [1, 9, 9], 4, 3, lambda: LeNet([1, 3, 5, 7], 9, [], 4, 3, 1, True, F.silu)),
    ("ResNet", {"depth": 18, "stem": "cifar", "width": 4}, [1, 14, 14], 5, 4,
     lambda: ResNet([2, 2, 2, 2], False, "cifar", 4, 1, 5)),
    ("ResNet", {"depth": 34, "stem": "imagenet", "width": 4}, [3, 48, 48], 5, 3,
     lambda: ResNet([3, 4, 6, 3], False, "imagenet", 4, 3, 5)),
    ("ResNet", {"depth": 50, "stem": "imagenet", "width": 2}, [3, 48, 48], 5, 3,
     lambda: ResNet([3, 4, 6, 3], True, "imagenet", 2, 3, 5)),
    ("GPT", {"layers": 2, "heads": 3, "width": 12}, [7], 13, 3, lambda: Gpt(2, 3, 12, 7, 13)),
    ("GPT", {"layers": 1, "heads": 2, "width": 8, "tied": False, "bias": False}, [5], 9, 2,
     lambda: Gpt(1, 2, 8, 5, 9, tied=False, bias=False)),
    ("Sequential", {"layers": IMAGE_LAYERS}, [3, 15, 15], 4, 3, image_layers),
    ("Sequential", {"layers": ROW_LAYERS}, [6], 11, 2, row_layers),
]


# init as a config writes it, the same in torch
INITS = [
    ({"type": "kaiming_uniform"}, lambda w: nn.init.kaiming_uniform_(w, nonlinearity="relu")),
    ({"type": "kaiming_normal", "fan": "out"}, lambda w: nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu")),
    ({"type": "kaiming_normal", "gain": 1.0}, lambda w: nn.init.kaiming_normal_(w, nonlinearity="linear")),
    ({"type": "xavier_uniform"}, nn.init.xavier_uniform_),
    ({"type": "xavier_normal", "gain": 2.0}, lambda w: nn.init.xavier_normal_(w, gain=2.0)),
    ({"type": "normal"}, lambda w: nn.init.normal_(w, std=0.02)),
    ({"type": "normal", "std": 1.5}, lambda w: nn.init.normal_(w, std=1.5)),
    ({"type": "trunc_normal"}, lambda w: nn.init.trunc_normal_(w, std=0.02)),
    ({"type": "trunc_normal", "std": 2.0}, lambda w: nn.init.trunc_normal_(w, std=2.0)),
    ({"type": "orthogonal"}, nn.init.orthogonal_),
    ({"type": "orthogonal", "gain": 3.0}, lambda w: nn.init.orthogonal_(w, gain=3.0)),
]


def init(settings, draw):
    """What seed 7 draws for a kernel of 4 outputs, 3 inputs and 2x2 places, and for a matrix of 7 outputs and 5 inputs."""
    values, condition = [], 1.0
    for shape in ([4, 3, 2, 2], [7, 5]):
        torch.manual_seed(7)
        values.append(draw(torch.empty(shape, dtype=torch.float32)).double().flatten().tolist())
        if settings["type"] == "orthogonal":
            torch.manual_seed(7)
            drawn = torch.empty(shape[0], math.prod(shape[1:]), dtype=torch.float32).normal_()
            condition = max(condition, torch.linalg.cond(drawn.double()).item())
    return {"init": settings, "condition": condition, "kernel": values[0], "matrix": values[1]}


def sample(tensor):
    """The norm, and up to six values evenly spread over the tensor."""
    flat = tensor.detach().double().flatten()
    places = [i * (len(flat) - 1) // 5 for i in range(6)]
    return {"norm": flat.norm().item(), "values": flat[places].tolist()}


def case(name, settings, shape, classes, batch, build):
    model = build()
    params, buffers = list(model.named_parameters()), list(model.named_buffers())
    for stream, (key, tensor) in enumerate(params + buffers):
        fill(key, tensor, stream)
    streams = len(params) + len(buffers)
    inputs = torch.from_numpy(numbers((batch, *shape), streams))
    if len(shape) == 1:
        tokens = bits(batch * shape[0], streams) % classes
        inputs = torch.from_numpy(tokens.astype(np.int64)).view(batch, *shape)
    model.eval()
    output = model(inputs).detach()
    model.train()
    factors = torch.from_numpy(numbers(tuple(output.shape), streams + 1))
    loss = (model(inputs) * factors).mean()
    loss.backward()
    return {"type": name, "settings": settings, "input": shape, "classes": classes, "batch": batch,
            "output": output.flatten().tolist(), "output_shape": list(output.shape), "loss": loss.item(),
            "params": [{"name": key, "shape": list(tensor.shape), **sample(tensor.grad)} for key, tensor in params],
            "buffers": [{"name": key, "shape": list(tensor.shape), **sample(tensor)} for key, tensor in buffers]}


def rounded(value):
    """Thirteen digits are more than any two CPUs agree on."""
    if isinstance(value, float):
        return float(f"{value:.13g}")
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list) else value


def main():
    assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    rows = ",\n".join(json.dumps(rounded(case(*row)), separators=(",", ":")) for row in CASES)
    inits = ",\n".join(json.dumps(rounded(init(*row)), separators=(",", ":")) for row in INITS)
    OUT.write_text(f'{{"made_with": "torch 2.13.0", "inits": [\n{inits}\n], "cases": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
