"""Products over long sums are as exact as torch's, whose library divides its sums too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import lamina

pytestmark = pytest.mark.one_in(2)

Tensor = torch.Tensor

MOST = 1.5
"""Root mean square error, against f64, in units of torch's."""


def cases(k: int) -> dict[str, tuple[Callable[..., Tensor], tuple[int, ...], tuple[int, ...]]]:
    """Name to function and the shapes of its two arguments, for sums of about `k` terms."""
    return {
        "matmul": (torch.matmul, (64, k), (k, 64)),
        "odd": (torch.matmul, (37, k + 3), (k + 3, 45)),
        "linear": (torch.nn.functional.linear, (64, k), (64, k)),
        "bmm": (torch.matmul, (3, 32, k), (3, k, 40)),
        "einsum": (
            lambda a, b: torch.einsum("ijk,ljk->il", a, b),
            (40, k // 8, 8),
            (50, k // 8, 8),
        ),
        "vector-matrix": (torch.matmul, (k,), (k, 300)),
        "matrix-vector": (torch.matmul, (300, k), (k,)),
        "one row": (torch.nn.functional.linear, (1, k), (300, k)),
        "conv1x1": (torch.nn.functional.conv2d, (1, k, 8, 8), (16, k, 1, 1)),
        "conv3x3": (torch.nn.functional.conv2d, (1, k // 9, 10, 10), (16, k // 9, 3, 3)),
        "conv1d": (torch.nn.functional.conv1d, (1, k // 32, 96), (16, k // 32, 32)),
    }


def error_ratio(function: Callable[..., Tensor], *shapes: tuple[int, ...]) -> float:
    class Module(torch.nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Any:
            return function(a, b)

    torch.manual_seed(len(shapes[0]))
    arguments = tuple(torch.randn(*shape) for shape in shapes)
    exact = function(*(a.double() for a in arguments))
    got = lamina.compile(torch.export.export(Module(), arguments))(*arguments)
    ours, eager = ((r.double() - exact).square().mean().sqrt() for r in (got, function(*arguments)))
    return float(ours / eager)


@pytest.mark.parametrize("name", list(cases(4096)))
def test_long_sum(name: str) -> None:
    function, *shapes = cases(4096)[name]
    assert error_ratio(function, *shapes) <= MOST


@pytest.mark.parametrize("name", ["matmul", "odd", "conv3x3", "vector-matrix"])
def test_longer_sum(name: str) -> None:
    function, *shapes = cases(65536)[name]
    assert error_ratio(function, *shapes) <= MOST


@pytest.mark.parametrize("k", [385, 511, 512, 640, 1000, 1021, 2304])
def test_every_part_is_added_once(k: int) -> None:
    """Whatever is left over beyond whole parts."""
    a, b = torch.randint(-4, 5, (20, k)).float(), torch.randint(-4, 5, (k, 33)).float()

    class Module(torch.nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Any:
            return a @ b

    got = lamina.compile(torch.export.export(Module(), (a, b)))(a, b)
    assert torch.equal(got, a @ b)  # integers: exact however they are added


@pytest.mark.long
@pytest.mark.parametrize("k", [512, 1000, 2048, 16384, 65536])
@pytest.mark.parametrize("name", list(cases(4096)))
def test_all(name: str, k: int) -> None:
    function, *shapes = cases(k)[name]
    assert error_ratio(function, *shapes) <= MOST
