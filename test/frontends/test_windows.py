"""Pooling with windows of all kinds, larger than the image too, beside eager mode."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812 - its usual name

import lamina

SPECIAL = [float("inf"), float("-inf"), float("nan")]


@dataclass
class Windows:
    """What a pooling is asked for, in one to three dimensions."""

    dims: int
    kernel: list[int]
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    ceil_mode: bool
    include: bool
    divisor: int | None

    def average(self, x: torch.Tensor) -> torch.Tensor:
        pool = getattr(F, f"avg_pool{self.dims}d")
        more = {} if self.dims == 1 else {"divisor_override": self.divisor}
        return pool(x, self.kernel, self.stride, self.padding, self.ceil_mode, self.include, **more)

    def average_backward(self, grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        backward = getattr(torch.ops.aten, f"avg_pool{self.dims}d_backward")
        steps = self.kernel, self.stride, self.padding
        return backward(grad, x, *steps, self.ceil_mode, self.include, self.divisor)

    def largest(self, x: torch.Tensor) -> Any:
        pool = getattr(F, f"max_pool{self.dims}d")
        steps = self.kernel, self.stride, self.padding, self.dilation
        return pool(x, *steps, ceil_mode=self.ceil_mode, return_indices=True)


class Module(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def draw(source: random.Random) -> tuple[Windows, list[int]]:
    """Windows and the shape of an image."""
    dims = source.choice([1, 2, 2, 3])
    large = source.random() < 0.3 and dims < 3
    kernel = [source.choice([20, 300] if large else [1, 2, 3, 5]) for _ in range(dims)]
    extents = [source.choice([1, 2, 5, 7, 17, 33] if dims < 3 else [1, 3, 8]) for _ in range(dims)]
    windows = Windows(
        dims,
        kernel,
        [source.choice([1, 2, 3, size]) for size in kernel],
        [source.randint(0, size // 2) for size in kernel],
        [source.choice([1, 1, 2, 3]) for _ in range(dims)],
        source.random() < 0.5,
        source.random() < 0.5,
        source.choice([None, None, 3]),
    )
    return windows, [2, source.choice([1, 3]), *extents]


@pytest.mark.parametrize("kind", ["average", "average_backward", "largest"])
@pytest.mark.parametrize("seed", range(6))
def test_windows(kind: str, seed: int) -> None:
    source = random.Random(seed)
    torch.manual_seed(seed)
    while True:
        windows, shape = draw(source)
        x = torch.randn(shape)
        if source.random() < 0.3:
            x.view(-1)[source.randrange(x.numel())] = source.choice(SPECIAL)
        function = getattr(windows, kind)
        arguments: tuple[torch.Tensor, ...] = (x,)
        try:
            if kind == "average_backward":
                if windows.dims == 1:
                    continue
                arguments = torch.randn_like(windows.average(x)), x
            wanted = function(*arguments)
            break
        except RuntimeError:
            continue  # torch takes no such windows
    program = torch.export.export(Module(function), arguments)
    got = lamina.compile(program, cache=False)(*arguments)
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5, equal_nan=True)
