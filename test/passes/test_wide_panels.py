"""Products by constant panels of three vectors: what they give, and with other schedules."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import lamina
from lamina.codegen.target import Target

pytestmark = pytest.mark.one_in(3)

WIDE = Target.host().vector_registers >= 32
LANES = Target.host().lanes(32)
PANEL = 3 * LANES


def whole(module: nn.Module) -> nn.Module:
    """The module with small integers for weights, of which sums are exact in whatever order."""
    torch.manual_seed(3)
    for weight in module.parameters():
        weight.data = torch.randint(-3, 4, weight.shape).float()
    return module.eval()


class Columns(nn.Module):
    """A product whose rows are softened, so that tasks take whole rows."""

    def __init__(self, terms: int, columns: int) -> None:
        super().__init__()
        self.product = nn.Linear(terms, columns)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.product(x) / 16, -1)


def compiled(module: nn.Module, x: torch.Tensor, panel: int) -> lamina.Compiled:
    with torch.no_grad():
        made = lamina.compile(torch.export.export(module, (x,)), cache=False)
    assert f"panel = {panel}" in made.ir("bufferized") or not WIDE
    return made


@pytest.mark.parametrize("rows", [8, 13, 49, 250])
@pytest.mark.parametrize("panels", [1, 5])
@pytest.mark.parametrize("terms", [400, 1037])
def test_linear_layers(rows: int, panels: int, terms: int) -> None:
    module, x = whole(nn.Linear(terms, panels * PANEL)), torch.randint(-3, 4, (rows, terms)).float()
    made = compiled(module, x, PANEL)
    np.testing.assert_array_equal(made(x), module(x).detach().numpy())


@pytest.mark.parametrize("rows", [64, 250])
def test_whole_rows(rows: int) -> None:
    module, x = whole(Columns(50, 2 * PANEL)), torch.randint(-3, 4, (rows, 50)).float()
    made = compiled(module, x, PANEL)
    np.testing.assert_allclose(made(x), module(x).detach().numpy(), atol=1e-6)


@pytest.mark.parametrize(("size", "kernel", "stride"), [(7, 3, 1), (14, 1, 1), (15, 3, 2)])
def test_images(size: int, kernel: int, stride: int) -> None:
    channels = 2 * PANEL
    layers = [
        nn.Conv2d(3, channels, 1),
        nn.Conv2d(channels, channels, kernel, stride, kernel // 2),
        nn.Conv2d(channels, 4, 1),
    ]
    module, x = whole(nn.Sequential(*layers)), torch.randint(-1, 2, (1, 3, size, size)).float()
    made = compiled(module, x, PANEL)
    np.testing.assert_allclose(made(x), module(x).detach().numpy(), rtol=1e-5)


@pytest.mark.skipif(not WIDE, reason="tiles of three vectors want 32 registers")
def test_a_panel_of_three_vectors_in_others() -> None:
    module, x = whole(nn.Linear(70, 2 * PANEL)), torch.randint(-3, 4, (40, 70)).float()
    made = compiled(module, x, PANEL)
    kernel = next(k for k in made.kernels if "#loop.products" in (k.schedule or ""))
    chosen = kernel.schedule or ""
    assert f"x {LANES}, unroll = 3" in chosen
    narrow = chosen.replace(f"x {LANES}, unroll = 3", f"x {LANES // 2}, unroll = 6")
    jam = narrow.partition("jam = d0 x ")[2][0]
    narrow = narrow.replace(f"jam = d0 x {jam}", "jam = d0 x 3")
    with torch.no_grad():
        program = torch.export.export(module, (x,))
    other = lamina.compile(program, schedules={kernel.name: narrow}, cache=False)
    np.testing.assert_array_equal(other(x), module(x).detach().numpy())


@pytest.mark.parametrize("rows", [1, 3, 8, 50])
@pytest.mark.parametrize("rest", [1, LANES, 2 * LANES + 3])
@pytest.mark.parametrize("soft", [False, True], ids=["alone", "whole rows"])
def test_the_last_of_many_panels_in_part(rows: int, rest: int, soft: bool) -> None:
    columns = 64 * PANEL + rest
    module = whole(Columns(70, columns) if soft else nn.Linear(70, columns))
    x = torch.randint(-3, 4, (rows, 70)).float()
    made = compiled(module, x, PANEL)
    wanted = module(x).detach().numpy()
    np.testing.assert_allclose(made(x), wanted, rtol=0, atol=1e-6 if soft else 0)
