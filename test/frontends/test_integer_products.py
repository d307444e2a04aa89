"""Products of integers: in panels like those of floats, wrapping like torch's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import lamina

SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)
UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)


class _Module(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Tensor:
        return self.function(*args)


def compiled(function: Callable[..., Tensor], *args: Tensor) -> lamina.Compiled:
    return lamina.compile(torch.export.export(_Module(function), args), cache=False)


def integers(dtype: torch.dtype, *shape: int, seed: int = 2) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    limits = torch.iinfo(dtype)
    return torch.randint(
        max(limits.min, -(2**40)), min(limits.max, 2**40), shape, generator=random
    ).to(dtype)


@pytest.mark.parametrize("dtype", [*SIGNED, torch.uint8], ids=str)
@pytest.mark.parametrize(
    "shapes", [((17, 40), (40, 33)), ((3, 9, 20), (3, 20, 24)), ((5, 7), (7, 1))]
)
def test_products_wrap(dtype: torch.dtype, shapes: tuple[tuple[int, ...], ...]) -> None:
    x, y = (integers(dtype, *shape) for shape in shapes)
    assert torch.equal(compiled(torch.matmul, x, y)(x, y), torch.matmul(x, y))


@pytest.mark.parametrize("dtype", SIGNED, ids=str)
def test_signed_products_are_packed(dtype: torch.dtype) -> None:
    x = integers(dtype, 16, 16)
    assert "lamina.packing" in compiled(torch.mm, x, x).ir("fused")


PROGRAMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "compare": lambda x, y: x == y,
    "bits": lambda x, y: (x & y) | (x ^ y),
    "to_float": lambda x, y: x.to(torch.float64),
    "from_float": lambda x, y: (x.to(torch.float64) * 0.5).to(x.dtype),
    "where": lambda x, y: torch.where(x == y, x, y),
    "move": lambda x, y: torch.cat([x.reshape(8, 8).t(), y.reshape(8, 8)], 1),
    "index": lambda x, y: x[torch.tensor([5, 1])],
}


@pytest.mark.parametrize("dtype", UNSIGNED, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_wide_unsigned_integers(name: str, dtype: torch.dtype) -> None:
    x, y = integers(dtype, 64), integers(dtype, 64, seed=3)
    function = PROGRAMS[name]
    assert torch.equal(compiled(function, x, y)(x, y), function(x, y))
