"""`lamina.Pipeline`: passes put in, replaced, left out; stopped and resumed; and the cache."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

import lamina
from lamina.dialects import prims
from lamina.dialects.errors import InputError
from lamina.lowering.pipeline import STAGES
from lamina.runtime.layers import parse

PROGRAM = """
func.func @main(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = aten.mul.Tensor(%x, %y) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = aten.softmax.int(%0, dim = 1) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  func.return %1 : tensor<8x16xf32>
}"""
X = np.linspace(-1, 1, 128, dtype=np.float32).reshape(8, 16)


@dataclass(frozen=True)
class Count(ModulePass):
    """Notes in which state it saw a program."""

    name = "count-ops"
    seen: tuple[list[int], ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for counts in self.seen:
            counts.append(sum(1 for _ in op.walk()))


@dataclass(frozen=True)
class Subtract(ModulePass):
    """Subtracts where the program multiplies."""

    name = "subtract"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for old in [o for o in op.walk() if o.name == "prims.mul"]:
            new = prims.op("sub").create(operands=old.operands, result_types=old.result_types)
            Rewriter.replace_op(old, new)


@dataclass(frozen=True)
class Break(ModulePass):
    """Leaves a function without an end."""

    name = "break-it"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                last = function.body.block.last_op
                assert last is not None
                last.detach()
                last.erase()


def test_passes_are_objects_in_their_order() -> None:
    names = [p.name for p in lamina.Pipeline().passes()]
    first = names.index("verify-aten")
    assert names[first : first + 2] == ["verify-aten", "functionalize"]
    mine = lamina.Pipeline().before("fuse-kernels", "cse").drop("merge-siblings")
    changed = [p.name for p in mine.after("cse", Count()).passes(start="loop", stop="fused")]
    at = changed.index("fuse-kernels")
    assert changed[at - 2 : at] == ["cse", "count-ops"]
    assert "merge-siblings" not in changed
    assert "merge-siblings" in names  # a pipeline is a value


def test_a_pass_of_mine_runs_in_every_way_of_compiling() -> None:
    counts: list[int] = []
    mine = lamina.Pipeline().after("convert-core-aten-to-prims", Count((counts,)))
    lamina.compile(PROGRAM, pipeline=mine)
    assert len(counts) == 1

    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + 1

    compiled = torch.compile(program, backend="lamina", options={"pipeline": mine})
    x = torch.randn(5)
    torch.testing.assert_close(compiled(x), program(x))
    assert len(counts) == 2


def test_replaced_passes_make_other_code_that_nobody_else_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    wrong = lamina.Pipeline().after("convert-core-aten-to-prims", Subtract())
    for _ in range(2):
        plain = lamina.compile(PROGRAM)(X, X)
        other = lamina.compile(PROGRAM, pipeline=wrong)(X, X)
        np.testing.assert_allclose(plain, np.exp(X * X) / np.exp(X * X).sum(1, keepdims=True), 1e-5)
        # Softmax of zeros; it multiplies by a reciprocal, which is subtracted too.
        np.testing.assert_allclose(other, np.full_like(X, 1 - 1 / 16), 1e-6)


def test_pipelines_of_known_passes_are_cached_apart() -> None:
    plain, less = lamina.Pipeline(), lamina.Pipeline().drop("merge-siblings")
    more = lamina.Pipeline().after("loop-cse", "cse")
    assert len({plain.key, less.key, more.key}) == 3
    assert lamina.Pipeline().after("loop-cse", CommonSubexpressionElimination()).key == more.key
    assert plain.after("loop-cse", Count()).key is None


def test_what_a_pass_leaves_is_verified() -> None:
    with pytest.raises(InputError, match=r"pass 'break-it' \(.*Break\) leaves a program that is"):
        lamina.compile(PROGRAM, pipeline=lamina.Pipeline().after("loop-cse", Break()))


@cache
def _run_at_once() -> str:
    whole = parse(PROGRAM)
    lamina.Pipeline().run(whole, target="x86-64-v3")
    return str(whole)


@pytest.mark.parametrize("name", [name for stage in STAGES for name in stage.passes])
def test_a_run_that_stopped_goes_on_to_the_same_result(name: str) -> None:
    parts, pipeline = parse(PROGRAM), lamina.Pipeline()
    pipeline.run(parts, target="x86-64-v3", until=name)
    again = parse(str(parts))
    pipeline.run(again, target="x86-64-v3", since=name)
    assert str(again) == _run_at_once()


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="pipeline is called 'fuse-kernel'; nearest: fuse-k"):
        lamina.Pipeline().before("fuse-kernel", "cse")
    with pytest.raises(InputError, match="no pass is called 'csee'"):
        lamina.Pipeline().before("fuse-kernels", "csee")
    with pytest.raises(InputError, match='partition requires argument "backend"'):
        lamina.Pipeline().before("fuse-kernels", "partition").run(parse(PROGRAM))
    with pytest.raises(InputError, match="no pass among these is called 'bufferize'"):
        lamina.Pipeline().run(parse(PROGRAM), start="loop", stop="fused", until="bufferize")
    with pytest.raises(Exception, match=r"it takes a lamina\.Pipeline"):
        torch.compile(torch.relu, backend="lamina", options={"pipeline": "cse"})(torch.ones(2))
    with pytest.raises(InputError, match=r"it takes a lamina\.Pipeline"):
        lamina.compile(PROGRAM, pipeline="cse")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"Pipeline: 3 is no pass; it takes ModulePass objects"):
        lamina.Pipeline().before("fuse-kernels", 3)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("left_out", ["fuse-kernels", "fuse-elementwise", "merge-siblings"])
def test_a_pipeline_without_fusion_gives_the_same(left_out: str) -> None:
    text = """
    func.func @main(%x: tensor<4x6xf32>) -> (tensor<4xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
      %0 = aten.tanh.default(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      %1 = aten.cumsum.default(%0, 1) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      %2 = aten.sum.dim_IntList(%1, [1]) : (tensor<4x6xf32>) -> tensor<4xf32>
      func.return %2, %1, %x : tensor<4xf32>, tensor<4x6xf32>, tensor<4x6xf32>
    }"""
    x = np.random.default_rng(0).standard_normal((4, 6), np.float32)
    plain, other = (
        lamina.compile(text, pipeline=p) for p in (None, lamina.Pipeline().drop(left_out))
    )
    assert len(other.kernels) >= len(plain.kernels)
    for ours, wanted in zip(other(x), plain(x), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)


HLO = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}"""


def test_passes_of_source_layers_have_names_too() -> None:
    counted = Count(([],))
    lamina.compile(HLO, pipeline=lamina.Pipeline().after("convert-stablehlo-to-prims", counted))
    assert len(counted.seen[0]) == 1


@dataclass(frozen=True)
class Fails(ModulePass):
    """Raises an error of its own."""

    name = "fails"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("none of Lamina's errors")


def test_an_error_of_a_pass_says_which() -> None:
    with pytest.raises(KeyError, match="none of Lamina's") as caught:
        lamina.compile(PROGRAM, pipeline=lamina.Pipeline().after("verify-prims", Fails()))
    assert caught.value.__notes__ == ["while running pass 'fails'"]
