"""Inlining copies bodies within bounds: IR grows with the program, not by doubling."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.export import ExportedProgram
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.dialects.context import Context
from lamina.dialects.loop import GenericOp
from lamina.dialects.source import parse_module
from lamina.frontends.exported_program import import_exported_program
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.passes.cost.fusion_limits import MAX_COPIED_OPS

Function = Callable[[torch.Tensor], torch.Tensor]
Make = Callable[[int], tuple[Function, torch.Tensor]]


def rolls(steps: int) -> tuple[Function, torch.Tensor]:
    """Each step reads the step before at two places."""

    def run(x: torch.Tensor) -> torch.Tensor:
        for _ in range(steps):
            x = (x.sin() + x * 0.5).roll(1)
        return x

    return run, torch.randn(100)


def rows(steps: int) -> tuple[Function, torch.Tensor]:
    """Each step writes one row, from the row before."""

    def run(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        for i in range(1, steps + 1):
            x[i] = x[i] + x[i - 1] * 0.5
        return x

    return run, torch.randn(steps + 1, 8)


def columns(steps: int) -> tuple[Function, torch.Tensor]:
    """Each step writes one column, with a function that costs."""

    def run(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        for i in range(1, steps + 1):
            x[:, i] = torch.tanh(x[:, i - 1]) + x[:, i]
        return x

    return run, torch.randn(8, steps + 1)


def cholesky(steps: int) -> tuple[Function, torch.Tensor]:
    """Each step writes a number and a column, from all columns before."""

    def run(a: torch.Tensor) -> torch.Tensor:
        factor = torch.zeros_like(a)
        for j in range(steps):
            factor[j, j] = (a[j, j] - (factor[j, :j] ** 2).sum()).sqrt()
            rest = a[j + 1 :, j] - factor[j + 1 :, :j] @ factor[j, :j]
            factor[j + 1 :, j] = rest / factor[j, j]
        return factor

    return run, torch.eye(steps) * 2 + 0.1


def norms(steps: int) -> tuple[Function, torch.Tensor]:
    """Each step writes a part of a row, and then the whole row from its sum."""

    def run(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        for i in range(steps):
            x[i, :i] = x[:i, i]
            x[i] /= x[i].norm()
        return x

    return run, torch.randn(steps, steps)


def gathers(steps: int) -> tuple[Function, torch.Tensor]:
    """Each step looks up the step before at two computed places."""
    one, other = torch.randperm(16), torch.randperm(16)

    def run(x: torch.Tensor) -> torch.Tensor:
        for _ in range(steps):
            x = x[one] * 0.5 + x[other]
        return x

    return run, torch.randn(16)


class Module(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def exported(make: Make, steps: int) -> tuple[ExportedProgram, Function, torch.Tensor]:
    """The program, and what it is made from."""
    torch.manual_seed(0)
    function, x = make(steps)
    return torch.export.export(Module(function), (x,)), function, x


def body_ops(module: ModuleOp) -> int:
    """Ops in the bodies of all nests."""
    return sum(len(op.block.ops) for op in module.walk() if isinstance(op, GenericOp))


@pytest.mark.parametrize(
    ("make", "steps"),
    [(rolls, 4), (rows, 4), (columns, 4), (cholesky, 2), (norms, 2), (gathers, 4)],
)
def test_ops_grow_with_the_program(make: Make, steps: int) -> None:
    counts: list[int] = []
    for n in (steps, 2 * steps, 3 * steps):
        module = import_exported_program(exported(make, n)[0]).module
        names = pipeline(stop="fused")
        cut = next(i for i, name in enumerate(names) if name.startswith("fuse-elementwise"))
        run_pipeline(module, names[:cut], Context())
        before = body_ops(module)
        run_pipeline(module, names[cut : cut + 2], Context())
        counts.append(body_ops(module) - before)
    # What is added per step stays within the bound, and does not double.
    assert counts[2] - counts[1] <= 2 * max(0, counts[1] - counts[0]) + 2 * MAX_COPIED_OPS, counts


@pytest.mark.parametrize("make", [rolls, rows, columns, cholesky, norms, gathers])
def test_results_of_chains(make: Make) -> None:
    program, function, x = exported(make, 6)
    torch.testing.assert_close(lamina.compile(program, cache=False)(x), function(x))


def test_a_chain_that_copies_nothing_is_one_nest_of_any_length() -> None:
    lines = [f"%{i + 1} = prims.sin(%{i}) : (tensor<8xf32>) -> tensor<8xf32>" for i in range(300)]
    body = "\n".join(lines)
    head = "func.func @main(%0: tensor<8xf32>) -> tensor<8xf32>"
    module = fused(f"{head} {{\n{body}\nfunc.return %300 : tensor<8xf32>\n}}")
    (nest,) = (op for op in module.walk() if isinstance(op, GenericOp))
    assert len(nest.block.ops) == 301


def fused(text: str) -> ModuleOp:
    """A program of prims after `fuse-elementwise`."""
    module = parse_module(Context(), text, "test")
    passes = ("convert-prims-to-loop", "canonicalize-loop", "fuse-elementwise")
    run_pipeline(module, passes, Context())
    return module
