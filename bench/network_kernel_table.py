"""Kernels of networks that `bench.kernels` times beside torch: attention, pooling, windows, search.

Each is there in f32 and in bf16, but for complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812 - its usual name

from bench.kernel_table import Inputs, Kernel, randn

_NAMES = {torch.float32: "f32", torch.bfloat16: "bf16"}
ATTENTION_KEYS = (512, 2048, 8192)


def _in(kind: torch.dtype, make: Callable[[], Inputs]) -> Callable[[], Inputs]:
    return lambda: tuple(tensor.to(kind) for tensor in make())


def _complex_rotary(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """Pairs of neighbours turned by a complex multiplication, as Llama's own code has it."""
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.view_as_complex(angles)
    return torch.view_as_real(turned).flatten(-2)


def _attention(keys: int, kind: torch.dtype) -> list[Kernel]:
    heads = 8 if keys <= 2048 else 2
    inputs = _in(kind, randn(*[(1, heads, keys, 64)] * 3))
    return [
        Kernel(
            f"attention {heads}x{keys}x64{', causal' * causal} {_NAMES[kind]}", "compute", inputs,
            partial(F.scaled_dot_product_attention, is_causal=causal), None,
        )
        for causal in (False, True)
    ]  # fmt: skip


def _of(kind: torch.dtype) -> list[Kernel]:
    """The kernels in one element type."""
    image, rows = (8, 64, 112, 112), (4096, 1024)

    def kernel(name: str, limit: str, make: Callable[[], Inputs], function: Any) -> Kernel:
        return Kernel(f"{name} {_NAMES[kind]}", limit, _in(kind, make), function, None)

    return [
        kernel(
            "max pool 3x3 by 2 8x64x112x112", "memory", randn(image),
            lambda x: F.max_pool2d(x, 3, 2, 1),
        ),
        kernel(
            "average pool 3x3 by 2 8x64x112x112", "memory", randn(image),
            lambda x: F.avg_pool2d(x, 3, 2, 1),
        ),
        kernel(
            "depthwise 3x3 1x144x56x56", "compute", randn((1, 144, 56, 56), (144, 1, 3, 3)),
            lambda x, w: F.conv2d(x, w, padding=1, groups=144),
        ),
        kernel(
            "depthwise 7x7 1x96x56x56", "compute", randn((1, 96, 56, 56), (96, 1, 7, 7)),
            lambda x, w: F.conv2d(x, w, padding=3, groups=96),
        ),
        kernel(
            "top 50 of 4x50257", "memory", randn((4, 50257)),
            lambda x: torch.topk(x, 50).values,
        ),
        kernel("argmax of rows 4096x1024", "memory", randn(rows), lambda x: x.argmax(-1)),
        kernel(
            "mean and variance of rows 4096x1024", "memory", randn(rows),
            lambda x: torch.var_mean(x, -1),
        ),
        *(k for keys in ATTENTION_KEYS for k in _attention(keys, kind)),
    ]  # fmt: skip


NETWORK_KERNELS: tuple[Kernel, ...] = (
    *_of(torch.float32),
    Kernel(
        "complex rotary 1x512x32x128", "memory", randn((1, 512, 32, 128), (512, 1, 64, 2)),
        _complex_rotary, None,
    ),
    *_of(torch.bfloat16),
)  # fmt: skip
