"""Convolutions of bf16 by constant weights whose channels are multiplied in pairs: interpreted for
targets that have matrix tiles or dot products, and run where these are."""

from __future__ import annotations

import copy
from dataclasses import dataclass

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

pytestmark = pytest.mark.one_in(4)

MULTIPLIERS = {"sapphirerapids": "loop.tile_dot", "znver4": "loop.dot_pairs"}
"""By what targets multiply bf16."""


@dataclass(frozen=True)
class Case:
    """A convolution between two by 1x1, which make its channels innermost."""

    channels: int
    results: int
    size: tuple[int, ...]
    window: int | tuple[int, ...] = 3
    stride: int = 1
    padding: int | tuple[int, ...] = 1
    dilation: int = 1
    images: int = 1


TAILS = "tails of terms and columns"
CASES = {
    "whole tiles": Case(32, 32, (3, 17)),
    TAILS: Case(40, 50, (4, 5)),
    "steps of two": Case(32, 32, (5, 7), stride=2, images=2),
    "dilated": Case(32, 48, (4, 5), dilation=2, padding=2),
    "5x1, no border": Case(32, 32, (9, 16), window=(5, 1), padding=0),
    "1-d": Case(32, 32, (40,), window=5, padding=2),
    "3-d": Case(32, 32, (2, 3, 3)),
    "three channels": Case(3, 40, (9, 11), window=5, stride=2, padding=2),
    "three channels, images": Case(3, 33, (9, 11), window=(4, 3), padding=0, images=2),
    "one channel": Case(1, 32, (13, 9), window=6, padding=3),
    "two channels, 3-d": Case(2, 32, (4, 4, 5), window=3, padding=1),
    "one column": Case(32, 32, (8, 1)),
}
GATHERED = tuple(name for name, case in CASES.items() if case.channels < 32)
"""Cases whose windows are gathered, as their channels fill no tile."""


DOTS_INTERPRETED = (TAILS, "steps of two")
"""Cases that the interpreter runs with dot products, of which there are many."""


class Network(torch.nn.Module):
    """The convolution of a case, and what is around it."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        kind = {1: torch.nn.Conv1d, 2: torch.nn.Conv2d, 3: torch.nn.Conv3d}[len(case.size)]
        self.first = kind(8, case.channels, 1)
        self.middle = kind(
            case.channels,
            case.results,
            case.window,  # pyright: ignore[reportArgumentType]
            stride=case.stride,
            padding=case.padding,  # pyright: ignore[reportArgumentType]
            dilation=case.dilation,
        )
        self.last = kind(case.results, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.middle(self.first(x).relu()).relu())


def _made(case: Case) -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    x = torch.randn(case.images, 8, *case.size)
    return Network(case).eval().to(torch.bfloat16), x.to(torch.bfloat16)


@pytest.mark.parametrize("target", MULTIPLIERS)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.long if n == TAILS else []) for n in CASES],
)
def test_values(name: str, target: str) -> None:
    model, x = _made(CASES[name])
    with torch.no_grad():
        program = torch.export.export(model, (x,))
        eager, exact = model(x).double(), copy.deepcopy(model).double()(x.double())
    imported = import_exported_program(program)
    module, given = imported.module, {"x": x, **imported.constants}
    arrays = {name: _array(value) for name, value in given.items()}
    run_pipeline(module, pipeline(start="aten", stop="fused", target=target), Context())
    shapes = [s for op in module.walk() if isinstance(op, GenericOp) and (s := Contraction.of(op))]
    paired = [len(shape.summed) for shape in shapes if shape.pairs is not None]
    assert 1 in paired if name in GATHERED else max(paired) > 1
    assert ('"gather"' in str(module)) == (name in GATHERED)
    run_pipeline(module, pipeline(start="fused", target=target), Context())
    assert MULTIPLIERS[target] in str(module)
    results: list[np.ndarray] = []
    if target != "znver4" or name in DOTS_INTERPRETED:
        results += run_module(module, arrays)
    if Target.parse(target).runs_here():
        results.append(lamina.compile(program, target=target, cache=False)(x).float().numpy())
    wrong = (eager - exact).norm() / exact.norm()
    for found in results:
        result = torch.as_tensor(np.asarray(found, np.float64))
        assert (result - exact).norm() / exact.norm() <= max(1.5 * wrong, 2.0**-8)


def _array(x: torch.Tensor) -> np.ndarray:
    return x.detach().float().numpy().astype(ml_dtypes.bfloat16)
