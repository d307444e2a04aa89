"""topk, kthvalue and median against torch's stable sort: values, and the first of equal places."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest
import torch
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(3)

ROWS = (8, 33, 193, 700, 5000)
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int8, torch.uint8)

IN_VECTORS = (
    torch.float32,
    torch.float64,
    torch.int64,
    torch.int8,
    torch.uint8,
    torch.bool,
)
"""Types whose sorts count ranks in vectors: of words, or of numbers beside their places."""


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


def _compiled(
    function: Callable[[torch.Tensor], object], x: torch.Tensor, target: str | None = None
) -> lamina.Compiled:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> object:
            return function(x)

    return lamina.compile(torch.export.export(Module(), (x,)), cache=False, target=target)


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


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", IN_VECTORS, ids=str)
def test_sorts_in_vectors(dtype: torch.dtype, target: str) -> None:
    """Less than a vector, runs that are whole or not, odd and even numbers of merges."""
    if not Target.parse(target).runs_here():
        pytest.skip(f"no {target}")
    for length in (2, 3, 8, 9, 63, 64, 65, 127, 300, 1000):
        x = _rows((3, length), torch.float32 if dtype is torch.bool else dtype)
        x = x > 0 if dtype is torch.bool else x
        if dtype is torch.int64:
            x[:, ::3] = torch.iinfo(dtype).min
            x[:, 1::3] = torch.iinfo(dtype).max
        for descending in (True, False):
            function = partial(torch.sort, descending=descending, stable=True)
            values, places = _compiled(function, x, target)(x)
            assert torch.equal(places, _order(x, descending)), (length, descending)
            wanted = x.gather(-1, places)
            assert _same(values, wanted) and torch.equal(values.signbit(), wanted.signbit())


def test_rows_in_order() -> None:
    """Ascending rows are the worst case of keeping the first ones: each element goes before all."""
    x = torch.arange(3000.0).expand(2, 3000).contiguous()
    values, places = _compiled(lambda x: torch.topk(x, 7), x)(x)
    assert values[1].tolist() == places[1].tolist() == list(range(2999, 2992, -1))


@pytest.mark.parametrize("dtype", [*DTYPES, torch.int32], ids=str)
@pytest.mark.parametrize("order", ["none", "up", "down", "equal"])
def test_samples_of_long_rows(order: str, dtype: torch.dtype) -> None:
    """What a sample leaves out is wanted by nobody, whatever the order: all may be left, or few."""
    x = _rows((2, 5003), dtype)
    if order in ("up", "down"):
        x = torch.sort(x, descending=order == "down").values
    elif order == "equal":
        x = torch.full_like(x, 3)
    for count, largest in ((100, True), (150, False)):
        compiled = _compiled(partial(torch.topk, k=count, largest=largest), x)
        sampled = dtype.itemsize >= 4 and Target.host().compresses_vectors
        assert ("sample = " in str(compiled.kernels[0].schedule)) == sampled
        values, places = compiled(x)
        wanted = _order(x, largest)[:, :count]
        assert torch.equal(places, wanted), (count, largest)
        assert _same(values, x.gather(-1, wanted))
    values, places = _compiled(partial(torch.kthvalue, k=99), x)(x)
    wanted = _order(x, False)[:, 98]
    assert torch.equal(places, wanted) and _same(values, x.gather(-1, wanted[:, None])[:, 0])


def _scheduled(clauses: str) -> ModuleOp:
    results = "tensor<2x12xf32>, tensor<2x12xi64>"
    text = f"""
func.func @main(%x: tensor<2x600xf32>) -> ({results}) {{
  %0, %1 = aten.topk.default(%x, k = 12) : (tensor<2x600xf32>) -> ({results})
  func.return %0, %1 : {results}
}}"""
    module = lamina.parse(text)
    run_pipeline(module, pipeline(start="aten", stop="bufferized", target="x86-64-v4"), Context())
    (chosen,) = re.findall(r"#loop.unstructured<[^>]*>", str(module))
    given = lamina.parse(str(module).replace(chosen, f"#loop.unstructured<{clauses}>"))
    run_pipeline(given, pipeline(start="bufferized", target="x86-64-v4"), Context())
    return given


@pytest.mark.parametrize(
    "clauses",
    [
        "algorithm = selection, lanes = 16, unroll = 1, sample = 12",
        "algorithm = selection, lanes = 16, unroll = 8, sample = 90",
        "algorithm = selection, lanes = 16, sample = 600",
        "algorithm = selection, lanes = 4, unroll = 2",
        "algorithm = rank, lanes = 8, unroll = 7",
        pytest.param("algorithm = rank, lanes = 2", marks=pytest.mark.long),
    ],
)
def test_schedules_in_vectors_are_interpreted(clauses: str) -> None:
    module = _scheduled(clauses)
    assert ("loop.compress" in str(module)) == ("selection" in clauses)
    assert "loop.cmp" in str(module)
    x = _rows((2, 600), torch.float32)
    values, places = run_module(module, [x.numpy().copy()])
    wanted = _order(x, True)[:, :12]
    assert torch.equal(torch.from_numpy(places), wanted)
    assert _same(torch.from_numpy(values), x.gather(-1, wanted))


@pytest.mark.parametrize(
    ("clauses", "reason"),
    [
        ("algorithm = selection, lanes = 16, sample = 11", "sample = 11: from 12 to 600"),
        ("algorithm = selection, lanes = 16, sample = 601", "sample = 601: from 12 to 600"),
        ("algorithm = insertion, lanes = 16, sample = 90", "sample: only where algorithm = sel"),
        ("algorithm = rank, lanes = 6", "lanes = 6: a power of 2, and 600 at most"),
        ("algorithm = merge, lanes = 8", "here it may be rank, selection, insertion"),
    ],
)
def test_schedules_that_do_not_give_what_is_wanted(clauses: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        _scheduled(clauses)
