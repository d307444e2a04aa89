"""The kernels of the benchmarks for every target: run where they can run, else read as objects."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

import lamina
from lamina.codegen import emit_assembly, emit_object
from lamina.codegen.llvm_emitter import EmitOptions
from lamina.codegen.llvm_emitter.parallel import OPENMP_SYMBOLS
from lamina.codegen.object_file import machine, undefined_symbols
from lamina.codegen.target import Target
from lamina.frontends.exported_program import import_exported_program
from lamina.lowering.pipeline import pipeline, run_pipeline

Function = Callable[..., torch.Tensor]


def randn(*shapes: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    random = torch.Generator().manual_seed(1)
    return tuple(torch.randn(shape, generator=random) for shape in shapes)


def pointwise(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return functional.gelu(x + b) * torch.tanh(x) + torch.exp(-x * x)


def rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(x, (x.shape[-1],), w)


def layer_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(x, (x.shape[-1],), w, b)


def embed(
    i: torch.Tensor, table: torch.Tensor, p: torch.Tensor, w: torch.Tensor, b: torch.Tensor
) -> torch.Tensor:
    return layer_norm(functional.embedding(i, table) + p, w, b)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return functional.scaled_dot_product_attention(q, k, v)


MATRIX, ROW = (129, 261), (261,)
PLACES = torch.arange(129) * 7 % 100
KERNELS: dict[str, tuple[Function, tuple[torch.Tensor, ...]]] = {
    "add": (torch.add, randn(MATRIX, MATRIX)),
    "bias and relu": (lambda x, b: torch.relu(x + b), randn(MATRIX, ROW)),
    "softmax": (lambda x: x.softmax(-1), randn(MATRIX)),
    "layer norm": (layer_norm, randn(MATRIX, ROW, ROW)),
    "rms norm": (rms_norm, randn(MATRIX, ROW)),
    "cross entropy": (functional.cross_entropy, (*randn(MATRIX), PLACES)),
    "column sum": (lambda x: x.sum(0), randn(MATRIX)),
    "transpose and add": (lambda x, y: x + y.t(), randn(MATRIX, MATRIX[::-1])),
    "embedding, add and norm": (embed, (PLACES, *randn((100, 261), MATRIX, ROW, ROW))),
    "pointwise": (pointwise, randn(MATRIX, ROW)),
    "sin, cos and sigmoid": (lambda x: x.sin() * x.cos() + x.sigmoid(), randn(MATRIX)),
    "power": (lambda x, y: x.abs() ** y, randn(MATRIX, MATRIX)),
    "product": (lambda x, y: torch.relu(x @ y), randn((65, 129), (129, 70))),
    "attention": (attention, randn((1, 2, 33, 16), (1, 2, 33, 16), (1, 2, 33, 16))),
    "cumulative sum": (lambda x: x.cumsum(1), randn(MATRIX)),
    "group norm": (lambda x: functional.group_norm(x, 4), randn((2, 8, 9, 9))),
}

LIBRARY = {"memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_"}
TEAMS = {*OPENMP_SYMBOLS, "sched_yield"}
VECTORS = {"aarch64": r"\bv\d+\.4s", "riscv64": r"\bvset(i)?vli\b.*\be32\b"}

SCALAR = {"cumulative sum"}
"""Each step of a scan waits for the one before."""


class _Module(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        return self.function(*args)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("name", KERNELS)
def test_runs_as_torch_does(name: str, target: str) -> None:
    if not Target.parse(target).runs_here():
        pytest.skip(f"this CPU has not all of {target}")
    function, inputs = KERNELS[name]
    program = torch.export.export(_Module(function), inputs)
    compiled = lamina.compile(program, target=target, cache=False)
    torch.testing.assert_close(compiled(*inputs), function(*inputs))


@pytest.mark.parametrize("target", ["aarch64", "riscv64"])
@pytest.mark.parametrize("name", KERNELS)
def test_object_for_another_architecture(name: str, target: str) -> None:
    """Vectors of the machine's own, and nothing undefined but memory functions and threads."""
    function, inputs = KERNELS[name]
    module = import_exported_program(torch.export.export(_Module(function), inputs)).module
    run_pipeline(module, pipeline(start="aten", target=target), lamina.Context())
    code = emit_object(module, Target.parse(target), EmitOptions(openmp=True))
    assert machine(code) == Target.parse(target).architecture
    assert set(undefined_symbols(code)) <= LIBRARY | TEAMS
    if name not in SCALAR:
        assert re.search(VECTORS[target], emit_assembly(module, target))
