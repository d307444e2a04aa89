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


class Ghost(nn.Module):
    """Some channels of two kinds of features, to which others are added, as in GhostNet."""

    def __init__(self) -> None:
        super().__init__()
        self.cheap = nn.Conv2d(3, 3, 3, padding=1, groups=3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, 3, height, width) in, (batch, 4, height, width) out."""
        y = torch.cat([x, self.cheap(x)], 1)[:, :4, :, :]
        y += torch.cat([x, x[:, :1]], 1).tanh()
        return y.relu()


@torch.no_grad()
def test_channels_that_are_written_to() -> None:
    torch.manual_seed(0)
    model = Ghost().eval()
    dims = {n: Dim(name, min=1, max=40) for n, name in ((0, "batch"), (2, "height"), (3, "width"))}
    program = torch.export.export(model, (torch.randn(3, 3, 5, 6),), dynamic_shapes=(dims,))
    compiled = lamina.compile(program, versions="padded")
    compiled(torch.full((40, 3, 40, 40), float("nan")))  # what padding holds from now on
    for batch, height, width in ((3, 5, 6), (1, 1, 1), (2, 1, 17), (7, 33, 2), (40, 40, 40)):
        x = torch.randn(batch, 3, height, width)
        torch.testing.assert_close(torch.as_tensor(compiled(x)), model(x), rtol=1e-4, atol=1e-5)
