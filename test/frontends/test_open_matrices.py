"""Products by matrices of open size: columns, terms and rows end at those of a call."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

import lamina
from lamina.codegen.target import Target
from lamina.frontends.exported_program import import_exported_program
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import lower, parse
from lamina.runtime.sized import padded_program

Sizes = tuple[int, int, int, int]
"""Batch, rows, terms and columns."""
Given = list[torch.Tensor]

BOUND = 64
ODD: tuple[Sizes, ...] = (
    (1, 1, 1, 1),
    (2, 3, 31, 33),
    (3, 33, 32, 64),
    (1, 8, 64, 7),
    (4, 17, 5, 32),
    (BOUND, 2, 63, 63),
)


def _affine(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return functional.relu(functional.linear(x, w, b))


PRODUCTS: dict[str, tuple[Callable[..., torch.Tensor], str]] = {
    "linear": (functional.linear, "blk,nk"),
    "linear, bias and relu": (_affine, "blk,nk,n"),
    "matmul": (torch.matmul, "blk,kn"),
    "bmm": (torch.bmm, "blk,bkn"),
    "baddbmm": (torch.baddbmm, "bln,blk,bkn"),
    "turned rows": (lambda x, y: torch.bmm(x.mT, y), "bkl,bkn"),
    "turned twice": (lambda x: x.mT @ (x @ x.mT), "blk"),
    "half": (lambda x, y: torch.bmm(x.bfloat16(), y.bfloat16()).float(), "blk,bkn"),
    "whole": (lambda x, y: torch.bmm((x * 9).int(), (y * 9).int()), "blk,bkn"),
}
"""The function, and the sizes of its arguments."""


class Product(nn.Module):
    """A product of its arguments."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.function = PRODUCTS[name][0]

    def forward(self, *given: torch.Tensor) -> torch.Tensor:
        """The product."""
        return self.function(*given)


def _given(name: str, sizes: Sizes) -> Given:
    known = dict(zip("blkn", sizes, strict=True))
    return [torch.randn(*(known[s] for s in own)) for own in PRODUCTS[name][1].split(",")]


def _exported(name: str) -> torch.export.ExportedProgram:
    dims: dict[str, Any] = {size: Dim(f"size_{size}", min=1, max=BOUND) for size in "blkn"}
    open_sizes = tuple(dict(enumerate(dims[s] for s in p)) for p in PRODUCTS[name][1].split(","))
    given = tuple(_given(name, (3, 10, 20, 30)))
    return torch.export.export(Product(name), given, dynamic_shapes=(open_sizes,))


@pytest.mark.parametrize("name", PRODUCTS)
def test_as_torch_at_odd_sizes(name: str) -> None:
    """Also where a larger call has left what is no number behind."""
    torch.manual_seed(0)
    compiled = lamina.compile(_exported(name), versions="padded")
    for sizes in ODD:
        for dirt in _given(name, (BOUND,) * 4), _given(name, (5, 40, 50, 60)):
            compiled(*(torch.full_like(x, np.nan) for x in dirt))
        given = _given(name, sizes)
        wanted = Product(name)(*given)
        near = 2.0**-7 if name == "half" else 1e-4
        torch.testing.assert_close(compiled(*given), wanted, rtol=near, atol=near)


def test_infinite_terms_count() -> None:
    compiled = lamina.compile(_exported("linear"), versions="padded")
    x, w = _given("linear", (2, 3, 40, 33))
    x[0, 0, 39], w[32, 39] = np.inf, np.nan
    wanted = functional.linear(x, w).numpy()
    found = compiled(x, w).numpy()
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))


@pytest.mark.parametrize("name", ["linear", "linear, bias and relu", "bmm"])
def test_layers_agree(name: str) -> None:
    """Arguments have room up to the bounds here, where there is no number."""
    torch.manual_seed(0)
    module = import_exported_program(_exported(name)).module
    bounds = {n: int(b) for n, b in re.findall(r"lamina.size<(\w+) in \[1, (\d+)\]", str(module))}
    assert set(bounds.values()) == {BOUND}
    by_itself = str(padded_program(module, bounds)).replace("lamina.compact", "lamina.by_itself")
    module = parse(by_itself)
    layers = [by_itself]
    for above, below in (("functional", "bufferized"), ("bufferized", "scheduled")):
        lower(module, above, below, Target.host())
        layers.append(str(module))
    assert ("visited = [" if name == "bmm" else "counts [") in layers[1]  # where loops end
    for sizes in ((1, 1, 1, 1), (2, 3, 31, 33), (3, 5, 32, 64)):
        given = _given(name, sizes)
        room: list[Any] = []
        for own in given:
            whole = np.full((BOUND,) * own.dim(), np.nan, np.float32)
            whole[tuple(map(slice, own.shape))] = own.numpy()
            room.append(whole)
        wanted = Product(name)(*given).numpy()
        for text in layers:
            made = run_module(parse(text), [*room, *map(np.array, sizes)])[0]
            cut = np.asarray(made)[tuple(map(slice, wanted.shape))]
            np.testing.assert_allclose(cut, wanted, 1e-4, 1e-4)
