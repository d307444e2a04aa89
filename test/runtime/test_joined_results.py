"""Results whose dimensions are joined of open ones are made where they are, and not moved."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from torch.export import Dim
from torch.nn import functional as F  # noqa: N812 - its usual name

import lamina
from lamina.dialects.sizes import Formula
from lamina.passes.contracts.derived_sizes import room_for

MOST = 32
SIZES = ((3, 5, 7), (1, 1, 1), (4, 32, 32), (2, 31, 1), (0, 4, 5), (3, 5, 7))


class Windows(torch.nn.Module):
    """Of 4x4 pixels, one behind the other."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, h, w, c = x.shape
        x = x.view(b, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5)
        return x.reshape(-1, 16, c)


class Patches(torch.nn.Module):
    """Of 4x4 pixels, whose channels are open as well and part of a row."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        x = x.view(b, c, h // 4, 4, w // 4, 4).permute(0, 2, 4, 1, 3, 5)
        return x.reshape(b, h // 4 * (w // 4), c * 16)


class Unfold(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.unfold(x, 3, padding=1)


class SumsToo(torch.nn.Module):
    """What is joined is read as it was, too."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = F.pad(x, (1, 1))
        return y.flatten(2), y.sum(3)


@cache
def _compiled(kind: type[torch.nn.Module]) -> Any:
    unit = 4 if kind is Windows else 1
    batch, height, width = (Dim(n, min=int(n != "b"), max=MOST) for n in ("b", "h", "w"))
    dims = {0: batch, 1: unit * height, 2: unit * width}
    if kind is Patches:
        dims = {1: batch, 2: 4 * height, 3: 4 * width}
    elif kind is not Windows:
        dims = {0: batch, 2: height, 3: width}
    program = torch.export.export(kind(), (_input(kind, (3, 5, 7)),), dynamic_shapes=(dims,))
    return lamina.compile(program, versions="padded")


def _input(kind: type[torch.nn.Module], size: tuple[int, int, int]) -> torch.Tensor:
    b, h, w = size
    if kind is Patches:
        return torch.randn(2, b, 4 * h, 4 * w)
    return torch.randn(b, 4 * h, 4 * w, 6) if kind is Windows else torch.randn(b, 6, h, w)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [Windows, Patches, Unfold, SumsToo])
def test_equals_torch(kind: type[torch.nn.Module], size: tuple[int, int, int]) -> None:
    """Behind a call that leaves NaN wherever it has been."""
    compiled, x = _compiled(kind), _input(kind, size)
    compiled(torch.full_like(_input(kind, (4, MOST, MOST)), float("nan")))
    torch.testing.assert_close(compiled(x), kind()(x))


@pytest.mark.parametrize("kind", [Windows, Patches, Unfold])
def test_nothing_is_moved(kind: type[torch.nn.Module]) -> None:
    compiled = _compiled(kind)
    compiled(_input(kind, (3, 5, 7)))
    version = next(v for v in compiled.sizes if not v.is_exact)
    assert "loop.read" not in version.compiled.ir("bufferized")


def test_there_is_room_for_the_first_of_none() -> None:
    """Kernels take each number as 1 at least, where their product is 0 as well."""
    sizes = [Formula.argument(n) for n in range(3)]
    room = room_for(sizes[0] * sizes[1] * 2 * sizes[2])
    assert [room.at(dict(enumerate(n))) for n in ((0, 4, 5), (0, 0, 5), (3, 4, 5))] == [40, 10, 120]
