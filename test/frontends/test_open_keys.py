"""Attention whose keys are as many as a call brings: loops over them end there, and masks hold."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim
from torch.nn import functional

import lamina


class Attention(torch.nn.Module):
    """Queries and keys of lengths of their own."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal = causal

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """All heads."""
        return functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)


def _compiled(most: int, *, causal: bool = False, versions: str = "padded") -> Any:
    queries, keys = Dim("queries", min=1, max=most), Dim("keys", min=1, max=most)
    given = [torch.zeros(2, 3, length, 16) for length in (5, 7, 7)]
    dims = {"q": {2: queries}, "k": {2: keys}, "v": {2: keys}}
    if causal:
        given[0] = torch.zeros(2, 3, 7, 16)
        dims["q"] = {2: keys}
    program = torch.export.export(Attention(causal), tuple(given), dynamic_shapes=dims)
    return lamina.compile(program, versions=versions)


def _arguments(queries: int, keys: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(queries * 1000 + keys)
    return [torch.randn(2, 3, n, 16, generator=generator) for n in (queries, keys, keys)]


@pytest.mark.parametrize(
    ("most", "sizes"),
    [
        (64, [(1, 1), (5, 33), (33, 5), (64, 64), (7, 31), (31, 32)]),
        (256, [(16, 16), (1, 200), (256, 3), (66, 65)]),
        (2048, [(3, 1500), (40, 1025)]),
    ],
)
def test_results_are_those_of_torch(most: int, sizes: list[tuple[int, int]]) -> None:
    compiled = _compiled(most)
    full = [torch.full((2, 3, most, 16), float("nan"))] * 3
    compiled(*full)  # what padding holds from now on
    for queries, keys in sizes:
        given = _arguments(queries, keys)
        wanted = Attention(False)(*given)
        torch.testing.assert_close(compiled(*given), wanted, rtol=1e-4, atol=1e-5)


def test_causal_keys_end_at_the_query_and_the_size() -> None:
    compiled = _compiled(256, causal=True)
    compiled(*[torch.full((2, 3, 256, 16), float("nan"))] * 3)
    for length in (1, 15, 33, 200):
        given = _arguments(length, length)
        wanted = Attention(True)(*given)
        torch.testing.assert_close(compiled(*given), wanted, rtol=1e-4, atol=1e-5)


def test_the_bound_is_in_the_text() -> None:
    compiled = _compiled(256)
    compiled(*_arguments(5, 7))
    text = compiled.sizes[0].compiled.ir("fused")
    assert "lamina.masks = array<i64: " in text
    assert "counts [" in text
    static = _compiled(256, versions="exact")
    static(*_arguments(5, 7))
    assert "lamina.masks" not in static.sizes[0].compiled.ir("fused")


def test_special_values_within_and_behind_the_keys() -> None:
    compiled = _compiled(64)
    given = _arguments(9, 13)
    given[2][0, 0, 12, 3] = float("inf")
    given[1][1, 2, 4, :] = float("-inf")
    wanted = Attention(False)(*given)
    torch.testing.assert_close(compiled(*given), wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("differentiated", [False, True])
def test_groups_of_heads_whose_number_is_open(differentiated: bool) -> None:
    """Their number is one for each version; lengths stay open in it."""

    def attended(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    def gradients(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.func.grad(lambda q, k, v: attended(q, k, v).sin().sum(), (0, 1, 2))(*given)

    function = gradients if differentiated else attended
    torch._dynamo.reset()
    fast = torch.compile(function, backend="lamina", dynamic=True, fullgraph=True)
    generator = torch.Generator().manual_seed(0)
    counts: list[int] = []
    sizes = [(4, 2, 5, 9), (4, 2, 7, 3), (4, 2, 8, 8), (6, 3, 4, 6), (8, 2, 4, 6)]
    for heads, groups, queries, keys in sizes:
        shapes = (2, heads, queries, 8), (2, groups, keys, 8), (2, groups, keys, 8)
        given = [torch.randn(shape, generator=generator) for shape in shapes]
        with torch.no_grad():
            torch.testing.assert_close(fast(*given), function(*given), rtol=1e-4, atol=1e-5)
        counts.append(lamina.compile_count())
    if not differentiated:
        assert counts[0] == counts[2] < counts[4]


class Documents(torch.nn.Module):
    """Attention within documents that a text is joined of; of some rows nothing counts."""

    def forward(self, x: torch.Tensor, document: torch.Tensor) -> torch.Tensor:
        """(batch, length, 32) values, (batch, length) numbers; 4 is of no document."""
        causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        mask = (document[:, :, None] == document[:, None, :]) & causal
        mask = mask & (document != 4)[:, None, :]
        q = x.unflatten(2, (2, 16)).transpose(1, 2)
        return functional.scaled_dot_product_attention(q, q, q, attn_mask=mask[:, None])


@torch.no_grad()
def test_masks_of_pairs_end_with_the_keys() -> None:
    dims = {0: Dim("batch", min=1, max=8), 1: Dim("length", min=2, max=256)}
    given = torch.randn(3, 50, 32), torch.zeros(3, 50, dtype=torch.int64)
    program = torch.export.export(Documents(), given, dynamic_shapes=(dims, dims))
    compiled = lamina.compile(program, versions="padded")
    full = torch.full((8, 256, 32), float("nan")), torch.zeros(8, 256, dtype=torch.int64)
    compiled(*full)  # what padding holds from now on
    for batch, length in ((3, 50), (1, 2), (8, 31), (2, 33), (5, 256), (1, 65)):
        x = torch.randn(batch, length, 32)
        document = torch.randint(0, 5, (batch, length)).sort(1)[0]
        found, wanted = compiled(x, document), Documents()(x, document)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    (version,) = compiled.sizes
    assert "counts [" in version.compiled.ir("fused")  # bounds at the number of keys
