"""Antialiased resizing: what a filter does not cover has no part in the sum, whatever it is."""

import pytest
import torch
from torch.nn import functional

import lamina

pytestmark = pytest.mark.one_in(2)

SIZES = [(5, 4), (17, 20), (11, 4), (1, 1)]


def _with_infinities(shape: tuple[int, ...]) -> torch.Tensor:
    torch.manual_seed(3)
    x = torch.randn(shape)
    x.view(-1)[torch.randperm(x.numel())[: x.numel() // 9 + 1]] = float("inf")
    return x


class Resize(torch.nn.Module):
    def __init__(self, mode: str, size: tuple[int, int], corners: bool) -> None:
        super().__init__()
        self.options = {"mode": mode, "size": size, "align_corners": corners, "antialias": True}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.interpolate(x, **self.options)


class Gradient(torch.nn.Module):
    def __init__(self, mode: str) -> None:
        super().__init__()
        self.op = getattr(torch.ops.aten, f"_upsample_{mode}2d_aa_backward").default

    def forward(self, gradient: torch.Tensor) -> torch.Tensor:
        return self.op(gradient, gradient.shape[2:], [1, 2, 11, 9], False, None, None)


def _compare(module: torch.nn.Module, x: torch.Tensor) -> None:
    got = lamina.compile(torch.export.export(module, (x,)), cache=False)(x)
    torch.testing.assert_close(got, module(x), rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_infinite_inputs(mode: str, size: tuple[int, int]) -> None:
    for corners in (False, True):
        _compare(Resize(mode, size, corners), _with_infinities((1, 2, 11, 9)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_infinite_gradients(mode: str, size: tuple[int, int]) -> None:
    _compare(Gradient(mode), _with_infinities((1, 2, *size)))


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("mode", ["linear", "bilinear", "trilinear", "bicubic"])
def test_infinities_under_torch_compile(mode: str, corners: bool) -> None:
    """Torch's own decompositions, which tracing leaves out, take differences of infinities."""
    dims = {"linear": 1, "trilinear": 3}.get(mode, 2)

    def resize(x: torch.Tensor) -> torch.Tensor:
        return functional.interpolate(x, size=[7] * dims, mode=mode, align_corners=corners)

    x = _with_infinities((1, 2, *[5] * dims))
    got = torch.compile(resize, backend="lamina")(x)
    torch.testing.assert_close(got, resize(x), rtol=1e-4, atol=1e-5, equal_nan=True)
