"""Seconds of an epoch with PyTorch's DistributedDataParallel: two ranks over Gloo, one thread each.

    cargo xtask bench --ranks

calls this beside hookrack, with the same models, batches and optimizers. The data are in memory and batches are slices of them:
nothing is loaded. Prints the seconds of each epoch of rank 0, as JSON.
"""

import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

RANKS = 2


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 256), nn.ReLU(), nn.Linear(256, 10))


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
    def __init__(self, layers=6, heads=6, width=384, places=128, vocab=256):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(places, width)
        self.blocks, self.ln_f = nn.Sequential(*(Block(width, heads) for _ in range(layers))), nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        # The head shares the embedding.
        return F.linear(self.ln_f(self.blocks(x)), self.wte.weight)


def images(rows):
    return torch.rand(rows, 1, 28, 28), torch.randint(10, (rows,))


def texts(rows):
    tokens = torch.randint(256, (rows, 129))
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


CASES = {"MLP": (mlp, images), "LeNet": (lenet, images), "GPT": (Gpt, texts)}


def train(rank, args, out):
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(args.port)}
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    model, data = CASES[args.model]
    model = DistributedDataParallel(model(), gradient_as_bucket_view=True)
    if args.model == "GPT":
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    share = args.batch // RANKS
    inputs, labels = data(args.iters * share)
    seconds = []
    for _ in range(args.epochs):
        began = time.perf_counter()
        for i in range(args.iters):
            rows = slice(i * share, (i + 1) * share)
            loss = F.cross_entropy(model(inputs[rows]).flatten(0, -2), labels[rows].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        seconds.append(time.perf_counter() - began)
    if rank == 0:
        Path(out).write_text(json.dumps({"seconds": seconds, "parameters": sum(p.numel() for p in model.parameters())}))
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=CASES, required=True)
    for name in ["batch", "iters", "epochs", "port"]:
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    mp.spawn(train, (args, args.out), RANKS)
