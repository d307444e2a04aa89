"""Sums, maxima and softmaxes over sizes that a call brings: their loops end there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

import lamina

pytestmark = pytest.mark.one_in(2)

Function = Callable[..., Any]


class Called(nn.Module):
    """A function as a module."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        """The function's results."""
        return self.function(*args)


def _norms(x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(0)
    return centred / (centred.square().mean(0) + 1e-5).sqrt()


def _weighted(x: torch.Tensor) -> torch.Tensor:
    return (torch.softmax(x, 0) * x).sum(0)


ROWS: dict[str, tuple[Function, tuple[int, ...]]] = {
    "sum of all": (lambda x: x.sum(), (4096,)),
    "sum of all, two dimensions": (lambda x: x.sum(), (1024, 64)),
    "squares": (lambda x: (x * x).sum(), (4096,)),
    "columns": (lambda x: x.sum(0), (1024, 48)),
    "wide columns": (lambda x: x.sum(0), (512, 1024)),
    "maxima and sums": (lambda x: (x.amax(0), x.sum(0)), (256, 40)),
    "minima": (lambda x: x.amin(0), (256, 33)),
    "products": (lambda x: (1 + x / 64).prod(0), (256, 40)),
    "softmax": (lambda x: torch.softmax(x, 0), (512, 96)),
    "log-softmax": (lambda x: torch.log_softmax(x, 0), (512, 96)),
    "log-sum-exp": (lambda x: torch.logsumexp(x, 0), (512, 96)),
    "log-sum-exp of all": (lambda x: torch.logsumexp(x, 0), (4096,)),
    "softmax of all": (lambda x: torch.softmax(x, 0), (65536,)),
    "weighted": (_weighted, (512, 40)),
    "variances": (lambda x: x.var(0), (512, 40)),
    "norms": (_norms, (512, 40)),
    "any and all": (lambda x: ((x > 2).any(0), (x > -2).all(0)), (256, 40)),
    "largest places": (lambda x: x.argmax(0), (256, 40)),
    "samples": (lambda x: x.mean((0, 2)), (64, 6, 40)),
}
"""Functions of one tensor, whose first extent is open, and the shape that fills a version."""

LEAST = {
    "maxima and sums": 1,
    "minima": 1,
    "softmax of all": 1,
    "largest places": 1,
    "least and their places": 1,
    "largest whole places": 1,
}


def _compiled(function: Function, shape: tuple[int, ...], axis: int, least: int) -> Any:
    most = shape[axis]
    size = Dim("size", min=least, max=most)
    given = torch.zeros(tuple(7 if a == axis else e for a, e in enumerate(shape)))
    with torch.no_grad():
        program = torch.export.export(Called(function), (given,), dynamic_shapes=(({axis: size},),))
    return lamina.compile(program, versions="padded")


def _counts(most: int, least: int) -> list[int]:
    return [n for n in (0, 1, 2, 7, 33, most // 4, most // 2 + 3, most - 1, most) if n >= least]


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore:var")
def test_rows(name: str) -> None:
    function, shape = ROWS[name]
    _agree(function, shape, 0, LEAST.get(name, 0))


COLUMNS: dict[str, tuple[Function, tuple[int, ...]]] = {
    "sums": (lambda x: x.sum(1), (48, 1024)),
    "few sums": (lambda x: x.sum(1), (3, 16384)),
    "softmax": (lambda x: torch.softmax(x, 1), (48, 1024)),
    "long softmax": (lambda x: torch.softmax(x, 1), (4, 32768)),
    "log-softmax": (lambda x: torch.log_softmax(x, 1), (48, 1024)),
    "log-sum-exp": (lambda x: torch.logsumexp(x, 1), (48, 1024)),
    "long log-sum-exp": (lambda x: torch.logsumexp(x, 1), (20, 32768)),
    "layer norm": (lambda x: functional.layer_norm(x.T, (48,)).T, (48, 256)),
    "largest places": (lambda x: (x.argmax(1), torch.softmax(x, 1)), (48, 256)),
    "least and their places": (lambda x: x.min(1), (48, 256)),
    "largest whole places": (lambda x: (x * 8).int().argmax(1), (48, 256)),
    "means of lines": (lambda x: x.view(4, 12, -1).mean((0, 2)), (48, 1024)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns(name: str) -> None:
    function, shape = COLUMNS[name]
    _agree(function, shape, 1, LEAST.get(name, 0))


def _agree(function: Function, shape: tuple[int, ...], axis: int, least: int) -> None:
    """Results are torch's, whatever stands behind what counts, NaN and infinities among them."""
    torch.manual_seed(0)
    compiled = _compiled(function, shape, axis, least)
    compiled(torch.full(shape, float("nan")))  # what padding holds from now on
    for count in _counts(shape[axis], least):
        x = torch.randn(tuple(count if a == axis else e for a, e in enumerate(shape)))
        _compare(compiled, function, x)
        if x.numel():
            for special in ("nan", "inf", "-inf"):
                x.view(-1)[-1] = float(special)
                _compare(compiled, function, x)
            _compare(compiled, function, torch.full_like(x, float("-inf")))


def _compare(compiled: Any, function: Function, x: torch.Tensor) -> None:
    torch.testing.assert_close(compiled(x), function(x), rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int64, torch.bool])
def test_types(dtype: torch.dtype) -> None:
    rows = Dim("rows", min=1, max=256)

    def reduced(x: torch.Tensor) -> Any:
        if dtype is torch.bool:
            return x.any(0), x.all(0), x.sum(0)
        return x.amax(0), x.amin(0), x.sum(0)

    def made(count: int) -> torch.Tensor:
        return (
            (10 * torch.randn(count, 40)).to(dtype)
            if dtype != torch.bool
            else (torch.rand(count, 40) > 0.5)
        )

    program = torch.export.export(Called(reduced), (made(7),), dynamic_shapes=(({0: rows},),))
    compiled = lamina.compile(program, versions="padded")
    compiled(torch.ones(256, 40).to(dtype))
    for count in (1, 5, 64, 255, 256):
        x = made(count)
        torch.testing.assert_close(compiled(x), reduced(x), rtol=1e-2, atol=1e-2)


BOTH: dict[str, Function] = {
    "sum": lambda x: x.sum(),
    "sums of rows": lambda x: x.sum(1),
    "sums of columns": lambda x: x.sum(0),
    "softmax": lambda x: torch.softmax(x, 1),
    "softmax over rows": lambda x: torch.softmax(x, 0),
    "norm": lambda x: (x - x.mean()) / (x.std() + 1),
}


@pytest.mark.parametrize("name", BOTH)
def test_two_sizes(name: str) -> None:
    function = BOTH[name]
    rows, columns = Dim("rows", min=2, max=128), Dim("columns", min=2, max=200)
    program = torch.export.export(
        Called(function), (torch.zeros(5, 6),), dynamic_shapes=(({0: rows, 1: columns},),)
    )
    compiled = lamina.compile(program, versions="padded")
    compiled(torch.full((128, 200), float("nan")))
    for shape in ((2, 2), (3, 200), (128, 3), (17, 33), (64, 150), (127, 199), (128, 200)):
        _compare(compiled, function, torch.randn(shape))


def test_losses_of_rows_that_count() -> None:
    rows = Dim("rows", min=1, max=64)
    program = torch.export.export(
        Called(functional.cross_entropy),
        (torch.zeros(7, 300), torch.zeros(7, dtype=torch.long)),
        dynamic_shapes=(({0: rows}, {0: rows}),),
    )
    compiled = lamina.compile(program, versions="padded")
    compiled(torch.full((64, 300), float("nan")), torch.zeros(64, dtype=torch.long))
    for count in (1, 3, 16, 63, 64):
        x, labels = torch.randn(count, 300), torch.randint(0, 300, (count,))
        labels[count // 2] = -100 if count > 1 else 5
        wanted = functional.cross_entropy(x, labels)
        torch.testing.assert_close(compiled(x, labels), wanted, rtol=1e-4, atol=1e-4)
    text = compiled.sizes[0].compiled.ir("fused")
    exponentials = [line for line in text.splitlines() if '"prims.exp"' in line]
    assert any("live = [" in line for line in exponentials if "loop.generic" in line)


JOINED: dict[str, Function] = {
    "mean": lambda x, labels: functional.cross_entropy(x.flatten(0, 1), labels.flatten()),
    "sum": lambda x, labels: functional.cross_entropy(
        x.flatten(0, 1), labels.flatten(), reduction="sum"
    ),
    "of elements": lambda x, labels: x.flatten(0, 1).sum() + labels.flatten().sum(),
}


@pytest.mark.parametrize("name", JOINED)
def test_losses_of_texts_that_are_joined(name: str) -> None:
    """Places in the texts, and labels, are made for all rows; all else ends with the rows."""
    sizes = {0: Dim("batch", min=1, max=16), 1: Dim("length", min=1, max=64)}
    program = torch.export.export(
        Called(JOINED[name]),
        (torch.zeros(3, 7, 30), torch.zeros(3, 7, dtype=torch.long)),
        dynamic_shapes=((sizes, sizes),),
    )
    compiled = lamina.compile(program, versions="padded")
    compiled(torch.full((16, 64, 30), float("nan")), torch.zeros(16, 64, dtype=torch.long))
    for shape in ((1, 1), (3, 7), (5, 64), (16, 63), (16, 64)):
        x, labels = torch.randn(*shape, 30), torch.randint(0, 30, shape)
        labels[0, shape[1] // 2] = -100 if shape[1] > 1 else 5
        wanted = JOINED[name](x.double(), labels).float()
        torch.testing.assert_close(compiled(x, labels), wanted, rtol=2e-6, atol=1e-4)
    text = compiled.sizes[0].compiled.ir("fused")
    lines = [line for line in text.splitlines() if '"prims.exp"' in line and "loop.generic" in line]
    assert all("live = [" in line for line in lines) and bool(lines) == (name in ("mean", "sum"))


def _similarity(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Losses of all elements, and of features of each token."""
    cosines = functional.cosine_similarity(x, y, -1)
    return functional.smooth_l1_loss(x, y), cosines.mean(), cosines.amax(), (x - y).abs().amax()


def test_losses_of_features() -> None:
    """What is made of the features of each token ends at the length, though a task sums over
    texts in turn."""
    sizes = {0: Dim("batch", min=1, max=64), 1: Dim("length", min=1, max=256)}
    program = torch.export.export(
        Called(_similarity),
        (torch.zeros(3, 7, 64), torch.zeros(3, 7, 64)),
        dynamic_shapes=((sizes, sizes),),
    )
    compiled = lamina.compile(program, versions="padded")
    compiled(*[torch.full((64, 256, 64), float("nan"))] * 2)
    for shape in ((1, 1), (3, 7), (1, 64), (64, 1), (5, 63), (64, 256)):
        x, y = torch.randn(*shape, 64), torch.randn(*shape, 64)
        for special in (0.0, float("nan"), float("inf")):
            torch.testing.assert_close(compiled(x, y), _similarity(x, y), equal_nan=True)
            x[-1, -1, -1] = special
    text = compiled.sizes[0].compiled.ir("fused")
    products = [line for line in text.splitlines() if 'op = ["prims.mul", "prims.sum"]' in line]
    assert products and all("lamina.ends = [" in line for line in products)


def _of_next(x: Any, labels: Any, weight: Any) -> Any:
    """The loss of a text, each of whose tokens foretells the next one."""
    scores = x @ weight
    return functional.cross_entropy(scores[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


def test_losses_of_next_tokens() -> None:
    """Rows end at a size that is one less, those of the product as well; no logarithm is stored."""
    sizes = {0: Dim("batch", min=1, max=16), 1: Dim("length", min=3, max=64)}
    weight = torch.randn(8, 300)
    program = torch.export.export(
        Called(_of_next),
        (torch.zeros(3, 7, 8), torch.zeros(3, 7, dtype=torch.long), weight),
        dynamic_shapes=((sizes, sizes, None),),
    )
    compiled = lamina.compile(program, versions="padded")
    compiled(torch.full((16, 64, 8), float("nan")), torch.zeros(16, 64, dtype=torch.long), weight)
    for shape in ((1, 3), (3, 7), (5, 64), (16, 63), (16, 64)):
        x, labels = torch.randn(*shape, 8), torch.randint(0, 300, shape)
        labels[0, -1] = -100
        wanted = _of_next(x.double(), labels, weight.double()).float()
        torch.testing.assert_close(compiled(x, labels, weight), wanted, rtol=1e-5, atol=1e-4)
    with pytest.raises(lamina.LaminaError):
        compiled(torch.randn(2, 5, 8), torch.full((2, 5), 300), weight)
    text = compiled.sizes[0].compiled.ir("fused")
    nests = [line for line in text.splitlines() if "loop.generic" in line]
    for op in ("prims.exp", "prims.contract"):
        lines = [line for line in nests if f'"{op}"' in line]
        assert lines and all(len(re.findall(r"arg\d+ of", line)) == 2 for line in lines)
    assert not any("store : tensor<16x63x300xf32>" in line for line in nests)


def test_sums_beside_the_rows_that_count() -> None:
    """Tasks take the rows of a call in turn: some have none."""
    weight, bias = torch.randn(512), torch.randn(512)

    def activated(x: torch.Tensor) -> Any:
        y = torch.relu(x * weight + bias)
        return y, y.sum(0), (y * x).sum(0)

    rows = Dim("rows", min=0, max=2048)
    program = torch.export.export(
        Called(activated), (torch.zeros(7, 512),), dynamic_shapes=(({0: rows},),)
    )
    compiled = lamina.compile(program, versions="padded")
    compiled(torch.full((2048, 512), float("nan")))
    assert "live = [" in compiled.sizes[0].compiled.ir("fused").partition('"prims.sum"')[2]
    for count in (0, 1, 5, 127, 128, 129, 700, 2047, 2048):
        x = torch.randn(count, 512)
        for value, wanted in zip(compiled(x), activated(x), strict=True):
            torch.testing.assert_close(value, wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("scale", [1e-30, 1e18, 1e30])
def test_deviations_whose_squares_overflow_or_vanish(scale: float, axis: int) -> None:
    def spreads(x: torch.Tensor) -> Any:
        return x.std(0), *torch.var_mean(x, 0)

    compiled = _compiled(spreads, (96, 64), axis, 2)
    for count in (2, 33, 96 if axis == 0 else 64):
        shape = (count, 64) if axis == 0 else (96, count)
        x = torch.randn(shape, generator=torch.Generator().manual_seed(1)) * scale
        tolerance = 1e-5 * scale
        for got, expected in zip(compiled(x), spreads(x), strict=True):
            torch.testing.assert_close(got, expected, rtol=1e-5, atol=tolerance)


def test_masks_that_are_false_within_a_size_as_well() -> None:
    """A mask of the program that a comparison with the size is part of, which alone says nothing
    of what counts."""

    def function(x: torch.Tensor, mask: torch.Tensor) -> Any:
        kept = mask & (torch.arange(x.shape[1]) < x.shape[1])
        return torch.where(kept, x, 0.0).sum(1), x.masked_fill(~kept, -1.0).amax(1)

    rows, columns = Dim("rows", max=1024), Dim("columns", min=1, max=1024)
    dims = (({0: rows, 1: columns}, {0: columns}),)
    given = torch.randn(300, 200), torch.rand(200) > 0.5
    program = torch.export.export(Called(function), given, dynamic_shapes=dims)
    compiled = lamina.compile(program, versions="padded")
    for shape in ((300, 200), (17, 33), (5, 1), (600, 1000)):
        x, mask = torch.randn(shape), torch.rand(shape[1]) > 0.3
        torch.testing.assert_close(
            compiled(x, mask), function(x, mask), rtol=1e-4, atol=1e-4, msg=str(shape)
        )
