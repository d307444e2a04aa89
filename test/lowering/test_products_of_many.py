"""Products of many factors: a zero stays zero where those of the others overflow."""

from __future__ import annotations

import pytest
import torch

import lamina


@pytest.mark.parametrize("place", [0, 5, 64, 128])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_zero_among_large_factors(dtype: torch.dtype, place: int) -> None:
    x = torch.arange(1.0, 130.0).to(dtype)
    x[place] = 0.0
    compiled = lamina.compile(torch.export.export(_Product(), (x,)))
    assert compiled(x).item() == 0


class _Product(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.prod()
