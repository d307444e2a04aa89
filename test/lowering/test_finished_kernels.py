"""Kernels that are told of as soon as no pass changes them any more, and their code."""

from dataclasses import dataclass

import numpy as np
import pytest
from xdsl.context import Context as AnyContext
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

import lamina
from lamina import Context, parse
from lamina.codegen.llvm_emitter import EmitOptions, ProgramEmitter, emit_module
from lamina.codegen.target import Target
from lamina.dialects.forks import forks_wait
from lamina.lowering import pipeline as pipelines
from lamina.lowering.pipeline import Pass, pipeline, run_pipeline

PROGRAM = """
func.func @main(%x: tensor<256x513xf32>, %w: tensor<513x300xf32>) -> (tensor<256xf32>, tensor<256x300xf32>) {
  %rows = aten.sum.dim_IntList(%x, dim = [1]) : (tensor<256x513xf32>) -> tensor<256xf32>
  %product = aten.mm.default(%x, %w) : (tensor<256x513xf32>, tensor<513x300xf32>) -> tensor<256x300xf32>
  return %rows, %product : tensor<256xf32>, tensor<256x300xf32>
}
"""  # noqa: E501
TARGET = "x86-64-v4"


@dataclass(frozen=True)
class Nothing(ModulePass):
    """A pass of somebody else's, which might change any kernel."""

    name = "nothing"

    def apply(self, ctx: AnyContext, op: ModuleOp) -> None:
        pass


def told(specs: tuple[Pass, ...]) -> tuple[ModuleOp, dict[str, str]]:
    """The module behind the passes, and each kernel as it was when it was told of."""
    module = parse(PROGRAM)
    texts: dict[str, str] = {}

    def finished(kernel: FuncOp) -> None:
        texts[kernel.sym_name.data] = str(kernel)

    run_pipeline(module, specs, Context(), finished)
    return module, texts


def kernels(module: ModuleOp) -> list[FuncOp]:
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    return [function for function in functions if "lamina.kernel" in function.attributes]


def test_what_is_told_of_does_not_change() -> None:
    module, texts = told(pipeline(target=TARGET))
    assert list(texts) == [kernel.sym_name.data for kernel in kernels(module)]
    assert len(texts) > 1
    for kernel in kernels(module):
        kernel.attributes.pop("lamina.scratch", None)  # a note
        assert texts[kernel.sym_name.data] == str(kernel)


def test_kernels_one_by_one_are_as_those_of_whole_passes() -> None:
    module, _ = told(pipeline(target=TARGET))
    plain = parse(PROGRAM)
    run_pipeline(plain, pipeline(target=TARGET), Context())
    assert str(module) == str(plain)


def test_code_is_the_same_whenever_kernels_are_added() -> None:
    target, options = Target.parse(TARGET), EmitOptions()
    emitter = ProgramEmitter(target, options)
    module = parse(PROGRAM)
    run_pipeline(module, pipeline(target=TARGET), Context(), emitter.add_kernel)
    assert emitter.finish(module) == emit_module(module, target, options)


def test_scratch_that_moves_to_the_arena_is_waited_for() -> None:
    specs = pipeline(target=TARGET)
    at = specs.index(f'plan-scratch{{target="{TARGET}"}}')
    small = f'plan-scratch{{target="{TARGET}" stack=0}}'
    module, texts = told((*specs[:at], small, *specs[at + 1 :]))
    moved = [k for k in kernels(module) if "scratch" in [a.name_hint for a in k.body.block.args]]
    assert moved
    assert not {kernel.sym_name.data for kernel in moved} & texts.keys()


@pytest.mark.parametrize("name", ["apply-schedule", "merge-parallel-regions", "verify-scheduled"])
def test_passes_of_others_behind_are_waited_for(name: str) -> None:
    mine = lamina.Pipeline().after(name, Nothing())
    _, texts = told(mine.applied(pipeline()))
    assert not texts
    numbers = np.random.default_rng(0)
    x = numbers.standard_normal((256, 513), np.float32)
    w = numbers.standard_normal((513, 300), np.float32)
    rows, product = lamina.compile(PROGRAM, pipeline=mine)(x, w)
    np.testing.assert_allclose(rows, x.sum(1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(product, x @ w, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("foreign", [False, True])
def test_loops_are_looked_for_nests_behind_passes_of_others(
    foreign: bool, states_asked: list[str]
) -> None:
    mine = lamina.Pipeline().after("apply-schedule", Nothing())
    told(mine.applied(pipeline()) if foreign else pipeline())
    assert "choose-schedule" in states_asked
    assert ("merge-parallel-regions" in states_asked) == foreign
    assert "plan-scratch" not in states_asked  # it takes what the passes in front of it take


def test_no_fork_comes_between_once_a_kernel_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    monkeypatch.setattr(pipelines, "let_fork", lambda: happened.append("fork"))
    with forks_wait():
        run_pipeline(
            parse(PROGRAM), pipeline(), Context(), lambda kernel: happened.append("kernel")
        )
    assert "fork" in happened
    assert "fork" not in happened[happened.index("kernel") :]
