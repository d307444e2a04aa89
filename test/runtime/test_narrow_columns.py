"""Reductions into fewer columns than a vector has lanes: rows side by side fill vectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from torch.export import Dim

import lamina

REDUCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": lambda x: x.sum(0),
    "largest": lambda x: x.amax(0),
    "weighted": lambda x: (x * (torch.arange(len(x)) % 3).to(x.dtype)[:, None]).sum(0),
    "deviations": lambda x: (x - x[0]).abs().sum(0),
}


class Reduce(torch.nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return REDUCTIONS[self.name](x)


class Means(torch.nn.Module):
    """Of each column of all lines of images, channels innermost."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(-1, x.shape[3]).mean(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32])
@pytest.mark.parametrize("columns", [2, 5, 16])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_equals_torch(name: str, columns: int, dtype: torch.dtype) -> None:
    """Rows that vectors divide, and that they do not."""
    torch.manual_seed(0)
    for rows in (16, 61):
        x = (torch.randn(rows, columns) * 8).to(dtype)
        compiled = lamina.compile(torch.export.export(Reduce(name), (x,)))
        made = compiled(x)
        if dtype == torch.bfloat16:  # torch rounds each step; here results are rounded, once
            wanted = REDUCTIONS[name](x.float())
            torch.testing.assert_close(made.float(), wanted, rtol=2**-8, atol=1e-4)
        else:
            torch.testing.assert_close(made, REDUCTIONS[name](x), rtol=1e-5, atol=1e-4)


def test_nan_of_a_row_stays_in_its_column() -> None:
    x = torch.randn(37, 5)
    x[36, 3] = float("nan")
    compiled = lamina.compile(torch.export.export(Reduce("largest"), (x,)))
    assert torch.isnan(torch.as_tensor(compiled(x))).tolist() == [False, False, False, True, False]


@cache
def _means() -> Any:
    dims = {0: Dim("b", min=1, max=32), 1: Dim("h", max=128), 2: Dim("w", max=128)}
    program = torch.export.export(Means(), (torch.randn(3, 20, 24, 5),), dynamic_shapes=(dims,))
    return lamina.compile(program, versions="padded")


@pytest.mark.parametrize("size", [(4, 56, 56), (1, 33, 47), (2, 2, 3), (32, 16, 17), (3, 128, 128)])
def test_open_sizes(size: tuple[int, int, int]) -> None:
    """Lines of a call as they are, whose last rows fill a part of a block."""
    compiled, x = _means(), torch.randn(*size, 5)
    compiled(torch.full((32, 128, 128, 5), float("nan")))
    torch.testing.assert_close(compiled(x), x.reshape(-1, 5).mean(0), rtol=1e-5, atol=1e-5)


def test_an_argument_of_open_sizes_is_not_copied() -> None:
    compiled = _means()
    compiled(torch.randn(4, 56, 56, 5))
    version = next(v for v in compiled.sizes if not v.is_exact)
    text = version.compiled.ir("bufferized")
    assert "jam = d4 x 5" in text
    assert "lamina.extents" in text.split("attributes {lamina.compact")[0]


class Kept(torch.nn.Module):
    def forward(self, x: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
        return torch.where(kept[:, None], x, 0.0).sum(0)


def test_rows_of_a_mask() -> None:
    """One truth value of each row, for all of its columns; of a last block as well."""
    arguments = torch.randn(61, 5), torch.rand(61) > 0.5
    compiled = lamina.compile(torch.export.export(Kept(), arguments))
    assert any("jam = d1 x 5" in str(kernel) for kernel in compiled.kernels)
    torch.testing.assert_close(compiled(*arguments), Kept()(*arguments), rtol=1e-5, atol=1e-5)
