"""`as_strided` of arguments that are views: its offset counts from the begin of their memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import lamina
from lamina.dialects.errors import ArgumentError, UnsupportedError

Function = Callable[[torch.Tensor], torch.Tensor]


class _Program(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def _compiled(function: Function | torch.nn.Module, x: torch.Tensor) -> Callable[..., Any]:
    module = function if isinstance(function, torch.nn.Module) else _Program(function)
    return lamina.compile(torch.export.export(module, (x,), strict=False), cache=False)


def _written(x: torch.Tensor) -> torch.Tensor:
    y = x.as_strided((2,), (2,), 3)
    y.add_(10)
    return x + 1


READS: dict[str, Function] = {
    "offset": lambda x: x.as_strided((2,), (1,), 3),
    "first element": lambda x: x.as_strided((2,), (2,), 2) + 1,
    "one element": lambda x: x.as_strided((1,), (1,), 5) + 1,
    "no offset": lambda x: x.as_strided((3,), (2,)),
    "of a view": lambda x: x[1:].as_strided((2,), (1,), 3),
    "of a transpose": lambda x: x.view(2, 3).t().as_strided((2, 2), (1, 2), 2),
    "twice": lambda x: x.as_strided((2,), (2,), 3).as_strided((2,), (1,), 4),
    "of a result": lambda x: (x + 1).as_strided((2,), (1,), 3),
    "copied": lambda x: torch.as_strided_copy(x, (2,), (1,), 3),
    "scattered": lambda x: torch.as_strided_scatter(x, torch.ones(2), (2,), (1,), 3),
    "written": _written,
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("begin", [0, 2])
def test_as_torch(name: str, begin: int) -> None:
    whole = torch.arange(12.0)
    x, same = whole[begin : begin + 6], whole.clone()[begin : begin + 6]
    function = READS[name]
    program = _compiled(function, whole.clone()[begin : begin + 6])
    assert torch.equal(program(x), function(same))
    assert torch.equal(x, same)


def test_calls_with_another_offset_are_refused() -> None:
    program = _compiled(READS["offset"], torch.arange(6.0))
    assert torch.equal(program(torch.arange(6.0)), torch.tensor([3.0, 4.0]))
    assert np.array_equal(program(np.arange(6, dtype=np.float32)), [3, 4])
    message = "argument 'x' begins at element 2 of its memory, and at 0 when as_strided of it"
    with pytest.raises(ArgumentError, match=message):
        program(torch.arange(12.0)[2:8])
    anywhere = _compiled(READS["no offset"], torch.arange(6.0))
    assert torch.equal(anywhere(torch.arange(12.0)[2:8]), torch.tensor([2.0, 4.0, 6.0]))


def test_memory_around_an_argument_is_refused() -> None:
    for start in (1, 7):
        with pytest.raises(UnsupportedError, match="reaches beyond the argument"):
            _compiled(lambda x, s=start: x.as_strided((2,), (1,), s), torch.arange(12.0)[2:8])


class _Bound(torch.nn.Module):
    def __init__(self, held: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("held", held)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.held.as_strided((2,), (1,), 3) + x  # pyright: ignore


def test_buffers_that_are_views() -> None:
    module = _Bound(torch.arange(12.0)[2:8])
    x = torch.ones(2)
    assert torch.equal(_compiled(module, x)(x), module(x))


def test_buffers_in_another_order_are_refused() -> None:
    module = _Bound(torch.arange(6.0).view(2, 3).t())
    with pytest.raises(UnsupportedError, match="not contiguous"):
        _compiled(module, torch.ones(2))


def test_operands_of_branches_are_refused() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        def taken(y: torch.Tensor) -> torch.Tensor:
            return y.as_strided((2,), (1,), 3) + 1

        return torch.cond(x.sum() > 0, taken, lambda y: y[:2] * 2, (x,))

    with pytest.raises(UnsupportedError, match="outside of the branch"):
        _compiled(function, torch.arange(12.0)[2:8])
