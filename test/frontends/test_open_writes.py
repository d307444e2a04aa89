"""Writes through views of tensors of open sizes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F  # noqa: N812 - its usual name

import lamina


class Written(nn.Module):
    """What is written through views is read through their source, and through other views."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """(batch, 4, height, 6) in, as many out."""
        y = x * 2
        flat = y.flatten(1)
        flat.relu_()
        F.dropout(flat, 0.2, training=False, inplace=True)
        rows = y.view(y.shape[0] * y.shape[1], -1)
        rows.add_(1)
        y[:, 1:3].transpose(1, 2).mul_(3)
        return y, flat.sum(1), rows[:, ::2].clone()


@pytest.fixture(scope="module")
def compiled() -> Any:
    dims = {0: Dim("batch", min=1, max=32), 2: Dim("height", min=1, max=64)}
    program = torch.export.export(Written(), (torch.randn(3, 4, 5, 6),), dynamic_shapes=(dims,))
    return lamina.compile(program, versions="padded")


@pytest.mark.parametrize("batch, height", [(3, 5), (1, 1), (7, 9), (32, 64), (1, 17)])
def test_results_are_those_of_torch(compiled: Any, batch: int, height: int) -> None:
    compiled(torch.full((32, 4, 64, 6), float("nan")))  # what padding holds from now on
    x = torch.randn(batch, 4, height, 6)
    for found, wanted in zip(compiled(x), Written()(x), strict=True):
        torch.testing.assert_close(torch.as_tensor(found), wanted)
