"""Faults of extensions: each is one line with the extension, its file and line, and the op."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.arith import MulfOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

import lamina
from lamina.dialects import prims
from lamina.lowering.prims_to_loop.table import LoopBuilder
from lamina.runtime.interpreters import run_module

TWICE = """
func.func @main(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = aten.neg.default(%x) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %1 = m.twice.default(%0) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  func.return %1 : tensor<4x5xf32>
}
"""
X = np.linspace(-2, 2, 20, dtype=np.float32).reshape(4, 5)
Rule = Mapping[str, Any]


def lower(op: Operation, b: LoopBuilder) -> SSAValue:
    return b.copy(op.operands[0], None, [4, 5])


def twice() -> lamina.Extension:
    made = lamina.extend("m")
    made.ops("m::twice(Tensor self) -> Tensor")
    made.lowers("m.twice", to="loop")(lower)
    return made


def faulty(function: Any) -> str:
    mine = lamina.extend("m")
    mine.ops("m::twice(Tensor self) -> Tensor")
    mine.lowers("m.twice", to="loop")(function)
    with mine, pytest.raises(lamina.InputError) as caught:
        lamina.compile(TWICE)
    return str(caught.value)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda op, b: 5, "gives a int, and not values"),
        (lambda op, b: [], "gives 0 values for 1 results"),
        (lambda op, b: [None], "gives None for result 0, which is used"),
        (lambda op, b: b.nothing, "raises AttributeError"),
        (
            lambda op, b: b.copy(op.operands[0], [1, 0], [5, 4]),
            "gives tensor<5x4xf32> for result 0",
        ),
        (lambda op, b: b.insert(prims.op("neg")(op.operands[0])).results[0], "makes prims.neg"),
        (lambda op, b: b.insert(MulfOp(op.operands[0], b.anchor.operands[0])).results[0], "arith"),
    ],
)
def test_a_lowering_at_fault_is_named(function: Any, said: str) -> None:
    message = faulty(function)
    assert said in message and "\n" not in message
    assert message.startswith(f"extension 'm' ({Path(__file__)}:")
    assert "the lowering of m.twice.default (at <text>:4:3) to loop" in message


def test_a_lowering_may_refuse() -> None:
    mine = lamina.extend("m")
    mine.ops("m::twice(Tensor self) -> Tensor")

    @mine.lowers("m.twice", to="loop")
    def refuse(op: Operation, b: LoopBuilder) -> SSAValue:
        raise b.refuse("not today", "tomorrow")

    with mine, pytest.raises(lamina.UnsupportedError, match=r"m\.twice\.default: not today"):
        lamina.compile(TWICE)


def test_an_interpreter_at_fault_is_named() -> None:
    with twice() as mine:
        mine.interprets("m.twice")(lambda op, x: x[0])
        with pytest.raises(lamina.InputError, match=r"extension 'm' .*shape \[5\], declared"):
            run_module(lamina.parse(TWICE), [X])


def test_a_rule_at_fault_is_named_and_may_refuse() -> None:
    mine = lamina.extend("m")
    mine.ops("m::twice(Tensor self) -> Tensor", "m::never(Tensor self) -> Tensor")
    mine.result_rule("m.twice")(lambda args: args["self"])

    @mine.result_rule("m.never")
    def never(args: Rule) -> list[Attribute]:
        raise ValueError("never at all")

    with mine:
        with pytest.raises(lamina.InputError, match=r"extension 'm' .* and not a list of types"):
            lamina.parse(TWICE)
        with pytest.raises(lamina.InputError, match=r"<text>:4:3: .*never at all"):
            lamina.parse(TWICE.replace("twice", "never"))


def test_names_are_checked_where_they_are_said() -> None:
    mine = twice()
    line = r"extension 'm' \(.*test_extension_faults.py:\d+\): "
    for wrong, said in (
        (lambda: mine.lowers("m.twice", to="prims")(lower), "registered twice"),
        (lambda: mine.ops("m::twice(Tensor self) -> Tensor"), "registered twice"),
        (lambda: mine.lowers("m.other"), "to= says to which layer"),
        (lambda: mine.lowers("m.other", to="llvm"), "layers to lower to are"),  # type: ignore
        (lambda: mine.lowers("prims.neg", to="core_aten")(lower), "not below"),
        (lambda: mine.lowers("neg", to="loop")(lower), "a dialect and an op"),
        (lambda: mine.lowers("m.other", to="loop")(5), "cannot be called"),  # type: ignore
        (lambda: mine.ops("m::x(Tensor"), "not a schema"),
        (lambda: mine.ops("loop::x(Tensor self) -> Tensor"), "no functions of tensors"),
        (lambda: mine.ops("m::x_(Tensor(a!) self) -> Tensor(a!)"), "writes or views"),
        (lambda: mine.imports("a b")(lower), "no namespace"),
        (lambda: lamina.extend("m", passes=[int]), "no type"),  # type: ignore
        (lambda: lamina.extend("m", targets={"x": 5}), "no Target"),  # type: ignore
        (lambda: lamina.extend("m", dialects=[Dialect("loop")]), "ops\\(\\) adds ops to it"),
    ):
        with pytest.raises(lamina.InputError, match=line + f".*{said}"):
            wrong()
    with pytest.raises(lamina.InputError, match="a name is letters"):
        lamina.extend("")
    one = twice()
    with mine, pytest.raises(lamina.InputError, match="two are active"), one:
        pass


@pytest.mark.parametrize("name", ["core_aten.tanhh", "prims.tanhh", "aten.add.Tensorr"])
def test_a_lowering_of_an_op_that_does_not_exist(name: str) -> None:
    mine = lamina.extend("m")
    mine.lowers(name, override=True)(lower)
    said = rf"extension 'm' \(.*faults\.py:\d+\): the lowering of '{name}': there is no such op; "
    with pytest.raises(lamina.InputError, match=f"{said}nearest: "), mine:
        pass


def test_an_op_without_a_lowering_names_the_extension() -> None:
    mine = lamina.extend("m")
    mine.ops("m::twice(Tensor self) -> Tensor")
    said = r"twice.default: not allowed at the aten layer.* extension 'm' \(.*\) brings it"
    with mine, pytest.raises(lamina.InputError, match=said):
        lamina.compile(TWICE)


@dataclass(frozen=True)
class Raising(ModulePass):
    """A pass that fails, or leaves an op of a layer further down."""

    name = "raising-pass"
    leaves: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.leaves:
            raise KeyError("no plan")
        for neg in [inner for inner in op.walk() if inner.name == "core_aten.neg.default"]:
            Rewriter.replace_op(neg, prims.op(self.leaves)(neg.operands[0]))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            "raising-pass",
            r"extension 'm' \(.*faults\.py:\d+\): pass 'raising-pass' raises KeyError",
        ),
        (
            "raising-pass{leaves=sin}",
            r"(?s)prims\.sin: not allowed at the core-aten layer.*"
            r"behind pass 'raising-pass' \(extension 'm' \(.*faults\.py:\d+\)\)",
        ),
    ],
)
def test_a_pass_that_raises_or_breaks_a_contract(spec: str, said: str) -> None:
    mine = lamina.extend("m", passes=[Raising])
    pipeline = lamina.Pipeline()
    with mine, pytest.raises(lamina.InputError, match=said):
        pipeline = pipeline.before("verify-core-aten", spec)
        lamina.compile(TWICE.replace("m.twice.default", "aten.relu.default"), pipeline=pipeline)
