"""Products behind each other by matrices of open size, whose sums end at sizes that differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch.export import Dim

import lamina
from lamina.codegen.target import Target
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import lower, parse

Tensors = tuple[torch.Tensor, ...]

SIZES = ((1, 1, 1, 1), (2, 60, 33, 70), (3, 17, 96, 31), (1, 40, 5, 64), (4, 3, 100, 1))
"""Batch, rows, features and what the first product makes."""


class Function(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: torch.Tensor) -> torch.Tensor:
        return self.function(*arguments)


def _chain(b: int, n: int, d: int, e: int) -> Tensors:
    return torch.randn(b, n, d), torch.randn(d, e), torch.randn(e, d)


def _batches(b: int, n: int, d: int, e: int) -> Tensors:
    return torch.randn(b, n, d), torch.randn(b, d, e), torch.randn(b, e, d)


def _attended(b: int, n: int, d: int, e: int) -> Tensors:
    return torch.randn(b, n, d), torch.randn(b, e, d), torch.randn(b, e, d)


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q @ k.transpose(1, 2), -1) @ v


PROGRAMS: dict[str, tuple[Callable[..., torch.Tensor], Callable[..., Tensors]]] = {
    "two": (lambda x, w, v: x @ w @ v, _chain),
    "with what is between": (lambda x, w, v: torch.sigmoid(x @ w) @ v + x, _chain),
    "batches": (lambda x, w, v: torch.bmm(torch.bmm(x, w), v), _batches),
    "attention": (_attention, _attended),
    "of what a product makes": (lambda x, w, v: (x @ w).transpose(1, 2) @ (x @ w) @ v, _chain),
    "three": (lambda x, w, v: x @ w @ v @ w, _chain),
}


def _compiled(name: str) -> Any:
    function, make = PROGRAMS[name]
    names: dict[int, Any] = dict(zip((3, 70, 50, 40), map(Dim, "bnde"), strict=True))
    given = make(*names)
    dims = tuple({place: names[size] for place, size in enumerate(x.shape)} for x in given)
    program = torch.export.export(Function(function), given, dynamic_shapes=(dims,))
    return lamina.compile(program, versions="padded")


def _compare(compiled: Callable[..., Any], name: str, given: Sequence[torch.Tensor]) -> None:
    function, _ = PROGRAMS[name]
    exact = function(*(x.double() for x in given))
    scale = max(1.0, exact[exact.isfinite()].abs().max().item() if exact.isfinite().any() else 0.0)
    torch.testing.assert_close(
        compiled(*given).double(), exact, rtol=1e-4, atol=1e-5 * scale, equal_nan=True
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_torch(name: str) -> None:
    compiled, make = _compiled(name), PROGRAMS[name][1]
    for sizes in SIZES:
        _compare(compiled, name, make(*sizes))


@pytest.mark.parametrize("name", ["two", "batches"])
@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_what_is_no_number_stays_where_it_is(name: str, value: float) -> None:
    """A sum that ends at a number reads nothing behind it, and all in front."""
    compiled, make = _compiled(name), PROGRAMS[name][1]
    for operand in range(3):
        given = make(2, 20, 33, 19)
        given[operand][..., -1, -1] = value
        _compare(compiled, name, given)
        compiled(*make(2, 60, 70, 40))  # what is left in memory by other sizes
        _compare(compiled, name, given)


def _text(op: str, operands: str, result: str) -> str:
    return f"""
func.func @main(%x: tensor<?x?x?xf32> {{lamina.dims = [{B}, {N}, {D}]}}, {operands})
    -> tensor<?x?x?xf32> attributes {{lamina.compact}} {{
  %0 = aten.{op}.default(%x, %w) : (tensor<?x?x?xf32>, tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  {result}
}}
"""


B, N, D, E = (
    f"#lamina.size<{name} in [0, {most}]>"
    for name, most in (("b", 32), ("n", 256), ("d", 64), ("e", 64))
)
WEIGHT = f"%w: tensor<?x?x?xf32> {{lamina.dims = [{B}, {D}, {E}]}}"
TEXTS = {
    "one": _text("bmm", WEIGHT, "func.return %0 : tensor<?x?x?xf32>"),
    "two": _text(
        "bmm",
        f"{WEIGHT}, %v: tensor<?x?x?xf32> {{lamina.dims = [{B}, {E}, {D}]}}",
        "%1 = aten.bmm.default(%0, %v) : (tensor<?x?x?xf32>, tensor<?x?x?xf32>)"
        " -> tensor<?x?x?xf32>\n  func.return %1 : tensor<?x?x?xf32>",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("sizes", [(2, 10, 33, 17), (1, 1, 1, 1)])
def test_every_layer_means_the_same(name: str, sizes: tuple[int, int, int, int]) -> None:
    """What stands behind the sizes of a call is no number here, and is not asked."""
    b, n, d, e = sizes
    random = np.random.default_rng(0)
    shapes = [((b, n, d), (32, 256, 64)), ((b, d, e), (32, 64, 64)), ((b, e, d), (32, 64, 64))]
    module, given, padded = parse(TEXTS[name]), list[Any](), list[Any]()
    for shape, bounds in shapes[: 2 if name == "one" else 3]:
        part, whole = random.standard_normal(shape, np.float32), np.full(bounds, np.nan, np.float32)
        whole[: shape[0], : shape[1], : shape[2]] = part
        given.append(part)
        padded.append(whole)
    wanted = given[0]
    for part in given[1:]:
        wanted = wanted @ part
    counts = [np.array(size) for size in sizes]
    start = "aten"
    for stop in ("functional", "fused", "bufferized", "scheduled"):
        lower(module, start, stop, Target.host(), enters=start == "aten")
        start = stop
        (made,) = run_module(module.clone(), [*padded, *counts])
        np.testing.assert_allclose(made, wanted, rtol=2e-5, atol=1e-5)
        assert ("lamina.cut" in str(module)) == (stop in ("fused", "bufferized"))
