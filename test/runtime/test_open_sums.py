"""Sums of products over many positions that calls bring few of: they end there, in blocks too."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim

import lamina

WIDTH = 48
SIZES = ((2, 10), (1, 1), (3, 85), (4, 64), (1, 256), (5, 103), (16, 256), (2, 10))
"""Batch and length: within a block of the sum, at its end, one more, and all of the bound."""


class Covariance(torch.nn.Module):
    """Products of joined rows with themselves."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.reshape(-1, x.shape[2])
        return rows.T @ rows


@pytest.fixture(scope="module")
def compiled() -> Any:
    dims = {0: Dim("batch", min=1, max=16), 1: Dim("length", min=1, max=256)}
    program = torch.export.export(
        Covariance(), (torch.randn(3, 40, WIDTH),), dynamic_shapes=(dims,)
    )
    return lamina.compile(program, versions="padded")


@pytest.mark.parametrize("size", SIZES)
def test_equals_torch(compiled: Any, size: tuple[int, int]) -> None:
    """Behind a call that leaves NaN wherever it has been."""
    compiled(torch.full((16, 256, WIDTH), float("nan")))
    x = torch.randn(*size, WIDTH)
    exact = Covariance()(x.double())
    error = (compiled(x).double() - exact).abs().max()
    assert error <= 1e-6 * exact.abs().max()


def test_what_is_multiplied_ends_at_what_counts(compiled: Any) -> None:
    """In blocks of the sum; so do the rows that are moved together, once for both operands."""
    version = next(v for v in compiled.sizes if not v.is_exact)
    lines = version.compiled.ir("bufferized").split("\n")
    nests = [line for line in lines if "loop.generic" in line]
    (product,) = (line for line in nests if "prims.contract" in line)
    assert "terms = " in product
    assert "lamina.cut" in product
    (moved,) = (line for line in nests if f"in [4096, {WIDTH}]" in line)
    assert "rows = [d0], live = [arg" in moved
