"""Scans, sorts, segments, scatters and transforms of tensors whose sizes a call brings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import lamina

pytestmark = pytest.mark.one_in(2)

BOUND = 64
SIZES = (0, 1, 2, 7, 33, 63, BOUND)
INDEX = torch.long

Make = Callable[[int, int], tuple[Tensor, ...]]


@dataclass(frozen=True)
class Case:
    """A function, the arguments of a call of `rows` and `length`, and which of their dimensions
    these are."""

    function: Callable[..., Any]
    arguments: Make
    open: tuple[dict[int, str], ...]
    live: str
    """The op that ends at the sizes of a call, if it does."""
    least: int = 0
    """The least length."""
    fewest: int = 0
    """The fewest rows."""


def _numbers(high: int, *shape: int) -> Tensor:
    return torch.randint(0, max(high, 1), shape) if high else torch.zeros(shape, dtype=INDEX)


def _x(*more: int) -> Make:
    return lambda rows, length: (torch.randn(rows, length, *more),)


def _rows(*more: int) -> Make:
    return lambda rows, _: (torch.randn(rows, *more),)


BOTH: dict[int, str] = {0: "rows", 1: "length"}
ROWS: dict[int, str] = {0: "rows"}
LENGTH: dict[int, str] = {0: "length"}

CASES = {
    "cumsum": Case(lambda x: x.cumsum(1), _x(6), (BOTH,), "loop.scan"),
    "cumsum of rows": Case(lambda x: x.cumsum(0), _x(6), (BOTH,), "loop.scan"),
    "cumsum of integers": Case(
        lambda x: x.cumsum(1), lambda r, n: (_numbers(9, r, n),), (BOTH,), "loop.scan"
    ),
    "cummax": Case(lambda x: x.cummax(1), _x(3), (BOTH,), "loop.scan"),
    "logcumsumexp": Case(lambda x: x.logcumsumexp(1), _x(3), (BOTH,), "loop.scan"),
    "masked cumsum": Case(
        lambda x, m: torch.where(m, x, 0.0).cumsum(1) * 2,
        lambda r, n: (torch.randn(r, n), torch.rand(r, n) > 0.5),
        (BOTH, BOTH),
        "loop.scan",
    ),
    "total of cumsum": Case(lambda x: x.cumsum(1).sum(1), _x(6), (BOTH,), "loop.scan"),
    "cumsum from the end": Case(lambda x: x.flip(1).cumsum(1).flip(1), _x(6), (BOTH,), ""),
    "sort": Case(lambda x: x.sort(1), _rows(300), (ROWS,), "loop.sort"),
    "sort of short rows": Case(
        lambda x: x.sort(1, descending=True), _rows(9), (ROWS,), "loop.sort"
    ),
    "sort along an open dimension": Case(lambda x: x.sort(1), _x(), (BOTH,), "loop.sort"),
    "sort of inner rows": Case(lambda x: x.sort(2), _x(20), (BOTH,), "loop.sort"),
    "argsort": Case(
        lambda x: x.argsort(dim=1, stable=True),
        lambda r, n: (_numbers(5, r, n),),
        (BOTH,),
        "loop.sort",
    ),
    "topk": Case(lambda x: x.topk(5, 1), _rows(2000), (ROWS,), "loop.sort"),
    "topk of short rows": Case(lambda x: x.topk(3, 1), _rows(12), (ROWS,), "loop.sort"),
    "topk of an open dimension": Case(lambda x: x.topk(4, 1), _x(), (BOTH,), "loop.sort", least=4),
    "topk of an open dimension in front": Case(
        lambda x: x.topk(3, 1), _x(20), (BOTH,), "loop.sort", least=3
    ),
    "least of integers": Case(
        lambda x: x.topk(2, 1, largest=False)[0],
        lambda r, n: (_numbers(7, r, n, 3),),
        (BOTH,),
        "loop.sort",
        least=2,
    ),
    "topk of an open number": Case(
        lambda x, k: x.topk(k.shape[0], 1),
        lambda r, n: (torch.randn(r, 300), torch.zeros(n)),
        (ROWS, LENGTH),
        "loop.sort",
    ),
    "least of an open number that may be all": Case(
        lambda x, k: x.topk(k.shape[0], 1, largest=False)[0],
        lambda r, n: (torch.randn(r, 64).round(decimals=1), torch.zeros(n)),
        (ROWS, LENGTH),
        "loop.sort",
    ),
    "topk of as large a number": Case(
        lambda x: x.topk(x.shape[0], 0), _rows(9), (ROWS,), "loop.sort"
    ),
    "median": Case(lambda x: x.median(1), _rows(2000), (ROWS,), ""),
    "index_add": Case(
        lambda x, i, s: x.index_add(0, i, s),
        lambda r, n: (torch.randn(30, 6), _numbers(30, n), torch.randn(n, 6)),
        ({}, LENGTH, LENGTH),
        "loop.scatter",
    ),
    "index_add to open rows": Case(
        lambda x, i, s: x.index_add(0, i, s),
        lambda r, n: (
            torch.randn(r, 6),
            _numbers(r, n if r else 0),
            torch.randn(n if r else 0, 6),
        ),
        (ROWS, LENGTH, LENGTH),
        "loop.scatter",
    ),
    "index_put": Case(
        lambda x, i, s: x.index_put((i,), s, accumulate=True),
        lambda r, n: (torch.randn(30), _numbers(30, n), torch.randn(n)),
        ({}, LENGTH, LENGTH),
        "loop.scatter",
    ),
    "index_add along an inner dimension": Case(
        lambda x, i, s: x.index_add(1, i, s),
        lambda r, n: (torch.randn(r, 9, 5), _numbers(9, n), torch.randn(r, n, 5)),
        (ROWS, LENGTH, BOTH),
        "loop.scatter",
    ),
    "index_copy": Case(
        lambda x, i, s: x.index_copy(0, i, s),
        lambda r, n: (torch.randn(70, 20), torch.randperm(70)[:n], torch.randn(n, 20)),
        ({}, LENGTH, LENGTH),
        "loop.scatter",
    ),
    "index_fill": Case(
        lambda x, i: x.index_fill(1, i, 2.0),
        lambda r, n: (torch.randn(r, 12, 40), _numbers(12, n)),
        (ROWS, LENGTH),
        "",  # filled by a mask of the places
    ),
    "index_add of turned updates": Case(
        lambda x, i, s: x.index_add(0, i, s.T),
        lambda r, n: (torch.randn(30, 33), _numbers(30, n), torch.randn(33, n)),
        ({}, LENGTH, {1: "length"}),
        "loop.scatter",
    ),
    "gradient of lookups": Case(
        lambda g, i: torch.ops.aten.embedding_dense_backward(g, i, 40, 3, False),
        lambda r, n: (torch.randn(r, n, 24), _numbers(40, r, n)),
        (BOTH, BOTH),
        "loop.scatter",
    ),
    "scatter_add": Case(
        lambda x, i, s: x.scatter_add(1, i, s),
        lambda r, n: (torch.randn(r, 40), _numbers(40, r, n), torch.randn(r, n)),
        (ROWS, BOTH, BOTH),
        "loop.scatter",
    ),
    "scatter": Case(
        lambda x, i, s: x.scatter(1, i, s),
        lambda r, n: (
            torch.randn(r, 70),
            torch.stack([torch.randperm(70)[:n] for _ in range(r)] or [torch.zeros(n)[:n]]).long()[
                :r
            ],
            torch.randn(r, n),
        ),
        (ROWS, BOTH, BOTH),
        "loop.scatter",
    ),
    "scatter_reduce": Case(
        lambda x, i, s: x.scatter_reduce(0, i, s, "amax"),
        lambda r, n: (torch.randn(30, 5), _numbers(30, n, 5), torch.randn(n, 5)),
        ({}, LENGTH, LENGTH),
        "loop.scatter",
    ),
    "bags": Case(
        lambda i, o, w: nn.functional.embedding_bag(i, w, o, mode="sum"),
        lambda r, n: (
            _numbers(20, n),
            torch.cat([torch.zeros(1), torch.rand(r).mul(n + 1).sort()[0]]).long()[:r],
            torch.randn(20, 24),
        ),
        (LENGTH, ROWS, {}),
        "loop.segment_reduce",
        fewest=1,
    ),
    "rfft": Case(
        lambda x: torch.fft.rfft(x).abs(), _x(24), (BOTH,), "loop.fourier", least=1, fewest=1
    ),
    "complex rfft": Case(
        lambda x: torch.fft.rfft(x), _x(24), (BOTH,), "loop.fourier", least=1, fewest=1
    ),
    "in turn": Case(
        lambda x: torch.fft.irfft(torch.fft.rfft(x.cumsum(1).sort(2)[0])).topk(3, 2)[0],
        _x(24),
        (BOTH,),
        "loop.sort",
        least=1,
        fewest=1,
    ),
}


class _Called(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Tensor) -> Any:
        return self.function(*arguments)


def _compiled(case: Case) -> Any:
    sizes = {
        "rows": Dim("rows", min=case.fewest, max=BOUND),
        "length": Dim("length", min=case.least, max=BOUND),
    }
    shapes = tuple({d: sizes[n] for d, n in dims.items()} for dims in case.open)
    arguments = case.arguments(7, 11)
    program = torch.export.export(_Called(case.function), arguments, dynamic_shapes=(shapes,))
    return lamina.compile(program, versions="padded")


def _sizes(case: Case) -> Iterator[tuple[int, int]]:
    both = any(set(dims.values()) == {"rows", "length"} for dims in case.open)
    for size in SIZES:
        other = SIZES[-1 - SIZES.index(size)] if both else 11
        yield max(size, case.fewest), max(other, case.least)
        yield 11 if both else max(size, case.fewest), max(size, case.least)


def _tensors(made: Any) -> Sequence[Tensor]:
    return [made] if isinstance(made, Tensor) else list(made)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name: str) -> None:
    torch.manual_seed(0)
    case = CASES[name]
    compiled = _compiled(case)
    filled = [
        torch.full_like(a, float("nan")) if a.is_floating_point() else a
        for a in case.arguments(BOUND, BOUND)
    ]
    compiled(*filled)  # what padding holds from now on
    for rows, length in _sizes(case):
        arguments = case.arguments(rows, length)
        wanted = _tensors(case.function(*arguments))
        found = _tensors(compiled(*arguments))
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert len(compiled.sizes) == 1


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.live])
def test_its_op_ends_at_the_sizes_of_a_call(name: str) -> None:
    case = CASES[name]
    compiled = _compiled(case)
    compiled(*case.arguments(7, 11))
    text = compiled.sizes[0].compiled.ir("fused")
    ops = [line for line in text.splitlines() if case.live + " " in line]
    assert ops
    for line in ops:
        assert "live = [" in line, line
        assert ("taken = [" in line) == (" number" in name), line
