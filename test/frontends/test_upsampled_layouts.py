"""Convolutions beside upsamplings and views, whose channels stay innermost, beside eager mode."""

from collections.abc import Callable

import pytest
import torch
from torch.export import Dim
from torch.nn.functional import interpolate, scaled_dot_product_attention

import lamina


class Between(torch.nn.Module):
    """Something between two convolutions of 32 channels."""

    def __init__(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 32, 3, padding=1)
        self.second = torch.nn.Conv2d(32, 32, 3, padding=1)
        self.change = change

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.change(self.first(x)))


def _attention(x: torch.Tensor) -> torch.Tensor:
    pixels = x.flatten(2).transpose(1, 2)
    made = scaled_dot_product_attention(pixels, pixels, pixels)
    return made.transpose(1, 2).reshape(x.shape) + x


CHANGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "nearest": lambda x: interpolate(x, scale_factor=2, mode="nearest"),
    "nearest of any size": lambda x: interpolate(x, size=(21, 19), mode="nearest"),
    "bilinear": lambda x: interpolate(x, scale_factor=2, mode="bilinear"),
    "bicubic": lambda x: interpolate(x, scale_factor=1.5, mode="bicubic"),
    "attention": _attention,
    "lines one after another": lambda x: x.flatten(2).cumsum(2).view_as(x),
    "channels looked up": lambda x: x[:, torch.arange(31, -1, -1)],
    "lines looked up": lambda x: x[:, :, torch.arange(0, x.shape[2], 2)],
    "squeezed": lambda x: x.mean((2, 3)).view(x.shape[0], 32, 1, 1) * x,
}


@pytest.mark.parametrize("name", CHANGES)
def test_known_sizes(name: str) -> None:
    torch.manual_seed(0)
    network, x = Between(CHANGES[name]).eval(), torch.randn(2, 3, 14, 12)
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(network, (x,)))
        torch.testing.assert_close(compiled(x), network(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["nearest", "bilinear", "bicubic", "attention"])
def test_open_sizes(name: str) -> None:
    torch.manual_seed(0)
    network, x = Between(CHANGES[name]).eval(), torch.randn(2, 3, 14, 12)
    dims = {0: Dim("n", max=16), 2: Dim("h", min=2, max=64), 3: Dim("w", min=2, max=64)}
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(network, (x,), dynamic_shapes=(dims,)))
        for shape in [(2, 3, 14, 12), (3, 3, 9, 17), (1, 3, 33, 5)]:
            given = torch.randn(shape)
            torch.testing.assert_close(compiled(given), network(given), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["nearest", "bilinear"])
def test_channels_of_an_upsampling_are_innermost(name: str) -> None:
    network, x = Between(CHANGES[name]).eval(), torch.randn(2, 3, 14, 12)
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(network, (x,)))

    made = [kernel.types.split("->")[1].strip() for kernel in compiled.kernels]
    assert "(tensor<2x14x12x32xf32>)" in made
    assert "(tensor<2x30x26x32xf32>)" in made
