"""Layers of attention written as products and a softmax, over lengths that a call brings."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import lamina

WIDTH, HEADS = 64, 4


class Layer(nn.Module):
    """Attention without a mask of its own, then two products."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 128), nn.Linear(128, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, length, width) in and out."""
        batch, length, _ = x.shape
        q, k, v = (
            part(x).view(batch, length, HEADS, -1).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        weights = torch.softmax(torch.matmul(q / 4, k.transpose(2, 3)), -1)
        mixed = torch.matmul(weights, v).transpose(1, 2).reshape(batch, length, WIDTH)
        x = self.norm(x + mixed)
        return x + self.down(torch.relu(self.up(x)))


def _compiled(model: nn.Module, batch: int, versions: str = "padded") -> Any:
    lengths = Dim("length", min=1, max=256)
    with torch.no_grad():
        program = torch.export.export(
            model, (torch.zeros(batch, 7, WIDTH),), dynamic_shapes=({1: lengths},)
        )
    return lamina.compile(program, versions=versions)


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(Layer(), Layer()).eval()


@pytest.mark.parametrize("batch", [1, 3])
def test_results_are_those_of_torch(model: nn.Module, batch: int) -> None:
    compiled = _compiled(model, batch)
    compiled(torch.full((batch, 256, WIDTH), float("nan")))  # what padding holds from now on
    for length in (1, 7, 31, 32, 33, 200, 256):
        x = torch.randn(batch, length, WIDTH)
        with torch.no_grad():
            wanted = model(x)
        torch.testing.assert_close(compiled(x), wanted, rtol=1e-4, atol=1e-5)
    assert len(compiled.sizes) == 1


@pytest.mark.parametrize("batch", [1, 3])
def test_products_end_at_the_rows_of_a_call(model: nn.Module, batch: int) -> None:
    """Keys are masked where panels are packed, though their scores are masked, too: else all rows
    of all layers in front would count."""
    compiled = _compiled(model, batch)
    compiled(torch.zeros(batch, 7, WIDTH))
    text = compiled.sizes[0].compiled.ir("fused")
    nests = [line for line in text.splitlines() if "loop.generic" in line]
    products = [nest for nest in nests if '"prims.contract"' in nest]
    assert len(products) >= 4
    unlimited = [line for line in products if "live = [" not in line]
    assert not unlimited, re.sub(r"attributes.*", "", unlimited[0])


@pytest.mark.parametrize("length", [50, 64])
def test_products_end_at_the_batches_of_a_call(model: nn.Module, length: int) -> None:
    """Keys that fill no whole panels end with their batch: else those of the last one would reach
    into the next, and all rows of all layers in front would count."""
    with torch.no_grad():
        program = torch.export.export(
            model, (torch.zeros(3, length, WIDTH),), dynamic_shapes=({0: Dim("batch", min=1)},)
        )
    compiled = lamina.compile(program, versions="padded")
    compiled(torch.full((64, length, WIDTH), float("nan")))
    for batch in (1, 3, 8):
        x = torch.randn(batch, length, WIDTH)
        with torch.no_grad():
            wanted = model(x)
        torch.testing.assert_close(compiled(x), wanted, rtol=1e-4, atol=1e-5)
    nests = compiled.sizes[0].compiled.ir("fused").splitlines()
    products = [n for n in nests if "loop.generic" in n and '"prims.contract"' in n]
    assert len(products) >= 4
    unlimited = [line for line in products if "live = [" not in line]
    assert not unlimited, re.sub(r"attributes.*", "", unlimited[0])


class Pooled(nn.Module):
    """What a layer makes, and a product of its first position, as of a classifier's token."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.pool = Layer(), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(batch, length, width) in; that, and (batch, width), out."""
        made = self.layer(x)
        return made, torch.tanh(self.pool(made[:, 0]))


def test_the_first_position_is_read_beside_those_that_count() -> None:
    torch.manual_seed(0)
    model = Pooled().eval()
    torch._dynamo.reset()
    with torch.no_grad():
        compiled = torch.compile(model, backend="lamina", dynamic=True)
        compiled(torch.full((5, 250, WIDTH), float("nan")))  # what padding holds from now on
        for batch, length in ((2, 2), (3, 31), (4, 100), (5, 250)):
            x = torch.randn(batch, length, WIDTH)
            for made, wanted in zip(compiled(x), model(x), strict=True):
                torch.testing.assert_close(made, wanted, rtol=1e-4, atol=1e-5)
