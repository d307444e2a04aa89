"""Products of bf16 whose rows are seen in another shape or order, multiplied in pairs: interpreted
for targets that have matrix tiles or dot products, and run where these are."""

from __future__ import annotations

import copy

import ml_dtypes
import numpy as np
import pytest
import torch

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.contraction import Contraction
from lamina.frontends.exported_program import import_exported_program
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(3)

TARGETS = ("sapphirerapids", "znver4")


class Layer(torch.nn.Module):
    """A norm, and linear layers behind it, of what is seen in one of several ways."""

    def __init__(self, view: str) -> None:
        super().__init__()
        self.view = view
        self.norm = torch.nn.LayerNorm(48)
        self.first, self.second = torch.nn.Linear(48, 40), torch.nn.Linear(48, 33)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Of images, [images, lines, pixels, 48]."""
        x = self.norm(x)
        images, lines, pixels, size = x.shape
        if self.view == "windows":
            x = x.view(images, lines // 3, 3, pixels // 3, 3, size).transpose(2, 3)
            x = x.reshape(-1, 9, size)
        if self.view == "turned":
            x = x.transpose(0, 2)
        if self.view == "joined":
            x = x.reshape(images, lines * pixels, size)
        return self.first(x), self.second(x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("view", ["as it is", "windows", "turned", "joined"])
def test_values(view: str, target: str) -> None:
    torch.manual_seed(0)
    model = Layer(view).eval().to(torch.bfloat16)
    x = torch.randn(2, 6, 9, 48).to(torch.bfloat16)
    with torch.no_grad():
        program = torch.export.export(model, (x,))
        eager, exact = model(x), copy.deepcopy(model).double()(x.double())
    imported = import_exported_program(program)
    module, given = imported.module, {"x": x, **imported.constants}
    arrays = {k: v.detach().float().numpy().astype(ml_dtypes.bfloat16) for k, v in given.items()}
    run_pipeline(module, pipeline(start="aten", stop="fused", target=target), Context())
    shapes = [s for op in module.walk() if isinstance(op, GenericOp) and (s := Contraction.of(op))]
    assert [shape.pairs for shape in shapes] == [1, 1]
    run_pipeline(module, pipeline(start="fused", target=target), Context())
    results = []
    if (view, target) == ("windows", "znver4") or target == "sapphirerapids":
        results.append(run_module(module, arrays))
    if Target.parse(target).runs_here():
        results.append(lamina.compile(program, target=target, cache=False)(x))
    for found in results:
        for one, rounded, right in zip(found, eager, exact, strict=True):
            value = torch.as_tensor(
                np.asarray(one, np.float64) if isinstance(one, np.ndarray) else one
            )
            wrong = (rounded.double() - right).norm()
            assert (value.double() - right).norm() <= max(1.5 * wrong, 2.0**-8 * right.norm())
