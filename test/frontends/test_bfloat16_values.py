"""Ops that keep the digits of bf16, on all of its numbers: nothing is rounded, and nothing lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import lamina

EVERY = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
OPS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "neg": torch.neg,
    "abs": torch.abs,
    "relu": torch.relu,
    "clamp": lambda x: x.clamp(-1.5, 2),
    "clamp to a number of more digits": lambda x: x.clamp(-0.1, 0.1),
    "maximum": lambda x: torch.maximum(x, -x.abs()),
    "where": lambda x: torch.where(x > 1, x, 0.25),
    "chain": lambda x: torch.relu(-x).clamp(max=64).abs(),
    "hardtanh": torch.nn.functional.hardtanh,
    "leaky": torch.nn.functional.leaky_relu,
}


class Module(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


@pytest.mark.parametrize("name", OPS)
def test_every_number(name: str) -> None:
    compiled = lamina.compile(torch.export.export(Module(OPS[name]), (EVERY,)), cache=False)
    torch.testing.assert_close(compiled(EVERY), OPS[name](EVERY), rtol=0, atol=0, equal_nan=True)
