"""Masks of positions under which whole blocks of keys are left out: results as eager mode's.

Beside eager mode step by step, in which every masked weight is multiplied: an infinite value counts
even where its weight is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np
import pytest
import torch
from attention_tolerances import TOLERANCES

import lamina
from lamina.runtime.interpreters.run import run_module

pytestmark = pytest.mark.one_in(5)

Tensor = torch.Tensor
Mask = Callable[[Tensor, Tensor], Tensor]

MASKS: dict[str, Mask] = {
    "causal": lambda i, j: j <= i,
    "strictly before": lambda i, j: j < i,
    "shifted": lambda i, j: i + 40 > j,
    "late": lambda i, j: j + 50 <= i,
    "after": lambda i, j: i <= j,
    "window": lambda i, j: (j <= i) & (i - j < 37),
    "around": lambda i, j: ((i - j) < 20) & ((j - i) < 20),
    "prefix": lambda i, j: (j < 70) | (j <= i),
    "window and end": lambda i, j: (i - j < 37) & (j <= i) | (j >= 100) & (j <= i),
    "out of reach": lambda i, j: j - 1000 > i,
}


class Attention(torch.nn.Module):
    """softmax(q k^T / 8) v under a mask of positions, in steps."""

    def __init__(self, mask: Mask) -> None:
        super().__init__()
        self.mask = mask

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        row, key = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
        scores = (q @ k.transpose(-1, -2)) * 0.125
        scores = scores.masked_fill(~self.mask(row, key), -inf)
        return scores.softmax(-1) @ v


def arguments(
    heads: int, rows: int, keys: int, dtype: torch.dtype = torch.float32, seed: int = 0
) -> list[Tensor]:
    made = torch.Generator().manual_seed(seed)
    shapes = [(heads, rows, 64), (heads, keys, 64), (heads, keys, 64)]
    return [torch.randn(shape, generator=made).to(dtype) for shape in shapes]


def compiled_for(module: torch.nn.Module, given: list[Tensor], *, bounded: bool = True) -> Any:
    compiled = lamina.compile(torch.export.export(module, tuple(given)))
    assert ("lamina.bounds" in compiled.ir("fused")) == bounded
    return compiled


def check(module: torch.nn.Module, given: list[Tensor], *, bounded: bool = True) -> None:
    compiled = compiled_for(module, given, bounded=bounded)
    near = TOLERANCES[given[0].dtype]
    torch.testing.assert_close(
        compiled(*given), module(*given), rtol=near, atol=near, equal_nan=True
    )


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(
    ("heads", "rows", "keys"), [(8, 64, 64), (2, 300, 300), (2, 129, 385), (2, 385, 129)]
)
def test_masks(mask: str, heads: int, rows: int, keys: int) -> None:
    # These admit all keys or none: the comparison is a constant, and needs no bounds.
    is_settled = mask == "out of reach" or (mask == "prefix" and keys <= 70)
    check(Attention(MASKS[mask]), arguments(heads, rows, keys), bounded=not is_settled)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("size", [257, 1000])
def test_types(dtype: torch.dtype, size: int) -> None:
    check(Attention(MASKS["window"]), arguments(1, size, size, dtype))


def test_long_chains_of_sums() -> None:
    check(Attention(MASKS["causal"]), arguments(1, 1500, 1500))


@pytest.mark.parametrize("name", ["q", "k", "v"])
@pytest.mark.parametrize("value", [inf, -inf, nan, 1e38])
@pytest.mark.parametrize("mask", ["causal", "late", "window"])
def test_numbers_beyond_range(name: str, value: float, mask: str) -> None:
    """Elements that are no finite numbers count where they did: also if they are masked."""
    given = arguments(1, 200, 200)
    given["qkv".index(name)][0, 120, 3] = value
    check(Attention(MASKS[mask]), given)


def test_rows_without_keys_give_zeros_in_the_fused_op() -> None:
    class Late(torch.nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            row, key = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
            mask = MASKS["late"](row, key)
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    check(Late(), [t[None] for t in arguments(2, 200, 200)])


def test_products_without_softmax() -> None:
    class Linear(torch.nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            row, key = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
            scores = q @ k.transpose(-1, -2)
            return scores.masked_fill(key > row, 0.0) @ v

    given = arguments(2, 200, 200)
    compiled = compiled_for(Linear(), given)
    torch.testing.assert_close(compiled(*given), Linear()(*given), rtol=1e-5, atol=2e-4)


def test_a_mask_that_is_added_is_not_followed() -> None:
    """A score of NaN stays one: what is added does not take its place."""

    class Added(torch.nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            row, key = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
            mask = torch.where(key > row, -inf, 0.0)
            return (q @ k.transpose(-1, -2) + mask).softmax(-1) @ v

    given = arguments(1, 96, 96)
    given[1][0, 90, 3] = nan
    check(Added(), given, bounded=False)


@pytest.mark.parametrize("mask", ["causal", "window", "late"])
@pytest.mark.parametrize("layer", ["fused", "scheduled"])
def test_interpreted(mask: str, layer: str) -> None:
    """Outside its bounds, a kept dimension is NaN in the interpreter: nobody reads it."""
    module, given = Attention(MASKS[mask]), arguments(2, 70, 101)
    compiled = compiled_for(module, given)
    (found,) = run_module(lamina.parse(compiled.ir(layer)), [t.numpy() for t in given])
    np.testing.assert_allclose(found, module(*given).numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", [3, 8, 40])
def test_zeros_in_front_of_rows(count: int) -> None:
    """Zeros that are joined with rows spare no product with what is infinite."""

    class Joined(torch.nn.Module):
        def forward(self, x: Tensor, w: Tensor) -> Tensor:
            return torch.cat([torch.zeros(count, 2), x], 1) @ w

    x, w = torch.randn(count, count), torch.randn(count + 2, count)
    w[0, 0], w[1, 1], w[-1, 2] = inf, nan, inf
    compiled = lamina.compile(torch.export.export(Joined(), (x, w)))
    torch.testing.assert_close(compiled(x, w), Joined()(x, w), equal_nan=True)
