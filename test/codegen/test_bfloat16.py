"""Rounding of f32 to bf16, whatever instruction does it, against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamina

LOWER = (0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF)
"""Lower halves of f32 around those that are ties."""


def _every_upper_half() -> torch.Tensor:
    """f32 with each upper half there is, subnormals, infinities and NaN among them: 6 x 65,536."""
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    bits = np.concatenate([upper | np.uint32(lower) for lower in LOWER])
    return torch.from_numpy(bits.view(np.float32))


@pytest.mark.parametrize("behind", [0, 5], ids=["whole vectors", "and a part of one"])
def test_rounds_as_torch_does(behind: int) -> None:
    values = _every_upper_half()
    values = torch.cat([values, values[:behind]])

    class Round(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.to(torch.bfloat16)

    found = lamina.compile(torch.export.export(Round(), (values,)))(values)
    wanted = values.to(torch.bfloat16)
    numbers = ~wanted.isnan()
    assert torch.equal(found.isnan(), ~numbers)
    assert torch.equal(found.view(torch.int16)[numbers], wanted.view(torch.int16)[numbers])
