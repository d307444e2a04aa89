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
    for wrong in (9, 63, 64, 65, 1000, -1000):  # behind the rows, the bound, and what marks padding
        places[0, 4, 0] = wrong
        with pytest.raises(lamina.ExecutionError, match="index out of range"):
            compiled(x, places, y)
    assert len(compiled.sizes) == 1


def test_a_result_lies_together_where_what_it_is_a_copy_of_does_not() -> None:
    """A product reads what it packs by turning it in the layout of its type; what is returned lies
    as calls have it."""

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
    assert laid == {"x": False, "y": True, "out0": True, "out1": True}
