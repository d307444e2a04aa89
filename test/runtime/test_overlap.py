"""Arguments that share memory: refused where the program writes to it, taken where it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import lamina
from lamina.dialects.errors import ArgumentError
from lamina.runtime.compiled import Compiled


class _Program(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.forward = function  # pyright: ignore


def _compiled(function: Callable[..., Any], *shapes: int) -> Compiled:
    inputs = tuple(torch.zeros(shape) for shape in shapes)
    program = torch.export.export(_Program(function), inputs, strict=False)
    return lamina.compile(program, cache=False)


def _grow(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x.sum() + y.sum()


def _grow_both(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    z.mul_(2)
    return x.sum() + y.sum() + z.sum()


LIBRARIES: dict[str, Callable[[int], Any]] = {
    "torch": lambda size: torch.arange(float(size)),
    "numpy": lambda size: np.arange(size, dtype=np.float32),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("starts", [(0, 0), (0, 5), (5, 0), (3, 1)])
def test_shared_memory_that_is_written(library: str, starts: tuple[int, int]) -> None:
    program = _compiled(_grow, 6, 6)
    whole = LIBRARIES[library](20)
    x, y = (whole[start : start + 6] for start in starts)
    message = (
        r"^argument 0 \('x'\) and argument 1 \('y'\) share memory, and the program writes to "
        r"argument 0 \('x'\); pass a copy of one of them$"
    )
    with pytest.raises(ArgumentError, match=message):
        program(x, y)
    assert list(whole) == list(range(20))


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_same_array_twice(library: str) -> None:
    program = _compiled(_grow, 6, 6)
    x = LIBRARIES[library](6)
    with pytest.raises(ArgumentError, match="share memory"):
        program(x, x)


@pytest.mark.parametrize("library", LIBRARIES)
def test_neighbours_do_not_overlap(library: str) -> None:
    program = _compiled(_grow_both, 6, 6, 6)
    for starts in ((0, 6, 12), (12, 6, 0), (6, 0, 12), (6, 12, 0)):
        whole = LIBRARIES[library](18)
        parts = [whole[start : start + 6] for start in starts]
        expected = sum(parts[0] + 1) + sum(parts[1]) + sum(parts[2] * 2)
        assert float(program(*parts)) == float(expected)


def test_what_is_only_read_may_be_shared() -> None:
    program = _compiled(_grow_both, 6, 6, 6)
    whole = torch.arange(20.0)
    for parts in ((0, 8, 1), (8, 0, 8), (8, 0, 3)):
        x, y, z = (whole[start : start + 6] for start in parts)
        with pytest.raises(ArgumentError, match=r"share memory"):
            program(x, y, z)
    reads = _compiled(lambda x, y: x + y, 6, 6)
    assert torch.equal(reads(whole[:6], whole[2:8]), whole[:6] + whole[2:8])
    grow = _compiled(lambda x, y, z: (_grow(x, y), y + z), 6, 6, 6)
    sums, _ = grow(whole[:6], whole[6:12], whole[8:14])  # y and z overlap, x is written
    assert float(sums) == sum(range(6)) + 6 + sum(range(6, 12))


def test_tensors_without_elements_share_nothing() -> None:
    program = _compiled(_grow, 0, 6)
    x = torch.arange(6.0)
    assert float(program(x[3:3], x)) == 15


class _Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4))
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.count.add_(y)  # pyright: ignore
        x.mul_(2)
        return x + self.count + self.weight  # pyright: ignore


def test_what_is_bound_is_named() -> None:
    module = _Counter()
    exported = torch.export.export(module, (torch.ones(4), torch.ones(4)), strict=False)
    program = lamina.compile(exported, cache=False)
    count, weight = exported.buffers().__next__(), exported.parameters().__next__().detach()
    with torch.no_grad():
        assert torch.equal(program(torch.ones(4), torch.ones(4)), torch.full((4,), 4.0))
    message = r"argument 1 \('y'\) share memory, and the program writes to buffer 'count'"
    with pytest.raises(ArgumentError, match=message):
        program(torch.ones(4), count)
    with pytest.raises(ArgumentError, match=r"parameter 'weight' and argument 0 \('x'\)"):
        program(weight, torch.ones(4))
    assert torch.equal(program(torch.ones(4), weight), torch.full((4,), 5.0))


def test_agrees_with_all_pairs() -> None:
    """Any intervals: an error just where a written one meets another one."""
    random = np.random.default_rng(0)
    function: Any = lambda a, b, c, d, e: (a.add_(1), c.mul_(2), a + b + c + d + e)[-1]  # noqa: E731
    program = _compiled(function, 3, 3, 3, 3, 3)
    outcomes = set()
    for _ in range(300):
        starts = random.integers(0, 40, 5)
        whole = np.zeros(44, np.float32)
        near = abs(starts[:, None] - starts) < 3
        np.fill_diagonal(near, False)
        shared = bool(near[[0, 2]].any())
        try:
            program(*(whole[start : start + 3] for start in starts))
            raised = False
        except ArgumentError:
            raised = True
        assert raised == shared, starts
        outcomes.add(shared)
    assert outcomes == {True, False}


class _Halves(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        whole = torch.arange(6.0)
        self.register_buffer("left", whole[:4])
        self.register_buffer("right", whole[2:])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.left.add_(x)  # pyright: ignore
        return self.left + self.right  # pyright: ignore


def test_buffers_that_overlap_are_refused_when_they_are_bound() -> None:
    exported = torch.export.export(_Halves(), (torch.ones(4),), strict=False)
    with pytest.raises(ArgumentError, match=r"buffer 'left' and buffer 'right' share memory"):
        lamina.compile(exported, cache=False)
