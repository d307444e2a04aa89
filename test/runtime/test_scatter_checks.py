"""Places to which scatters in padded versions write: kept, or refused, as in eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import lamina

Scatter = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]

SCATTERS: dict[str, Scatter] = {
    "scatter": lambda x, i, y: x.scatter(1, i, y),
    "scatter_add": lambda x, i, y: x.scatter_add(1, i, y),
    "index_add": lambda x, i, y: x.index_add(1, i[0, :, 0], y),
}


@pytest.mark.parametrize("name", SCATTERS)
def test_places_of_open_rows(name: str) -> None:
    function = SCATTERS[name]

    class Module(nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return function(x, i, y)

    def given(batch: int, rows: int, width: int) -> tuple[torch.Tensor, ...]:
        places = torch.argsort(torch.rand(batch, rows, width), 1)
        return torch.randn(batch, rows, width), places, torch.randn(batch, rows, width)

    names = [Dim(one, min=least, max=64) for one, least in (("b", 1), ("n", 2), ("w", 1))]
    dims = (dict(enumerate(names)),) * 3
    program = torch.export.export(Module(), given(3, 5, 7), dynamic_shapes=dims)
    compiled = lamina.compile(program, versions="padded")
    for sizes in ((3, 5, 7), (1, 2, 1), (64, 64, 64), (2, 63, 3)):
        x, places, y = given(*sizes)
        torch.testing.assert_close(compiled(x, places, y), function(x, places, y))
    x, places, y = given(2, 9, 3)
    for wrong in (
        9,
        63,
        64,
        65,
        1000,
        -1,
        -1000,
    ):  # behind the rows, the bound, and what marks padding
        places[0, 4, 0] = wrong
        with pytest.raises(lamina.ExecutionError, match="index out of range"):
            compiled(x, places, y)
    assert len(compiled.sizes) == 1


def test_what_is_copied_and_packed_lies_together() -> None:
    """A scatter copies what a product reads as it lies, and packs by turning its lines: all of it
    lies as calls have it."""

    class Module(nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor, y: torch.Tensor) -> tuple[Any, ...]:
            return x.index_add(1, i, y), torch.bmm(x, x.transpose(1, 2))

    def given(batch: int, rows: int, width: int) -> tuple[torch.Tensor, ...]:
        x, y = torch.randn(batch, rows, width), torch.randn(batch, rows, width)
        return x, torch.randperm(rows), y

    names = [Dim(one, min=least, max=64) for one, least in (("b", 1), ("n", 2), ("w", 1))]
    whole = dict(enumerate(names))
    dims = (whole, {0: names[1]}, whole)
    program = torch.export.export(Module(), given(3, 5, 7), dynamic_shapes=dims)
    compiled = lamina.compile(program, versions="padded")
    for sizes in ((3, 5, 7), (1, 2, 1), (64, 64, 64), (2, 63, 3), (4, 20, 33)):
        arguments = given(*sizes)
        for made, wanted in zip(compiled(*arguments), Module()(*arguments), strict=True):
            torch.testing.assert_close(made, wanted, rtol=1e-4, atol=1e-5)
    slots = compiled.sizes[0].compiled.program.main.slots
    laid = {slot.name: slot.extents is not None for slot in slots if len(slot.shape) == 3}
    assert laid == {"x": True, "y": True, "out0": True, "out1": True}


BEHIND = "index out of range: must be at least 0 and below 5"


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("index_add", torch.int32),
        ("index_add", torch.int64),
        ("index_copy", torch.int64),
        ("index_fill", torch.int64),
    ],
)
def test_places_along_a_dimension(name: str, dtype: torch.dtype) -> None:
    """Only index_fill counts from the end; what is no place is refused."""
    functions: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
        "index_add": lambda x, i: x.index_add(0, i, torch.ones(3, 4)),
        "index_copy": lambda x, i: x.index_copy(0, i, torch.ones(3, 4)),
        "index_fill": lambda x, i: x.index_fill(0, i, 2.0),
    }
    fast = torch.compile(functions[name], backend="lamina", fullgraph=True)
    x = torch.randn(5, 4)
    for last in (0, 4, 5, -1, -5, -6, 1 << 30):
        places = torch.tensor([1, 3, last], dtype=dtype)
        try:
            wanted = functions[name](x, places)
        except (IndexError, RuntimeError):
            with pytest.raises(lamina.ExecutionError, match=BEHIND):
                fast(x, places)
        else:
            torch.testing.assert_close(fast(x, places), wanted)


def test_fills_in_place_of_all_kinds() -> None:
    def function(
        x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, i: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        x.index_fill_(1, i, True)
        return y.index_fill(-1, i, torch.tensor(7)), z.index_fill(0, i[:1], 1.5), x

    def given(dim: int) -> tuple[torch.Tensor, ...]:
        x = torch.zeros(2, dim, dtype=torch.bool)
        return x, torch.randn(3, dim).bfloat16(), torch.randn(dim, 2), torch.tensor([-1, 0])

    fast = torch.compile(function, backend="lamina", fullgraph=True, dynamic=True)
    for dim in (3, 8, 17):
        arguments = given(dim)
        copies = [one.clone() for one in arguments]
        for made, wanted in zip(fast(*copies), function(*arguments), strict=True):
            torch.testing.assert_close(made, wanted, rtol=0, atol=0)
