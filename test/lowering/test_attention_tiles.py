"""Attention of bf16 packed in pairs: weights are rounded for the second product, as torch does.

Interpreted for targets that multiply so, with scratch that begins as NaN, and run where
these are. In blocks of keys, with and without bounds; products with zeros outside of these count.
"""

from __future__ import annotations

from math import inf, nan

import ml_dtypes
import numpy as np
import pytest
import torch

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.passes.fusion.stream_dims import StreamDimsPass
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(4)

MULTIPLIERS = {"sapphirerapids": "loop.tile_dot", "znver4": "loop.dot_pairs"}
"""By what targets multiply bf16."""
BF16 = ml_dtypes.bfloat16
NEAR = 2.0**-6
"""Two units in the last place of bf16 numbers from 1 to 2: eager mode rounds scores to bf16, which
are f32 here, and most results are below 1."""

Sizes = tuple[int, int, int, int, int, int]
"""Heads of queries, heads of keys, queries, keys, features of keys and of values."""

SIZES: dict[str, Sizes] = {
    "whole tiles": (2, 2, 64, 64, 32, 32),
    "odd": (2, 2, 70, 101, 40, 24),
    "few rows": (12, 2, 12, 100, 32, 48),
    "many keys": (2, 2, 150, 210, 64, 64),
    "grouped": (4, 2, 50, 80, 32, 40),
}

DOTS_INTERPRETED = (SIZES["few rows"],)
"""Whose dot products are interpreted: some 2 us for each multiplication."""


def _program(sizes: Sizes, causal: bool) -> str:
    heads, own, rows, keys, features, width = sizes
    q, k, v, o = (
        f"tensor<1x{h}x{n}x{d}xbf16>"
        for h, n, d in (
            (heads, rows, features),
            (own, keys, features),
            (own, keys, width),
            (heads, rows, width),
        )
    )
    asked = f", is_causal = {str(causal).lower()}, enable_gqa = {str(heads != own).lower()}"
    return f"""
func.func @main(%q: {q}, %k: {k}, %v: {v}) -> {o} {{
  %0 = aten.scaled_dot_product_attention.default(%q, %k, %v{asked}) : ({q}, {k}, {v}) -> {o}
  func.return %0 : {o}
}}"""


def _given(sizes: Sizes) -> list[torch.Tensor]:
    heads, own, rows, keys, features, width = sizes
    made = torch.Generator().manual_seed(keys)
    shapes = [(1, heads, rows, features), (1, own, keys, features), (1, own, keys, width)]
    return [torch.randn(shape, generator=made).bfloat16() for shape in shapes]


def _wanted(given: list[torch.Tensor], causal: bool) -> np.ndarray:
    q, k, v = (t.double() for t in given)
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        later = torch.arange(q.shape[2])[:, None] < torch.arange(k.shape[2])
        scores = scores.masked_fill(later, -inf)
    return (scores.softmax(-1) @ v).numpy()


def _check(
    sizes: Sizes, given: list[torch.Tensor], causal: bool, streamed: bool, target: str
) -> None:
    module = lamina.parse(_program(sizes, causal))
    run_pipeline(module, pipeline(start="aten", stop="fused", target=target), Context())
    if streamed:
        StreamDimsPass(block=32, least=2).apply(Context(), module)
    assert ("lamina.stream" in str(module)) == streamed
    fused = str(module)
    run_pipeline(module, pipeline(start="fused", target=target), Context())
    assert str(module).count(MULTIPLIERS[target]) >= 2
    arrays = [t.float().numpy().astype(BF16) for t in given]
    results: list[np.ndarray] = []
    if target == "sapphirerapids" or sizes in DOTS_INTERPRETED:
        results.append(run_module(module, [a.copy() for a in arrays])[0])
    if Target.parse(target).runs_here():
        results.append(lamina.compile(fused, target=target, cache=False)(*arrays))
    wanted = _wanted(given, causal)
    for found in results:
        np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=NEAR, atol=NEAR)


@pytest.mark.parametrize("target", MULTIPLIERS)
@pytest.mark.parametrize("streamed", [False, True], ids=["rows", "blocks"])
@pytest.mark.parametrize("causal", [False, True], ids=["plain", "causal"])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long if n == "many keys" else []) for n in SIZES]
)
def test_values(name: str, causal: bool, streamed: bool, target: str) -> None:
    _check(SIZES[name], _given(SIZES[name]), causal, streamed, target)


@pytest.mark.parametrize("target", MULTIPLIERS)
@pytest.mark.parametrize("streamed", [False, True], ids=["rows", "blocks"])
@pytest.mark.parametrize("special", [inf, nan])
@pytest.mark.parametrize("place", [3, 99])
def test_masked_values_that_are_no_numbers(
    place: int, special: float, streamed: bool, target: str
) -> None:
    """A product by a weight of 0 is one: keys after a row's own count as well."""
    sizes = (2, 2, 101, 101, 32, 24)
    given = _given(sizes)
    given[2][0, 1, place, 2] = special
    _check(sizes, given, True, streamed, target)


def test_targets_without_tiles_do_not_round_weights() -> None:
    module = lamina.parse(_program(SIZES["odd"], False))
    run_pipeline(module, pipeline(start="aten", stop="fused", target="x86-64-v4"), Context())
    kernels = str(module).split("func.func private")
    assert kernels[-1].count("arith.truncf") == 1, "of the result"
