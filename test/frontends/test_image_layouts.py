"""Networks whose images are stored with channels innermost inside, against eager mode."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import lamina

pytestmark = pytest.mark.one_in(2)


class Block(nn.Module):
    """A convolution in the middle of a network: a product before it and one behind it."""

    def __init__(self, middle: nn.Module, channels: int, made: int) -> None:
        super().__init__()
        self.before = nn.Sequential(nn.Conv2d(5, channels, 1), nn.BatchNorm2d(channels), nn.SiLU())
        self.middle = middle
        self.behind = nn.Conv2d(made, 19, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.behind(torch.relu(self.middle(self.before(x))))
        return y.mean((2, 3))


CONVOLUTIONS = {
    "odd channels": nn.Conv2d(18, 23, 3, padding=1),
    "strides and dilation": nn.Conv2d(18, 34, 3, (2, 1), (1, 2), (1, 2)),
    "groups": nn.Conv2d(18, 36, 3, padding=1, groups=2),
    "small groups": nn.Conv2d(18, 18, 3, padding=1, groups=9),
    "depthwise": nn.Conv2d(18, 18, 5, 2, 2, groups=18),
    "depthwise of several": nn.Conv2d(18, 36, 3, padding=1, groups=18),
    "transposed": nn.ConvTranspose2d(18, 20, 3, 2, 1),
    "no border": nn.Conv2d(18, 40, (1, 3)),
    "pooling": nn.MaxPool2d(3, 2, 1),
    "average": nn.AvgPool2d(2, ceil_mode=True),
    "group norm": nn.GroupNorm(3, 18),
    "upsampled": nn.Upsample(scale_factor=2, mode="bilinear"),
}


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_inside(name: str, kind: torch.dtype) -> None:
    """What stands between two products by constants, of two images of odd sizes."""
    torch.manual_seed(0)
    middle = CONVOLUTIONS[name]
    made = middle(torch.zeros(1, 18, 9, 9)).shape[1]
    module = Block(middle, 18, made).eval()
    x = torch.randn(2, 5, 13, 11)
    wanted = module(x)
    compiled = lamina.compile(torch.export.export(module.to(kind), (x.to(kind),)), cache=False)
    module.float()
    close = 1e-5 if kind == torch.float32 else 3e-2
    torch.testing.assert_close(compiled(x.to(kind)).float(), wanted, rtol=close, atol=close)


class Ends(nn.Module):
    """Images inside that are results, too, and one that a view takes apart."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(6, 24, 3, padding=1)
        self.second = nn.Conv2d(24, 24, 3, padding=1)
        self.depth = nn.Conv2d(24, 24, 3, padding=1, groups=24)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        y = torch.relu(self.first(x))
        z = torch.cat([self.second(y) + y, self.depth(y)], 1)
        shuffled = z.view(x.shape[0], 2, 24, 7, 9).transpose(1, 2).flatten(1, 2)
        return y, self.second(shuffled[:, ::2]), z.softmax(1)


def test_ends() -> None:
    """Results are row-major whatever the layouts inside."""
    torch.manual_seed(0)
    module, x = Ends().eval(), torch.randn(2, 6, 7, 9)
    compiled = lamina.compile(torch.export.export(module, (x,)), cache=False)
    for ours, wanted in zip(compiled(x), module(x), strict=True):
        assert ours.is_contiguous()
        torch.testing.assert_close(ours, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dims", [1, 3])
def test_lines_and_volumes(dims: int) -> None:
    """Channels go behind one place as behind three."""
    torch.manual_seed(0)
    kind = nn.Conv1d if dims == 1 else nn.Conv3d
    norm = nn.BatchNorm1d if dims == 1 else nn.BatchNorm3d
    module = nn.Sequential(
        kind(3, 20, 3, padding=1), norm(20), nn.ReLU(), kind(20, 33, 3, 2), nn.Flatten()
    ).eval()
    x = torch.randn(2, 3, *([9, 7, 8][:dims]))
    compiled = lamina.compile(torch.export.export(module, (x,)), cache=False)
    torch.testing.assert_close(compiled(x), module(x), rtol=1e-5, atol=1e-5)


WEIGHTS_OF_CALLS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "border": ((48, 32, 3, 3), {"padding": 1}),
    "steps": ((48, 32, 3, 3), {"stride": 2}),
    "dilation": ((40, 32, 3, 3), {"padding": 2, "dilation": 2}),
    "groups": ((48, 16, 3, 3), {"padding": 1, "groups": 2}),
}


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", WEIGHTS_OF_CALLS)
def test_training_by_weights_of_calls(name: str, kind: torch.dtype) -> None:
    """Results and gradients of two convolutions with a norm between them."""
    torch.manual_seed(0)
    shape, options = WEIGHTS_OF_CALLS[name]
    x, first = torch.randn(2, 32, 25, 19), torch.randn(shape) / 17
    second = torch.randn(24, shape[0], 1, 1) / 7

    def loss(first: torch.Tensor, second: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.conv2d(x, first, **options)
        y = torch.relu(nn.functional.batch_norm(y, None, None, training=True))
        return nn.functional.conv2d(y, second).sigmoid().square().mean()

    step: Callable[..., Any] = torch.func.grad_and_value(loss, argnums=(0, 1, 2))
    args = [a.to(kind) for a in (first, second, x)]
    torch._dynamo.reset()
    with torch.no_grad():
        gradients, value = torch.compile(lambda *a: step(*a), backend="lamina")(*args)
    expected, right = step(*(a.double() for a in args))
    allowed = 2e-5 if kind == torch.float32 else 0.03
    for made, exact in zip((value, *gradients), (right, *expected), strict=True):
        assert (made.double() - exact).abs().max() <= allowed * exact.abs().max()
