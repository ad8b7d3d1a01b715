"""Models, batches and optimizers of all peers that use PyTorch; hookrack has the same (`bench/peers/*.toml`)."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import data
from task import ADAMW, EMA_DECAY, SGD


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))


class BasicBlock(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = nn.Identity()
        if stride != 1 or inputs != width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += self.downsample(x)
        return self.relu(out)


def resnet18(width=16):
    layers = [nn.Conv2d(1, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
    inputs = width
    for group in range(4):
        for index in range(2):
            outputs = width << group
            layers.append(BasicBlock(inputs, outputs, 2 if group > 0 and index == 0 else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, places, width = x.shape
        q, k, v = (part.view(batch, places, self.heads, -1).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).split(width, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(mixed.transpose(1, 2).reshape(batch, places, width))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, layers=4, heads=4, width=128, places=data.CONTEXT, vocab=256):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(places, width)
        self.blocks, self.ln_f = nn.Sequential(*(Block(width, heads) for _ in range(layers))), nn.LayerNorm(width)
        for embedding in (self.wte, self.wpe):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        # The head shares the embedding.
        return F.linear(self.ln_f(self.blocks(x)), self.wte.weight)


MODELS = {"mlp": mlp, "mlp_ema": mlp, "cnn": cnn, "resnet18": resnet18, "gpt": Gpt}


def model(task):
    """One thread, one seed, and the model to train."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    return MODELS[task.model]().train()


def loss(output, labels):
    return F.cross_entropy(output.flatten(0, -2), labels.flatten())


def optimizer(task, parameters, fused):
    if task.model == "gpt":
        return torch.optim.AdamW(parameters, **ADAMW, fused=fused)
    return torch.optim.SGD(parameters, **SGD, fused=fused)


def average(model):
    """PyTorch's own exponential moving average of the weights."""
    return AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(EMA_DECAY))


class Batches(torch.utils.data.Dataset):
    """The batch of each step: a slice of the data in memory, scaled to 0..1 if it is of images."""

    def __init__(self, task):
        self.task, self.is_text = task, task.model == "gpt"
        # A copy, because PyTorch wants memory that it may write to.
        self.inputs, self.labels = (torch.from_numpy(part.copy()) for part in data.load(task))
        if not self.is_text:
            self.labels = self.labels.long()

    def __len__(self):
        return self.task.total

    def __getitem__(self, step):
        rows = data.rows_of(self.task, len(self.inputs), step)
        inputs, labels = self.inputs[rows], self.labels[rows]
        return (inputs.long(), labels.long()) if self.is_text else (inputs.float().div_(255), labels)


def loader(task):
    """A DataLoader of whole batches: nothing is collated sample by sample."""
    return torch.utils.data.DataLoader(Batches(task), batch_size=None)
