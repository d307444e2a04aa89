"""Nests that are computed slice by slice where others read them have the results of eager mode."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F  # noqa: N812 - its usual name

import lamina
from lamina.dialects.errors import InputError

Function = Callable[[torch.Tensor], torch.Tensor]


class Program(torch.nn.Module):
    """A function of one tensor as a module."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def differences(x: torch.Tensor) -> torch.Tensor:
    e = torch.exp(x)
    return e[:, 1:] - e[:, :-1]


def smoothed(x: torch.Tensor) -> torch.Tensor:
    return F.avg_pool1d(F.avg_pool1d(torch.exp(x), 5, 1), 5, 1)


def pooled(x: torch.Tensor) -> torch.Tensor:
    return F.max_pool2d(F.relu(x * 1.5 + 0.2), 3, 2, 1)


def depthwise(x: torch.Tensor) -> torch.Tensor:
    channels = x.shape[1]
    weight = torch.arange(9.0 * channels).reshape(channels, 1, 3, 3) / 9
    return F.conv2d(F.relu6(x), weight, padding=1, groups=channels)


CHAINS: dict[str, tuple[Function, tuple[int, ...]]] = {
    "differences": (differences, (3, 60001)),
    "smoothed": (smoothed, (2, 3, 7001)),
    "pooled": (pooled, (2, 3, 112, 112)),
    "pooled, odd": (pooled, (1, 2, 131, 117)),
    "depthwise": (depthwise, (1, 32, 112, 112)),
    "depthwise, odd": (depthwise, (1, 32, 150, 103)),
}


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("name", CHAINS)
def test_long_rows_are_computed_in_slices(name: str, target: str) -> None:
    function, shape = CHAINS[name]
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    x.view(-1)[5], x.view(-1)[-3] = float("nan"), float("inf")
    program = torch.export.export(Program(function), (x,))
    made = lamina.compile(program, target=target, cache=False)
    sliced = name in ("differences", "smoothed") or (name, target) == ("depthwise", "x86-64-v4")
    if sliced:  # an image that is pooled is made as a whole, and stays in a core's own caches
        assert "compute_at = d" in made.kernels.schedules()
    torch.testing.assert_close(made(x), function(x), rtol=1e-5, atol=1e-5, equal_nan=True)


def test_slices_have_as_many_positions_as_are_jammed() -> None:
    x = torch.randn(1, 32, 112, 112)
    program = torch.export.export(Program(depthwise), (x,))
    target = "x86-64-v4"
    chosen = lamina.compile(program, target=target, cache=False).kernels[0]
    assert (
        chosen.schedule is not None
        and "jam = d1 x 16, unroll_dims = [d3], tile = d1 x 16" in chosen.schedule
    )
    for tile in (17, 24, 48, 95, 96):
        text = chosen.schedule.replace("tile = d1 x 16", f"tile = d1 x {tile}")
        given = {chosen.name: text}
        if 0 < 112 % tile < 16:
            with pytest.raises(InputError, match=r"jam = d1 x 16: the shortest slice has \d+"):
                lamina.compile(program, target=target, schedules=given, cache=False)
            continue
        made = lamina.compile(program, target=target, schedules=given, cache=False)
        torch.testing.assert_close(made(x), depthwise(x), rtol=1e-5, atol=1e-5)
