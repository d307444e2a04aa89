"""Graphs of torch.compile that run in stages: their weights are packed once for each module."""

from typing import Any

import pytest
import torch
from torch import nn

import lamina
from lamina.frontends import dynamo_staged


class Padded(nn.Module):
    """A layer over rows, of which the input says how many zeros follow."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(24, 20)

    def forward(self, x: Any, count: Any) -> Any:
        """Rows, then as many of zeros."""
        zeros = torch.zeros(count.item(), 24)
        return self.layer(torch.cat([x, zeros])).relu()


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The weights that programs are bound to, one set for each that is compiled."""
    made: list[set[str]] = []
    original = dynamo_staged.StagedDynamoCall._calling

    def calling(self: Any, program: Any, places: list[int]) -> Any:
        made.append({name for step in program._plan.steps for name in step.bound})
        return original(self, program, places)

    monkeypatch.setattr(dynamo_staged.StagedDynamoCall, "_calling", calling)
    return made


def run(module: nn.Module, fast: Any, count: int) -> None:
    x = torch.randn(3, 24)
    with torch.no_grad(), torch._dynamo.config.patch(capture_scalar_outputs=True):
        found = fast(x, torch.tensor(count))
        torch.testing.assert_close(found, module(x, torch.tensor(count)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weights", ["checked", "passed", "frozen"])
def test_weights_of_stages(prepared: list[set[str]], weights: str) -> None:
    torch._dynamo.reset()
    module = Padded().eval()
    fast = torch.compile(module, backend="lamina", fullgraph=True, options={"weights": weights})
    for count in (2, 5, 0, 5):
        run(module, fast, count)
    assert len(prepared) == 1
    assert bool(prepared[0]) == (weights != "passed")
    before = lamina.compile_count()
    run(module, fast, 7)
    assert lamina.compile_count() == before
    if weights == "frozen":
        return
    with torch.no_grad():
        module.layer.weight.mul_(2)
    run(module, fast, 4)
    module.layer.weight.data.mul_(3)  # moves no counter
    run(module, fast, 4)
    assert len(prepared) == (3 if weights == "checked" else 1)


def test_modules_have_weights_of_their_own(prepared: list[set[str]]) -> None:
    torch._dynamo.reset()
    modules = [Padded().eval() for _ in range(2)]
    fast = [torch.compile(module, backend="lamina", fullgraph=True) for module in modules]
    for _ in range(2):
        for module, compiled in zip(modules, fast, strict=True):
            run(module, compiled, 3)
    assert len(prepared) == 2


def test_sizes_that_arguments_of_a_stage_do_not_tell() -> None:
    """A stage that takes flattened rows alone: neither factor of their number is known in it."""

    def counted(x: torch.Tensor) -> torch.Tensor:
        return torch.bincount((x.abs() * 2).long().clamp(max=5).flatten())

    torch._dynamo.reset()
    fast = torch.compile(counted, backend="lamina", fullgraph=True, dynamic=True)
    with (
        torch.no_grad(),
        torch._dynamo.config.patch(
            capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True
        ),
    ):
        for shape in ((6, 4), (9, 4), (5, 7), (30, 2)):
            x = torch.randn(shape)
            torch.testing.assert_close(fast(x), counted(x))
