"""What goes from kernel to kernel lies as calls have it: `compact-buffers`, and what reads it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

import lamina

pytestmark = pytest.mark.one_in(2)

SIZES = ((2, 56, 56), (1, 17, 33), (3, 14, 18), (2, 5, 90), (1, 100, 5), (2, 16, 64), (0, 8, 8))


class Depthwise(nn.Module):
    """Lines of a depthwise convolution, in front of a norm of channels and a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.d = nn.Conv2d(8, 8, 7, 1, 3, groups=8)
        self.a, self.b = nn.Linear(8, 24), nn.Linear(24, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.layer_norm(self.d(x).permute(0, 2, 3, 1), (8,))
        return x + self.b(functional.gelu(self.a(y))).permute(0, 3, 1, 2)


class Pyramid(nn.Module):
    """Convolutions in steps of two, whose images are packed."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(8, 8, 3, 2, 1), nn.Conv2d(8, 16, 3, 2, 1)
        self.c = nn.Conv2d(16, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = functional.relu(self.a(x))
        b = self.c(functional.relu(self.b(a)))
        return a + functional.interpolate(b, size=a.shape[-2:], mode="nearest")


class Scaled(nn.Module):
    """An image that is scaled by a product of something small, in front of a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.t, self.c = nn.Linear(8, 16), nn.Conv2d(8, 8, 3, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale, shift = self.t(x.mean((2, 3))).chunk(2, 1)
        y = x * (1 + scale[..., None, None]) + shift[..., None, None]
        return x + self.c(functional.silu(y))


PROGRAMS: dict[str, Any] = {
    "two convolutions": lambda: nn.Sequential(
        nn.Conv2d(8, 24, 3, 1, 1), nn.ReLU(), nn.Conv2d(24, 8, 3, 1, 1)
    ),
    "depthwise": Depthwise,
    "pyramid": Pyramid,
    "scaled": Scaled,
}


def _compiled(name: str, **options: Any) -> tuple[Any, nn.Module]:
    torch.manual_seed(0)
    module = PROGRAMS[name]().eval()
    height, width = Dim("height", min=5, max=256), Dim("width", min=5, max=256)
    dims = ({0: Dim("batch", max=16), 2: height, 3: width},)
    with torch.no_grad():
        program = torch.export.export(module, (torch.randn(3, 8, 40, 50),), dynamic_shapes=dims)
    return lamina.compile(program, versions="padded", **options), module


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_torch(name: str) -> None:
    compiled, module = _compiled(name)
    for batch, height, width in SIZES:
        x = torch.randn(batch, 8, height, width)
        compiled(torch.full((2, 8, 256, 256), float("nan")))
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-5)


def test_buffers_have_extents_of_the_call() -> None:
    compiled, _ = _compiled("two convolutions")
    compiled(torch.randn(2, 8, 60, 60))
    text = compiled.sizes[-1].compiled.ir("bufferized")
    temporary = re.findall(r"%[0-9]+: memref<[^>]*> \{lamina\.extents", text)
    assert len(temporary) == 3  # two padded images, and what lies between them
