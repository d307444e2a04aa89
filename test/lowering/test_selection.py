"""topk, kthvalue and median against torch's stable sort: values, and the first of equal places."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch

import lamina

ROWS = (8, 33, 193, 700, 5000)
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int8, torch.uint8)


def _rows(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Few different values, with NaN, infinities and both zeros among the floats."""
    generator = torch.Generator().manual_seed(0)
    if not dtype.is_floating_point:
        low = 0 if dtype is torch.uint8 else -100
        return torch.randint(low, 100, shape, generator=generator).to(dtype)
    values = torch.randn(shape, generator=generator)
    special = torch.tensor([torch.nan, torch.inf, -torch.inf, -0.0, 0.0, 1.0])
    chosen = special[torch.randint(0, len(special), shape, generator=generator)]
    return torch.where(torch.rand(shape, generator=generator) < 0.3, chosen, values).to(dtype)


def _compiled(function: Callable[[torch.Tensor], object], x: torch.Tensor) -> lamina.Compiled:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> object:
            return function(x)

    return lamina.compile(torch.export.export(Module(), (x,)), cache=False)


def _order(x: torch.Tensor, descending: bool) -> torch.Tensor:
    """Places in order, NaN the largest, equal ones by place."""
    return torch.sort(x, dim=-1, descending=descending, stable=True).indices


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(((one == other) | ((one != one) & (other != other))).all())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("length", ROWS)
def test_first_elements(length: int, dtype: torch.dtype) -> None:
    x = _rows((2, length), dtype)
    for count, largest in ((1, True), (5, False), (length // 2, True), (length, False)):
        values, places = _compiled(partial(torch.topk, k=count, largest=largest), x)(x)
        wanted = _order(x, largest)[:, :count]
        assert torch.equal(places, wanted), (count, largest)
        assert _same(values, x.gather(-1, wanted))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("length", ROWS)
def test_single_elements(length: int, dtype: torch.dtype) -> None:
    x = _rows((3, length), dtype)
    for number in (1, length // 2 + 1, length):
        values, places = _compiled(partial(torch.kthvalue, k=number), x)(x)
        wanted = _order(x, False)[:, number - 1]
        assert torch.equal(places, wanted), number
        assert _same(values, x.gather(-1, wanted[:, None])[:, 0])


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float16, torch.int32], ids=str)
@pytest.mark.parametrize("length", [1, 8, 33, 100])
def test_many_rows(length: int, dtype: torch.dtype) -> None:
    """Rows in the lanes of vectors, the last ones of which share some with those before."""
    x = _rows((37, length), dtype)
    for count, largest in ((1, True), (min(5, length), False), (min(64, length), True)):
        values, places = _compiled(partial(torch.topk, k=count, largest=largest), x)(x)
        wanted = _order(x, largest)[:, :count]
        assert torch.equal(places, wanted), (count, largest)
        assert _same(values, x.gather(-1, wanted))
        if dtype.is_floating_point:
            assert torch.equal(values.signbit(), x.gather(-1, wanted).signbit())
    for number in (1, length // 2 + 1, length):
        values, places = _compiled(partial(torch.kthvalue, k=number), x)(x)
        wanted = _order(x, False)[:, number - 1]
        assert torch.equal(places, wanted), number
        assert _same(values, x.gather(-1, wanted[:, None])[:, 0])
    for descending in (True, False):
        values, places = _compiled(partial(torch.sort, descending=descending), x)(x)
        assert torch.equal(places, _order(x, descending))
        assert _same(values, x.gather(-1, places))


@pytest.mark.parametrize("length", [1, 6, 701])
def test_medians(length: int) -> None:
    """With NaN, the first NaN; else the lower of the middle ones."""
    x = torch.randn(4, length)
    x[1, length // 2] = x[3, -1] = x[3, 0] = torch.nan
    wanted = torch.median(x, -1)
    values, places = _compiled(lambda x: torch.median(x, -1), x)(x)
    assert _same(values, wanted.values) and torch.equal(places, wanted.indices)
    assert _same(_compiled(torch.median, x[0])(x[0]), torch.median(x[0]))
    assert _same(_compiled(torch.nanmedian, x)(x), torch.nanmedian(x))


def test_rows_in_order() -> None:
    """Ascending rows are the worst case of keeping the first ones: each element goes before all."""
    x = torch.arange(3000.0).expand(2, 3000).contiguous()
    values, places = _compiled(lambda x: torch.topk(x, 7), x)(x)
    assert values[1].tolist() == places[1].tolist() == list(range(2999, 2992, -1))
