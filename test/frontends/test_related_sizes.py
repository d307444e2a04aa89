"""Sizes of arguments that are sums and products of symbols: one version for each range of sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

import lamina

pytestmark = pytest.mark.one_in(2)

Dim = torch.export.Dim
PAST, NEW = Dim("past", max=2000), Dim("new", max=2000)
SIZES = ((10, 3), (64, 2), (255, 9), (256, 7), (2, 2), (3, 300))
SMALL = ((0, 1), (1, 1), (5, 0), (0, 5))


def attend(q: Any, past: Any, new: Any, mask: Any) -> Any:
    """Attention over a cache of open length and new tokens, with a mask over both."""
    keys = torch.cat([past, new], 2)
    return torch.nn.functional.scaled_dot_product_attention(q, keys, keys + 1, attn_mask=mask)


def attend_behind(q: Any, past: Any, new: Any) -> Any:
    """The same with a mask that is made of the sizes."""
    keys, values = torch.cat([past, new], 2), torch.cat([past + 1, new], 2)
    row = torch.arange(q.shape[2])[:, None] + past.shape[2]
    mask = torch.arange(keys.shape[2]) <= row
    return torch.nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask), keys


def masked_sum(past: Any, new: Any, mask: Any) -> Any:
    return (torch.cat([past, new]) * mask[:, None]).sum(0), mask.cumsum(0)


def rows(x: Any, weights: Any) -> Any:
    return x.reshape(-1, 4) * weights, (x.flatten(0, 1) @ x.flatten(0, 1).T).sum(0) + weights[:, 0]


def keys_of(past: int, new: int) -> tuple[Any, ...]:
    return tuple(torch.randn(2, 5, n, 8) for n in (new, past, new))


CASES: dict[str, tuple[Callable[..., Any], Callable[[int, int], tuple[Any, ...]], Any]] = {
    "attend": (
        attend,
        lambda p, n: (*keys_of(p, n), torch.randn(2, 1, n, p + n)),
        ({2: NEW}, {2: PAST}, {2: NEW}, {2: NEW, 3: Dim.AUTO}),
    ),
    "attend_behind": (attend_behind, keys_of, ({2: NEW}, {2: PAST}, {2: NEW})),
    "masked_sum": (
        masked_sum,
        lambda p, n: (torch.randn(p, 4), torch.randn(n, 4), torch.randn(p + n)),
        ({0: PAST}, {0: NEW}, {0: Dim.AUTO}),
    ),
    "rows": (
        rows,
        lambda b, n: (torch.randn(b, n, 4), torch.randn(b * n, 4)),
        ({0: PAST, 1: NEW}, {0: Dim.AUTO}),
    ),
}


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def _check(
    compiled: Any,
    function: Callable[..., Any],
    make: Callable[[int, int], tuple[Any, ...]],
    sizes: Sequence[tuple[int, int]],
) -> None:
    for one in sizes:
        args = make(*one)
        wanted = function(*args)
        torch.testing.assert_close(compiled(*args), wanted, rtol=1e-4, atol=1e-4, msg=str(one))


@pytest.mark.parametrize("case", CASES)
def test_exported_programs(case: str) -> None:
    torch.manual_seed(0)
    function, make, dims = CASES[case]
    program = torch.export.export(_Module(function), make(10, 3), dynamic_shapes=(dims,))
    compiled = lamina.compile(program, versions="padded")
    _check(compiled, function, make, SIZES)
    assert len(compiled.sizes) <= 3
    small = [sizes for sizes in SMALL if "attend" not in case or sizes[1]]
    _check(compiled, function, make, small)
    assert all(not version.is_exact for version in compiled.sizes)


@pytest.mark.parametrize("case", CASES)
def test_graphs_of_dynamo(case: str) -> None:
    torch.manual_seed(0)
    torch._dynamo.reset()
    function, make, dims = CASES[case]

    def marked(*sizes: int) -> tuple[Any, ...]:
        args = make(*sizes)
        for value, open_dims in zip(args, dims, strict=True):
            for dim in open_dims:
                torch._dynamo.mark_dynamic(value, dim)
        return args

    compiled = torch.compile(function, backend="lamina", fullgraph=True)
    before = lamina.compile_count()
    _check(compiled, function, marked, SIZES)
    assert lamina.compile_count() - before <= 3


def test_calls_that_contradict_themselves() -> None:
    function, make, dims = CASES["masked_sum"]
    program = torch.export.export(_Module(function), make(10, 3), dynamic_shapes=(dims,))
    compiled = lamina.compile(program)
    past, new, mask = make(5, 4)
    with pytest.raises(lamina.ArgumentError, match=r"is 8; it is s\d+ \+ s\d+, which is 9"):
        compiled(past, new, mask[1:])
