"""Quotients of vectors of integers, which are computed by floats where these hold them."""

from typing import Any

import numpy as np
import pytest
import torch

import lamina

EDGES = (1, 2, 3, 7, 2**24 - 1, 2**31 - 1, 2**49 + 1, 2**50 - 1, 2**50, 2**50 + 1, 2**53 + 1, 2**62)


class Quotients(torch.nn.Module):
    """All that rounds a quotient, and what is left of it."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            torch.div(x, y, rounding_mode="trunc"),
            torch.div(x, y, rounding_mode="floor"),
            torch.remainder(x, y),
            torch.fmod(x, y),
        )


def pairs(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Dividends and divisors: all there are of i8, else such as lie at, and beside, multiples."""
    info = torch.iinfo(dtype)
    if dtype is torch.int8:
        every = torch.arange(info.min, info.max + 1, dtype=torch.int64)
        x, y = torch.meshgrid(every, every, indexing="ij")
        x, y = x.reshape(-1), y.reshape(-1)
    else:
        edges = [n for n in EDGES if n <= info.max]
        generator = np.random.default_rng(0)
        found: list[tuple[int, int]] = []
        for divisor in (*edges, *generator.integers(1, 1000, 50).tolist()):
            for factor in (1, 2, *generator.integers(1, info.max // divisor + 1, 8).tolist()):
                for beside in (-1, 0, 1):
                    found.append((min(factor * divisor + beside, info.max), divisor))
        found += [(info.min, 3), (info.min, 2), (info.max, 1), (info.min, 1)]
        found = [
            (s * a, t * b) for a, b in found for s in (1, -1) for t in (1, -1) if s * a <= info.max
        ]
        x, y = torch.tensor(found, dtype=torch.int64).T
    kept = (y != 0) & ~((x == info.min) & (y == -1))
    return x[kept].to(dtype), y[kept].to(dtype)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8])
@pytest.mark.parametrize("is_scalar", [False, True])
def test_quotients_are_those_of_torch(dtype: torch.dtype, is_scalar: bool) -> None:
    if dtype is torch.uint8:
        x, y = (t.clamp(0).to(dtype) for t in pairs(torch.int8))
        x, y = x[y != 0], y[y != 0]
    else:
        x, y = pairs(dtype)
    if is_scalar and dtype is not torch.uint8:
        x = x[x != torch.iinfo(dtype).min]  # by -1 this ends torch itself
    for divisor in y[:: max(len(y) // 5, 1)] if is_scalar else (y,):
        compiled: Any = lamina.compile(torch.export.export(Quotients(), (x, divisor)))
        for made, wanted in zip(compiled(x, divisor), Quotients()(x, divisor), strict=True):
            assert torch.equal(made, wanted)


def test_long_and_short_lanes_meet() -> None:
    """A vector with one lane that has too many bits is divided one by one."""
    x = torch.arange(64, dtype=torch.int64) * 1001
    y = torch.full((64,), 7, dtype=torch.int64)
    compiled = lamina.compile(torch.export.export(Quotients(), (x, y)))
    for place in (0, 17, 63):
        x[place] = 2**62 + 5
        for made, wanted in zip(compiled(x, y), Quotients()(x, y), strict=True):
            assert torch.equal(made, wanted)
