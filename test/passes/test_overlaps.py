"""Ops that read what they write: as eager mode, or refused where numbers depend on its loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina.dialects.errors import UnsupportedError
from lamina.runtime.interpreters import run_module

Program = Callable[[torch.Tensor], torch.Tensor]


class _Module(torch.nn.Module):
    def __init__(self, function: Program) -> None:
        super().__init__()
        self.forward = function  # pyright: ignore


def written(write: Callable[[torch.Tensor], object]) -> Program:
    """A program that writes its argument, a matrix of 4x6."""

    def program(x: torch.Tensor) -> torch.Tensor:
        write(x)
        return x * 1

    return program


EQUAL: dict[str, Callable[[torch.Tensor], object]] = {
    "itself": lambda x: x.add_(x),
    "the same slice twice": lambda x: x[1:, ::2].mul_(x[1:, ::2]),
    "one view by two ways": lambda x: x[1].sub_(x.view(24)[6:12] * 1).mul_(x.view(24)[6:12]),
    "other rows": lambda x: x[1:3].add_(x[::3]),
    "interleaved columns": lambda x: x[:, ::2].mul_(x[:, 1::2]),
    "halves": lambda x: x.chunk(2, 1)[0].mul_(x.chunk(2, 1)[1]),
    "a copy of what overlaps": lambda x: x.view(24)[1:].copy_(x.view(24)[:-1].clone()),
    "a row from a column at one index": lambda x: x.diagonal().copy_(x[1, :4]),
    "a number of the target": lambda x: x.fill_(x[1, 2]),
    "where greater, a number of the target": lambda x: x.masked_fill_(x > 0, x[0, 0]),
    "a product with itself": lambda x: x.add_(torch.einsum("ij,kj->ij", x, x[1:3])),
    "out of an elementwise op": lambda x: torch.exp(x[1:], out=x[1:]),
    "out of a sum along rows": lambda x: torch.cumsum(x, 1, out=x),
    "out of softmax": lambda x: torch.softmax(x, 0, out=x),
    "out of a triangle": lambda x: torch.tril(x, out=x),
    "out of rows elsewhere": lambda x: torch.cat([x[:1], x[1:2]], out=x[2:]),
    "a sum of products": lambda x: torch.addmm(x[0, :2], x[:2, 2:4], x[2:, 2:4], out=x[2:, :2]),
}


@pytest.mark.parametrize("name", EQUAL)
def test_as_eager_mode(name: str) -> None:
    function = written(EQUAL[name])
    ours = torch.linspace(-2, 3, 24).view(4, 6)
    theirs = ours.clone()
    program = torch.export.export(_Module(function), (ours.clone(),), strict=False)
    expected = function(theirs)
    torch.testing.assert_close(lamina.compile(program, cache=False)(ours), expected)
    torch.testing.assert_close(ours, theirs)


VIEWS = """
  %row = aten.select.int(%x, dim = 0, index = 1) : (tensor<6x6xf32>) -> tensor<6xf32>
  %column = aten.select.int(%x, dim = 1, index = 2) : (tensor<6x6xf32>) -> tensor<6xf32>
  %turned = aten.t.default(%x) : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %upper = aten.slice.Tensor(%x, dim = 0, start = 0, end = 5) : (tensor<6x6xf32>) -> tensor<5x6xf32>
  %lower = aten.slice.Tensor(%x, dim = 0, start = 1, end = 6) : (tensor<6x6xf32>) -> tensor<5x6xf32>
  %two = aten.slice.Tensor(%x, dim = 0, start = 0, end = 2) : (tensor<6x6xf32>) -> tensor<2x6xf32>
  %i = aten.arange.default(end = 5) : () -> tensor<5xi64>
"""
SHARED = "shares some elements with the tensor that is written"
REFUSED = {
    "add_.Tensor(%row, %column) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>": SHARED,
    "add_.Tensor(%x, %turned) : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>": SHARED,
    "mul_.Tensor(%x, %row) : (tensor<6x6xf32>, tensor<6xf32>) -> tensor<6x6xf32>": SHARED,
    "copy_.default(%lower, %upper) : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>": SHARED,
    "exp.out(%upper, out = %lower) : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>": SHARED,
    "index_copy_.default(%x, dim = 0, %i, %lower) : "
    "(tensor<6x6xf32>, tensor<5xi64>, tensor<5x6xf32>) -> tensor<6x6xf32>": SHARED,
    "addmv_.default(%row, %x, %column) : "
    "(tensor<6xf32>, tensor<6x6xf32>, tensor<6xf32>) -> tensor<6xf32>": "argument 'mat' " + SHARED,
    "stack.out([%row, %column], out = %two) : "
    "(tensor<6xf32>, tensor<6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>": r"'tensors' \(number 0\)",
    "mm.out(%x, %x, out = %x) : (tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>) "
    "-> tensor<6x6xf32>": "'self' is in the tensor that is written, which only elementwise ops may",
}


@pytest.mark.parametrize("op", REFUSED)
def test_refused(op: str) -> None:
    text = (
        f"func.func @main(%x: tensor<6x6xf32>) -> tensor<6x6xf32> {{{VIEWS}"
        f"  %0 = aten.{op}\n  func.return %x : tensor<6x6xf32>\n}}"
    )
    with pytest.raises(UnsupportedError, match=REFUSED[op]) as error:
        lamina.compile(text, cache=False)
    assert error.value.op == "aten." + op.partition("(")[0]
    assert error.value.location == "<text>:9:3"


DYNAMIC = """
func.func @main(%x: tensor<?x6xf32>) -> tensor<?x6xf32> {{
  %a = aten.slice.Tensor(%x, dim = 1, start = 0, end = 3) : (tensor<?x6xf32>) -> tensor<?x3xf32>
  %b = aten.slice.Tensor(%x, dim = 1, start = {0}, end = {1}) : (tensor<?x6xf32>) -> tensor<?x3xf32>
  %0 = aten.mul_.Tensor(%a, %b) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  func.return %x : tensor<?x6xf32>
}}"""


@pytest.mark.parametrize("start", [0, 3])
def test_slices_of_dynamic_tensors(start: int) -> None:
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    expected = x.copy()
    expected[:, :3] *= expected[:, start : start + 3].copy()
    module = lamina.parse(DYNAMIC.format(start, start + 3))
    np.testing.assert_array_equal(run_module(module, [x])[0], expected)


OPEN_ENDS = """
func.func @main(%x: tensor<?x6xf32>, %n: i64) -> tensor<?x6xf32> {{
  %a = aten.slice.Tensor(%x, dim = 0, {0}, step = 1) : (tensor<?x6xf32>{2}) -> tensor<?x6xf32>
  %b = aten.slice.Tensor(%x, dim = {1}, step = 1) : (tensor<?x6xf32>{2}) -> tensor<?x6xf32>
  %0 = aten.mul_.Tensor(%a, %b) : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
  func.return %x : tensor<?x6xf32>
}}"""


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        ("end = %n", "0, start = 0, end = %n", slice(2)),
        ("start = %n", "-2, start = %n, end = 9223372036854775807", slice(2, None)),
    ],
)
def test_slices_with_ends_left_out_are_those_with_torch_s_ends(
    one: str, other: str, kept: slice
) -> None:
    """`y[:n] += 1` writes to one, and copies it to the other."""
    x = np.arange(18, dtype=np.float32).reshape(3, 6)
    expected = x.copy()
    expected[kept] *= expected[kept]
    module = lamina.parse(OPEN_ENDS.format(one, other, ", i64"))
    np.testing.assert_array_equal(run_module(module, [x, 2])[0], expected)


def test_slices_of_all_rows_are_the_rows() -> None:
    """`y[:, :n] += 1` writes to such a slice of such a one."""
    module = lamina.parse("""
func.func @main(%x: tensor<?x6xf32>, %n: i64) -> tensor<?x6xf32> {
  %a = aten.slice.Tensor(%x, dim = 1, end = %n) : (tensor<?x6xf32>, i64) -> tensor<?x?xf32>
  %b = aten.slice.Tensor(%x, dim = 0, start = 0) : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %c = aten.slice.Tensor(%b, dim = 1, end = %n) : (tensor<?x6xf32>, i64) -> tensor<?x?xf32>
  %0 = aten.mul_.Tensor(%a, %c) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %x : tensor<?x6xf32>
}""")
    x = np.arange(18, dtype=np.float32).reshape(3, 6)
    expected = x.copy()
    expected[:, :2] *= expected[:, :2]
    np.testing.assert_array_equal(run_module(module, [x, 2])[0], expected)


def test_slices_with_other_ends_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=SHARED):
        module = lamina.parse(OPEN_ENDS.format("end = %n", "0, start = 1, end = %n", ", i64"))
        run_module(module, [np.zeros((3, 6), np.float32), 2])


def test_slices_of_dynamic_tensors_that_meet_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=SHARED):
        module = lamina.parse(DYNAMIC.format(2, 5))
        run_module(module, [np.zeros((2, 6), np.float32)])


def _slice(name: str, start: int, step: int, count: int) -> str:
    end = start + step * (count - 1) + 1
    return (
        f"  %{name} = aten.slice.Tensor(%x, dim = 0, start = {start}, end = {end}, step = {step}) "
        f": (tensor<24xf32>) -> tensor<{count}xf32>\n"
    )


@given(st.tuples(st.integers(0, 9), st.integers(1, 3), st.integers(0, 9), st.integers(1, 3)))
def test_any_two_slices(places: tuple[int, int, int, int]) -> None:
    """Refused if and only if an element that both have is at two indices of them."""
    start, step, other_start, other_step = places
    count = 5
    mine = [start + step * i for i in range(count)]
    others = [other_start + other_step * i for i in range(count)]
    moved = any(cell in mine and mine.index(cell) != i for i, cell in enumerate(others))
    kind = f"tensor<{count}xf32>"
    text = (
        "func.func @main(%x: tensor<24xf32>) -> tensor<24xf32> {\n"
        + _slice("a", start, step, count)
        + _slice("b", other_start, other_step, count)
        + f"  %0 = aten.add_.Tensor(%a, %b) : ({kind}, {kind}) -> {kind}\n"
        "  func.return %x : tensor<24xf32>\n}"
    )
    x = np.arange(24, dtype=np.float32)
    if moved:
        with pytest.raises(UnsupportedError, match=SHARED):
            run_module(lamina.parse(text), [x])
        return
    expected = torch.arange(24.0)
    end, other_end = mine[-1] + 1, others[-1] + 1
    expected[start:end:step].add_(expected[other_start:other_end:other_step])
    np.testing.assert_array_equal(run_module(lamina.parse(text), [x])[0], expected.numpy())
