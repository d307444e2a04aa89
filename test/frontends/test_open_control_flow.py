"""Branches and loops of torch programs whose sizes are not known when compiling."""

from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

import lamina


class Branches(nn.Module):
    """One of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        """Of each row, and the mean of all."""
        made = torch.cond(
            x.sum() > 0, lambda x: self.one(x).relu(), lambda x: self.other(x).softmax(0), (x,)
        )
        return made, made.mean(0)


class Rounds(nn.Module):
    """Three rounds over all rows."""

    def forward(self, x: Any) -> Any:
        """Rows become their differences to the mean."""

        def step(n: Any, y: Any) -> Any:
            return n + 1, y - y.mean(0, keepdim=True) / (1 + y.abs().sum(0, keepdim=True))

        return while_loop(lambda n, y: n < 3, step, (torch.tensor(0), x))[1]


class Steps(nn.Module):
    """A recurrent layer over five steps of any batch."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        """The last state and all of them."""

        def step(h: Any, x: Any) -> Any:
            h = torch.tanh(self.cell(h) + x)
            return h, h * 2

        return scan(step, torch.zeros_like(x), torch.stack([x, -x, x + 1, 2 * x, x]))


@pytest.mark.parametrize("policy", ["padded", "exact"])
@pytest.mark.parametrize("kind", [Branches, Rounds, Steps])
def test_exported(kind: type[nn.Module], policy: str) -> None:
    module = kind().eval()
    rows = Dim("rows", min=2, max=40)
    with torch.no_grad():
        program = torch.export.export(module, (torch.randn(4, 8),), dynamic_shapes=({0: rows},))
        compiled = lamina.compile(program, versions=policy)
        for count in (4, 7, 31, 4):
            for x in (torch.rand(count, 8), -torch.rand(count, 8)):
                torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-5)
    assert len(compiled.sizes) == (1 if policy == "padded" else 3)


@pytest.mark.parametrize("kind", [Branches, Rounds])
def test_compiled(kind: type[nn.Module]) -> None:
    torch._dynamo.reset()
    module = kind().eval()
    fast = torch.compile(module, backend="lamina", dynamic=True, fullgraph=True)
    before = lamina.compile_count()
    with torch.no_grad():
        for count in (4, 7, 31, 4):
            x = torch.randn(count, 8)
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)
    assert lamina.compile_count() == before + 1
