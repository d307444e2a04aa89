"""Operands that are turned in tiles while they are packed end at the lines that calls have."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from torch.export import Dim

import lamina

MOST = 64
SIZES = (
    (2, 32, 9, 7),
    (1, 1, 1, 1),
    (3, 33, 16, 17),
    (2, 64, 20, 64),
    (1, 15, 5, 31),
    (2, 5, 3, 16),
)
"""Images, channels, height and width: within a tile, at its end, and one more."""


class Gram(torch.nn.Module):
    """Of the channels of images, over their pixels."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        f = x.view(b, c, h * w)
        return f @ f.transpose(1, 2) / (h * w)


@cache
def _compiled() -> Any:
    dims = {n: Dim(name, min=1, max=MOST) for n, name in enumerate("bchw")}
    program = torch.export.export(Gram(), (torch.randn(3, 32, 9, 7),), dynamic_shapes=(dims,))
    return lamina.compile(program, versions="padded")


@pytest.mark.parametrize("size", SIZES)
def test_equals_torch(size: tuple[int, int, int, int]) -> None:
    """Behind a call that leaves NaN wherever it has been."""
    compiled, x = _compiled(), torch.randn(*size)
    compiled(torch.full((2, MOST, MOST, MOST), float("nan")))
    torch.testing.assert_close(compiled(x), Gram()(x), rtol=1e-5, atol=1e-5)


def test_the_argument_is_not_copied() -> None:
    """It lies as calls have it, channels too, though panels have more."""
    compiled = _compiled()
    compiled(torch.randn(3, 32, 9, 7))
    version = next(v for v in compiled.sizes if not v.is_exact)
    text = version.compiled.ir("bufferized")
    entry = text.split("attributes {lamina.compact")[0]
    argument = entry.split("%size")[0]
    assert "lamina.extents" in argument
    assert "transpose = " in text
