"""The same models in JAX: functions of (parameters, statistics, batch); images are NHWC, which XLA prefers on a CPU."""

import jax
import jax.numpy as jnp
import numpy as np

from data import CONTEXT


class Draws:
    """Initial values with the distributions of PyTorch's layers."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def normal(self, *shape, std=0.02):
        return jnp.asarray(self.random.normal(0, std, shape), jnp.float32)

    def uniform(self, bound, *shape):
        return jnp.asarray(self.random.uniform(-bound, bound, shape), jnp.float32)

    def linear(self, inputs, outputs):
        bound = inputs**-0.5
        return {"w": self.uniform(bound, inputs, outputs), "b": self.uniform(bound, outputs)}

    def conv(self, side, inputs, outputs, bias=False):
        bound = (side * side * inputs) ** -0.5
        kernel = {"w": self.uniform(bound, side, side, inputs, outputs)}
        return kernel | ({"b": self.uniform(bound, outputs)} if bias else {})


def norm(width):
    return {"scale": jnp.ones(width), "shift": jnp.zeros(width)}


def linear(p, x):
    return x @ p["w"] + p["b"]


def conv(p, x, stride=1, padding=None):
    side = p["w"].shape[0] // 2 if padding is None else padding
    out = jax.lax.conv_general_dilated(x, p["w"], (stride, stride), [(side, side)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return out + p["b"] if "b" in p else out


def max_pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def images(bytes_):
    return bytes_.astype(jnp.float32).transpose(0, 2, 3, 1) / 255


def mlp(draws):
    params = [draws.linear(784, 64), draws.linear(64, 10)]

    def forward(p, statistics, inputs):
        x = images(inputs).reshape(inputs.shape[0], -1)
        return linear(p[1], jax.nn.relu(linear(p[0], x))), statistics

    return params, {}, forward


def cnn(draws):
    params = [draws.conv(5, 1, 16, bias=True), draws.conv(5, 16, 32, bias=True), draws.linear(32 * 7 * 7, 128), draws.linear(128, 10)]

    def forward(p, statistics, inputs):
        x = images(inputs)
        for kernel in p[:2]:
            x = max_pool(jax.nn.relu(conv(kernel, x)))
        x = jax.nn.relu(linear(p[2], x.reshape(x.shape[0], -1)))
        return linear(p[3], x), statistics

    return params, {}, forward


def batch_norm(p, running, x):
    """As in training: by the batch's own statistics, which also move the running ones."""
    mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
    moved = {"mean": 0.9 * running["mean"] + 0.1 * mean, "var": 0.9 * running["var"] + 0.1 * var}
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p["scale"] + p["shift"], moved


def resnet18(draws, width=16):
    strides = [2 if group > 0 and index == 0 else 1 for group in range(4) for index in range(2)]
    widths = [width << group for group in range(4) for _ in range(2)]
    params = {"stem": draws.conv(3, 1, width), "stem_norm": norm(width), "blocks": [], "head": draws.linear(widths[-1], 10)}
    inputs = width
    for outputs, stride in zip(widths, strides):
        block = {"conv1": draws.conv(3, inputs, outputs), "bn1": norm(outputs), "conv2": draws.conv(3, outputs, outputs), "bn2": norm(outputs)}
        if stride != 1 or inputs != outputs:
            block |= {"down": draws.conv(1, inputs, outputs), "down_norm": norm(outputs)}
        params["blocks"].append(block)
        inputs = outputs
    start = lambda width: {"mean": jnp.zeros(width), "var": jnp.ones(width)}
    norms = [{name: start(block[name]["scale"].shape[0]) for name in block if "scale" in block[name]} for block in params["blocks"]]
    statistics = {"stem_norm": start(width), "blocks": norms}

    def forward(p, running, inputs):
        moved = {"blocks": []}
        x, moved["stem_norm"] = batch_norm(p["stem_norm"], running["stem_norm"], conv(p["stem"], images(inputs)))
        x = jax.nn.relu(x)
        for block, stride, before in zip(p["blocks"], strides, running["blocks"]):
            after = {}
            out, after["bn1"] = batch_norm(block["bn1"], before["bn1"], conv(block["conv1"], x, stride))
            out, after["bn2"] = batch_norm(block["bn2"], before["bn2"], conv(block["conv2"], jax.nn.relu(out)))
            if "down" in block:
                x, after["down_norm"] = batch_norm(block["down_norm"], before["down_norm"], conv(block["down"], x, stride))
            x = jax.nn.relu(out + x)
            moved["blocks"].append(after)
        return linear(p["head"], x.mean((1, 2))), moved

    return params, statistics, forward


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * p["scale"] + p["shift"]


def gpt(draws, layers=4, heads=4, width=128, vocab=256):
    block = lambda: {
        "ln_1": norm(width), "c_attn": draws.linear(width, 3 * width), "c_proj": draws.linear(width, width),
        "ln_2": norm(width), "c_fc": draws.linear(width, 4 * width), "c_out": draws.linear(4 * width, width)}
    params = {"wte": draws.normal(vocab, width), "wpe": draws.normal(CONTEXT, width), "blocks": [block() for _ in range(layers)], "ln_f": norm(width)}

    def attend(p, x):
        q, k, v = (part.reshape(*x.shape[:2], heads, -1) for part in jnp.split(linear(p["c_attn"], layer_norm(p["ln_1"], x)), 3, -1))
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return linear(p["c_proj"], mixed.reshape(x.shape))

    def forward(p, statistics, tokens):
        x = p["wte"][tokens.astype(jnp.int32)] + p["wpe"][: tokens.shape[1]]
        for each in p["blocks"]:
            x = x + attend(each, x)
            x = x + linear(each["c_out"], jax.nn.gelu(linear(each["c_fc"], layer_norm(each["ln_2"], x)), approximate=True))
        # The head shares the embedding.
        return layer_norm(p["ln_f"], x) @ p["wte"].T, statistics

    return params, {}, forward


MODELS = {"mlp": mlp, "mlp_ema": mlp, "cnn": cnn, "resnet18": resnet18, "gpt": gpt}
