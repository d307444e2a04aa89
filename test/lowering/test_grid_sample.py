"""Places of `grid_sample` that are no numbers are -1, as torch's documentation has it.

So are those of its kernels for two dimensions; the one for three takes the last element's.
"""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

import lamina

pytestmark = pytest.mark.one_in(2)

FORMS = [(2, "bilinear"), (2, "nearest"), (3, "bilinear"), (3, "nearest")]


class Sample(torch.nn.Module):
    def __init__(self, mode: str, padding: str, corners: bool) -> None:
        super().__init__()
        self.options = {"mode": mode, "padding_mode": padding, "align_corners": corners}

    def forward(self, x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        return functional.grid_sample(x, grid, **self.options)


class Gradient(torch.nn.Module):
    def __init__(self, dims: int, mode: int, padding: int, corners: bool) -> None:
        super().__init__()
        self.op = getattr(torch.ops.aten, f"grid_sampler_{dims}d_backward").default
        self.rest = (mode, padding, corners, [True, True])

    def forward(self, grad: torch.Tensor, x: torch.Tensor, grid: torch.Tensor) -> object:
        return self.op(grad, x, grid, *self.rest)


def _places(dims: int) -> torch.Tensor:
    grid = torch.randn(2, *[1] * (dims - 2), 3, 4, dims, generator=torch.Generator().manual_seed(3))
    grid.view(2, -1)[:, ::5] = torch.nan
    return grid


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("padding", ["border", "reflection"])
@pytest.mark.parametrize(("dims", "mode"), FORMS)
def test_places_that_are_no_numbers(dims: int, mode: str, padding: str, corners: bool) -> None:
    x, grid = torch.randn(2, 3, *[4, 5, 3][:dims]), _places(dims)
    module = Sample(mode, padding, corners)
    compiled = lamina.compile(torch.export.export(module, (x, grid)), cache=False)
    torch.testing.assert_close(compiled(x, grid), module(x, grid.nan_to_num(-1)))


@pytest.mark.parametrize("padding", [1, 2])
@pytest.mark.parametrize(("dims", "mode"), [(2, 0), (2, 1), (3, 0)])
def test_gradients_at_places_that_are_no_numbers(dims: int, mode: int, padding: int) -> None:
    x, grid = torch.randn(2, 3, *[4, 5, 3][:dims]), _places(dims)
    args = (torch.randn(2, 3, *grid.shape[1:-1]), x, grid)
    module = Gradient(dims, mode, padding, True)
    compiled = lamina.compile(torch.export.export(module, args), cache=False)
    torch.testing.assert_close(compiled(*args), module(*args[:2], grid.nan_to_num(-1)))


class Warp(torch.nn.Module):
    def forward(self, x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        grid = functional.affine_grid(turns, list(x.shape), align_corners=False)
        return functional.grid_sample(x, grid, align_corners=False)


@pytest.mark.parametrize("shape", [(1, 3, 1, 1), (2, 3, 1, 4), (1, 2, 5, 3)])
def test_places_of_an_affine_grid(shape: tuple[int, ...]) -> None:
    """Homogeneous coordinates of a grid of one place are 0, 0 and 1, whose zeros add nothing."""
    inputs = torch.randn(shape), torch.randn(shape[0], 2, 3)
    compiled = lamina.compile(torch.export.export(Warp(), inputs))
    torch.testing.assert_close(compiled(*inputs), Warp()(*inputs))
