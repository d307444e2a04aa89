"""What reduces the columns of a product, of which a call says how many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim

import lamina

pytestmark = pytest.mark.one_in(2)

Tensor = torch.Tensor

REDUCTIONS: dict[str, Callable[[Tensor], Any]] = {
    "largest": lambda s: s.amax(1),
    "both extremes": lambda s: (s.amin(1), s.amax(1)),
    "least distances": lambda s: (2 - 2 * s).clamp_min(0).sqrt().amin(1),
    "largest places": lambda s: s.argmax(1),
    "logarithms": lambda s: torch.logsumexp(s, 1),
    "softmax": lambda s: s.softmax(1),
    "squares of softmax": lambda s: s.softmax(1).square().sum(1),
    "reciprocals": lambda s: (1 / s).amax(1),
    "scores beside": lambda s: (s, s.amax(1)),
    "variances": lambda s: s.var(1),
    "counts": lambda s: (s > 0).sum(1),
    "quotients": lambda s: (7 // (s.abs().int() + 1)).sum(1),
    "looked up": lambda s: torch.arange(50)[s.abs().clamp(0, 40).long()].sum(1),
    "sums of rows": lambda s: s.relu().sum(0),
}
ENDED = ("largest", "both extremes", "least distances", "logarithms")
"""Those of which the kernel of the product leaves columns out."""


class Scores(torch.nn.Module):
    """Scores of rows by others, reduced."""

    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, y: Tensor) -> Any:
        """`x`: [rows, 24], `y`: [columns, 24]."""
        return self.function(x @ y.t())


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduced_columns(name: str) -> None:
    torch.manual_seed(0)
    model = Scores(REDUCTIONS[name])
    rows, columns = Dim("rows", min=2, max=1024), Dim("columns", min=2, max=1024)
    given = torch.randn(9, 24), torch.randn(11, 24)
    program = torch.export.export(model, given, dynamic_shapes=({0: rows}, {0: columns}))
    compiled = lamina.compile(program, versions="padded")
    spoilt = 30.0 if name == "looked up" else float("nan")  # places have to be legal
    for m, n in ((2, 2), (9, 11), (200, 1000), (33, 31), (64, 32), (199, 33), (5, 299), (700, 257)):
        for most in (256, 1024):  # columns of versions
            compiled(torch.full((1024, 24), spoilt), torch.full((most, 24), spoilt))
        x, y = torch.randn(m, 24), torch.randn(n, 24)
        torch.testing.assert_close(compiled(x, y), model(x, y), rtol=1e-4, atol=1e-4)
    if name in ENDED:
        text = compiled.sizes[0].compiled.ir("fused")
        products = [line for line in text.splitlines() if "lamina.packing" in line]
        assert products and all("lamina.ends = [" in line for line in products)
