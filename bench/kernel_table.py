"""The kernels that `bench.kernels` times: each as a torch function and as an array function.

The array function takes its namespace first, so that it runs under NumPy and under jax.numpy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812 - its usual name

Inputs = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Kernel:
    """A function with its example inputs.

    `limit` says what bounds it: memory, compute (vector units) or call (the cost of a call).
    `traffic` is the bytes that it must move at least, where that is not all of its inputs and
    results. `array` is None where only torch has the function, `numpy` False where NumPy has none.
    """

    name: str
    limit: str
    inputs: Callable[[], Inputs]
    torch: Callable[..., Any]
    array: Callable[..., Any] | None
    traffic: int | None = None
    numpy: bool = True


def randn(*shapes: tuple[int, ...]) -> Callable[[], Inputs]:
    """Makes standard normal f32 tensors of these shapes."""

    def make() -> Inputs:
        generator = torch.Generator().manual_seed(0)
        return tuple(torch.randn(shape, generator=generator) for shape in shapes)

    return make


# Array functions of more than one expression


def softmax(xp: Any, x: Any) -> Any:
    """Softmax over the last dimension."""
    e = xp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(xp: Any, x: Any, weight: Any, bias: Any) -> Any:
    """Layer norm over the last dimension."""
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * weight + bias


def rms_norm(xp: Any, x: Any, weight: Any) -> Any:
    """Root mean square norm over the last dimension."""
    return x / xp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight


def cross_entropy(xp: Any, x: Any, labels: Any) -> Any:
    """Mean cross entropy of logits and class labels."""
    top = x.max(-1, keepdims=True)
    total = xp.log(xp.exp(x - top).sum(-1)) + top[:, 0]
    return (total - xp.take_along_axis(x, labels[:, None], -1)[:, 0]).mean()


def group_norm(xp: Any, x: Any) -> Any:
    """Group norm of 32 groups without weights."""
    grouped = x.reshape(x.shape[0], 32, -1)
    centred = grouped - grouped.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return (centred / xp.sqrt(variance + 1e-5)).reshape(x.shape)


def batch_norm(xp: Any, x: Any, mean: Any, variance: Any, weight: Any, bias: Any) -> Any:
    """Batch norm for inference, NCHW."""
    scale = weight / xp.sqrt(variance + 1e-5)
    shift = bias - mean * scale
    return x * scale[:, None, None] + shift[:, None, None]


def rotary(xp: Any, x: Any, cos: Any, sin: Any) -> Any:
    """Rotary position embedding."""
    half = x.shape[-1] // 2
    turned = xp.concatenate([-x[..., half:], x[..., :half]], -1)
    return x * cos + turned * sin


def torch_rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """The same in torch."""
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def sigmoid(xp: Any, x: Any) -> Any:
    """The logistic function."""
    return 1 / (1 + xp.exp(-x))


def gelu(xp: Any, x: Any) -> Any:
    """Gelu by erf (jax only)."""
    from jax.scipy.special import erf

    return 0.5 * x * (1 + erf(x * 0.7071067811865476))


def channels_last(xp: Any, x: Any) -> Any:
    """NCHW to NHWC, doubled; NumPy alone would keep the old layout in memory."""
    doubled = xp.transpose(x, (0, 2, 3, 1)) * 2.0
    return xp.ascontiguousarray(doubled) if xp.__name__ == "numpy" else doubled


# Inputs that are not all random normals


def tokens_and_table(count: int, rows: int, width: int) -> Callable[[], Inputs]:
    """Row numbers, a table, positions, weight and bias of a layer norm."""

    def make() -> Inputs:
        generator = torch.Generator().manual_seed(0)
        ids = torch.randint(rows, (count,), generator=generator)
        return ids, *randn((rows, width), (count, width), (width,), (width,))()

    return make


def logits_and_labels(count: int, classes: int) -> Callable[[], Inputs]:
    """Logits and a class label for each row."""

    def make() -> Inputs:
        labels = torch.randint(classes, (count,), generator=torch.Generator().manual_seed(0))
        return *randn((count, classes))(), labels

    return make


def positive_variance(batch: int, channels: int, size: int) -> Callable[[], Inputs]:
    """Images with statistics, weights and biases of their channels."""

    def make() -> Inputs:
        c = (channels,)
        x, mean, variance, weight, bias = randn((batch, channels, size, size), c, c, c, c)()
        return x, mean, variance.abs() + 0.5, weight, bias

    return make


def _sized(rows: int, width: int) -> list[Kernel]:
    """The kernels that memory bounds, for one size of matrix."""
    at = f"{rows}x{width}"
    matrix, row = (rows, width), (width,)
    classes = 32000
    samples = rows * width // classes
    count, table_rows, embedded = rows * width // 768, 30000, 768
    return [
        Kernel(
            f"add {at}", "memory", randn(matrix, matrix),
            lambda x, y: x + y, lambda xp, x, y: x + y,
        ),
        Kernel(
            f"bias + relu {at}", "memory", randn(matrix, row),
            lambda x, b: torch.relu(x + b), lambda xp, x, b: xp.maximum(x + b, 0),
        ),
        Kernel(
            f"softmax {at}", "memory", randn(matrix),
            lambda x: torch.softmax(x, -1), softmax,
        ),
        Kernel(
            f"layer norm {at}", "memory", randn(matrix, row, row),
            lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), layer_norm,
        ),
        Kernel(
            f"rms norm {at}", "memory", randn(matrix, row),
            lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-5), rms_norm,
        ),
        Kernel(
            f"cross entropy {samples}x{classes}", "memory", logits_and_labels(samples, classes),
            F.cross_entropy, cross_entropy,
        ),
        Kernel(
            f"column sum {at}", "memory", randn(matrix),
            lambda x: x.sum(0), lambda xp, x: x.sum(0),
        ),
        Kernel(
            f"transpose + add {at}", "memory", randn(matrix, matrix[::-1]),
            lambda x, y: x + y.T, lambda xp, x, y: x + y.T,
        ),
        Kernel(
            f"embedding + add + layer norm {count}x{embedded}", "memory",
            tokens_and_table(count, table_rows, embedded),
            lambda i, t, p, w, b: F.layer_norm(F.embedding(i, t) + p, t.shape[-1:], w, b),
            lambda xp, i, t, p, w, b: layer_norm(xp, t[i] + p, w, b),
            traffic=3 * 4 * count * embedded,
        ),
    ]  # fmt: skip


_COMPUTE = [
    Kernel(
        "gelu(x+b)*tanh(x)+exp(-x*x) 1024x4096", "compute", randn((1024, 4096), (4096,)),
        lambda x, b: F.gelu(x + b) * torch.tanh(x) + torch.exp(-x * x),
        lambda xp, x, b: gelu(xp, x + b) * xp.tanh(x) + xp.exp(-x * x),
        numpy=False,
    ),
    Kernel(
        "sin(x)*cos(x)+sigmoid(x) 1024x1024", "compute", randn((1024, 1024)),
        lambda x: torch.sin(x) * torch.cos(x) + torch.sigmoid(x),
        lambda xp, x: xp.sin(x) * xp.cos(x) + sigmoid(xp, x),
    ),
    Kernel(
        "log1p(exp(x))*tanh(x) 1024x1024", "compute", randn((1024, 1024)),
        lambda x: torch.log1p(torch.exp(x)) * torch.tanh(x),
        lambda xp, x: xp.log1p(xp.exp(x)) * xp.tanh(x),
    ),
    Kernel(
        "|x|**y 1024x1024", "compute", randn((1024, 1024), (1024, 1024)),
        lambda x, y: x.abs() ** y, lambda xp, x, y: abs(x) ** y,
    ),
    Kernel(
        "gelu 512x3072", "compute", randn((512, 3072)),
        lambda x: F.gelu(x), gelu, numpy=False,
    ),
    Kernel(
        "atan2(x, y) 1024x1024", "compute", randn((1024, 1024), (1024, 1024)),
        torch.atan2, lambda xp, x, y: xp.arctan2(x, y),
    ),
]  # fmt: skip

_MIXED = [
    Kernel(
        "silu(x) * y 2048x2048", "memory", randn((2048, 2048), (2048, 2048)),
        lambda x, y: F.silu(x) * y, lambda xp, x, y: x * sigmoid(xp, x) * y,
    ),
    Kernel(
        "rotary 12x512x64", "memory", randn((12, 512, 64), (512, 64), (512, 64)),
        torch_rotary, rotary,
    ),
    Kernel(
        "cat of two halves 2048x2048", "memory", randn((2048, 1024), (2048, 1024)),
        lambda x, y: torch.cat([x * 2, y + 1], 1),
        lambda xp, x, y: xp.concatenate([x * 2, y + 1], 1),
    ),
    Kernel(
        "pad 2 on each side 64x256x256", "memory", randn((64, 256, 256)),
        lambda x: F.pad(x, (2, 2, 2, 2)), lambda xp, x: xp.pad(x, ((0, 0), (2, 2), (2, 2))),
    ),
    Kernel(
        "group norm 4x64x64x64", "memory", randn((4, 64, 64, 64)),
        lambda x: F.group_norm(x, 32), group_norm,
    ),
    Kernel(
        "batch norm + relu 8x64x56x56", "memory", positive_variance(8, 64, 56),
        lambda x, m, v, w, b: torch.relu(F.batch_norm(x, m, v, w, b)),
        lambda xp, x, m, v, w, b: xp.maximum(batch_norm(xp, x, m, v, w, b), 0),
    ),
    Kernel(
        "NCHW to NHWC 8x64x56x56", "memory", randn((8, 64, 56, 56)),
        lambda x: x.permute(0, 2, 3, 1).contiguous() * 2.0,
        channels_last,
    ),
    Kernel(
        "softmax over dim 0 1024x1024", "memory", randn((1024, 1024)),
        lambda x: torch.softmax(x, 0), lambda xp, x: softmax(xp, x.T).T,
    ),
    Kernel(
        "variance of rows 4096x1024", "memory", randn((4096, 1024)),
        lambda x: x.var(-1, correction=0), lambda xp, x: x.var(-1),
    ),
    Kernel(
        "sum of all 8M", "memory", randn((8 << 20,)),
        lambda x: x.sum(), lambda xp, x: x.sum(),
    ),
    Kernel(
        "mean and max of rows 4096x1024", "memory", randn((4096, 1024)),
        lambda x: (x.mean(-1), x.amax(-1)), lambda xp, x: (x.mean(-1), x.max(-1)),
    ),
    Kernel(
        "argmax of rows 4096x1024", "memory", randn((4096, 1024)),
        lambda x: x.argmax(-1), lambda xp, x: x.argmax(-1),
    ),
    Kernel(
        "cumulative sum of rows 1024x1024", "memory", randn((1024, 1024)),
        lambda x: x.cumsum(-1), lambda xp, x: x.cumsum(-1),
    ),
    Kernel(
        "outer difference 1024x1024", "memory", randn((1024,), (1024,)),
        lambda x, y: (x[:, None] - y).abs(), lambda xp, x, y: abs(x[:, None] - y),
    ),
    Kernel(
        "three pointwise ops on 16", "call", randn((16,), (16,), (16,)),
        lambda x, y, z: torch.relu(x * y + z), lambda xp, x, y, z: xp.maximum(x * y + z, 0),
    ),
    Kernel(
        "softmax 8x64", "call", randn((8, 64)),
        lambda x: torch.softmax(x, -1), softmax,
    ),
]  # fmt: skip

KERNELS: tuple[Kernel, ...] = (
    *_sized(256, 512),
    *_sized(1024, 2048),
    *_sized(8192, 2048),
    *_COMPUTE,
    *_MIXED,
)
"""All kernels: nine that memory bounds in sizes within L2, within L3 and beyond, and others."""
