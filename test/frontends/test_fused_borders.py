"""Products whose result is stored inside the border of the image that a convolution reads."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import lamina

pytestmark = pytest.mark.one_in(2)


class _Block(nn.Module):
    """A pointwise convolution, an activation, one by windows with borders, and one more."""

    def __init__(
        self, wide: int = 64, made: int = 64, pad: tuple[int, ...] | None = None, **window: Any
    ) -> None:
        super().__init__()
        self.expand = nn.Conv2d(24, wide, 1)
        self.pad = pad
        self.window = nn.Conv2d(wide, made, **window)
        self.project = nn.Conv2d(made, 24, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.relu6(self.expand(x))
        if self.pad is not None:
            y = nn.functional.pad(y, self.pad)
        return self.project(nn.functional.relu6(self.window(y)))


def _compiled(model: nn.Module, x: torch.Tensor, target: str = "host") -> lamina.Compiled:
    """Compiled, with borders that products write: without, the test would test nothing."""
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(model, (x,)), target=target)
    assert _borders(compiled), compiled.kernels
    return compiled


def _borders(compiled: lamina.Compiled) -> list[lamina.Kernel]:
    """The kernels that end with a border around a product's result."""
    return [k for k in compiled.kernels if {"prims.convolution", "pad"} <= {*k.ops}]


DEPTHWISE = {"kernel_size": 3, "padding": 1, "groups": 64}
WINDOWS: dict[str, dict[str, Any]] = {
    "depthwise": DEPTHWISE,
    "in steps": {**DEPTHWISE, "stride": 2},
    "dilated": {**DEPTHWISE, "padding": 2, "dilation": 2},
    "wide": {**DEPTHWISE, "kernel_size": 7, "padding": 3},
    "two for each": {**DEPTHWISE, "made": 128},
    "lines only": {**DEPTHWISE, "kernel_size": (3, 1), "padding": (1, 0)},
    "asymmetric": {**DEPTHWISE, "padding": 0, "pad": (0, 1, 2, 0)},
    "by ones": {**DEPTHWISE, "padding": 0, "pad": (1, 1, 1, 1)},
    "narrow": {"wide": 24, "made": 24, "kernel_size": 3, "padding": 1, "groups": 24},
    "groups": {**DEPTHWISE, "groups": 16},
    "dense": {"kernel_size": 5, "padding": 2, "groups": 1},
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str) -> None:
    torch.manual_seed(3)
    model, x = _Block(**WINDOWS[name]).eval(), torch.randn(2, 24, 19, 23)
    compiled = _compiled(model, x)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_one_image(kind: torch.dtype, target: str) -> None:
    """A batch of one, whose dimension kernels do not walk."""
    torch.manual_seed(4)
    model, x = _Block(**DEPTHWISE).eval(), torch.randn(1, 24, 28, 28)
    with torch.no_grad():
        wanted = model(x)
        compiled = _compiled(model.to(kind), x.to(kind), target)
        close = 1e-4 if kind == torch.float32 else 3e-2
        made = compiled(x.to(kind)).float()
        torch.testing.assert_close(made, wanted, rtol=close, atol=close)


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_elements_at_edges(number: float) -> None:
    """What is no finite number at an edge of the image stays as near to it as in eager mode."""
    torch.manual_seed(5)
    model, x = _Block(**DEPTHWISE).eval(), torch.randn(2, 24, 19, 23)
    compiled = _compiled(model, x)
    for line, place in ((0, 0), (18, 22), (0, 11), (9, 22)):
        y = x.clone()
        y[1, 5, line, place] = number
        with torch.no_grad():
            wanted = model(y)
            torch.testing.assert_close(compiled(y), wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


def test_calls_in_turn() -> None:
    """Borders are written in each call: other images lie at their place between two calls."""
    torch.manual_seed(6)
    model = nn.Sequential(_Block(**DEPTHWISE), _Block(**WINDOWS["in steps"])).eval()
    compiled = _compiled(model, torch.randn(2, 24, 19, 23))
    for scale in (1.0, 100.0, 0.01):
        x = torch.randn(2, 24, 19, 23) * scale
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)


def test_open_batch() -> None:
    torch.manual_seed(7)
    model, x = _Block(**DEPTHWISE).eval(), torch.randn(4, 24, 19, 23)
    batch = torch.export.Dim("batch", max=8)
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(model, (x,), dynamic_shapes=({0: batch},)))
        for count in (1, 3, 8):
            x = torch.randn(count, 24, 19, 23)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)


def test_image_that_leaves() -> None:
    """An image that is a result, too, is stored without a border."""

    class Both(_Block):
        def forward(self, x: torch.Tensor) -> Any:  # pyright: ignore
            y = nn.functional.relu6(self.expand(x))
            return y, self.project(nn.functional.relu6(self.window(y)))

    torch.manual_seed(8)
    model, x = Both(**DEPTHWISE).eval(), torch.randn(2, 24, 19, 23)
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(model, (x,)))
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)
    assert not _borders(compiled)
