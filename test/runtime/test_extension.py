"""`lamina.extend`: what an extension adds is used where it is active, and nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.arith import AddfOp
from xdsl.dialects.builtin import ModuleOp, TensorType, f64
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.passes import ModulePass

import lamina
from lamina.codegen.target import Target
from lamina.dialects import core_aten, prims
from lamina.dialects.loop import SpecialOp
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder
from lamina.lowering.prims_to_loop.table import LOWERINGS, Body, LoopBuilder
from lamina.runtime.interpreters import run_module

TEXT = """
func.func @main(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {{
  %0 = aten.neg.default(%x) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %1 = {op}(%0) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  func.return %1 : tensor<4x5xf32>
}}
"""
TWICE = TEXT.format(op="m.twice.default")
GELU = TEXT.format(op="aten.gelu.default")
X = np.linspace(-2, 2, 20, dtype=np.float32).reshape(4, 5)

Rule = Mapping[str, Any]


def same(args: Rule) -> list[Attribute]:
    return [args["self"]]


def times(number: int) -> Any:
    def lower(op: Operation, b: LoopBuilder) -> SSAValue:
        def body(scalars: Body, elements: list[SSAValue]) -> SSAValue:
            total = elements[0]
            for _ in range(number - 1):
                total = scalars.add(AddfOp(total, elements[0]))
            return total

        return b.pointwise(op.operands, op.operands[0].type.element_type, body)

    return lower


def twice(name: str = "m", number: int = 2) -> lamina.Extension:
    made = lamina.extend(name)
    made.ops("m::twice(Tensor self) -> Tensor")
    made.result_rule("m.twice")(same)
    made.lowers("m.twice", to="loop")(times(number))
    return made


# What is added


def test_an_op_is_compiled_and_interpreted_where_the_extension_is_active() -> None:
    with twice():
        compiled = lamina.compile(TWICE)
        (interpreted,) = run_module(lamina.parse(TWICE), [X])
    np.testing.assert_array_equal(compiled(X), -2 * X)
    np.testing.assert_array_equal(interpreted, -2 * X)
    assert len(compiled.kernels) == 1
    assert "arith.addf" in compiled.ir("loop")  # rendered as it was compiled
    for use in (lamina.parse, lamina.compile):
        with pytest.raises(lamina.InputError, match=r"m\.twice\.default is not registered"):
            use(TWICE)


def test_its_interpreter_says_what_it_means() -> None:
    with twice() as mine:
        module = lamina.parse(TWICE)
        mine.interprets("m.twice")(lambda op, x: 3 * x)
        np.testing.assert_array_equal(run_module(module, [X])[0], -3 * X)


def test_half_floats_are_interpreted_in_single_precision() -> None:
    text = TWICE.replace("f32", "bf16")
    seen: list[Any] = []
    with twice() as mine:
        mine.interprets("m.twice")(lambda op, x: seen.append(x.dtype) or x / 3)
        (result,) = run_module(lamina.parse(text), [X])
    assert seen == [np.float32] and str(result.dtype) == "bfloat16"


@pytest.mark.parametrize("to", ["core_aten", "prims"])
def test_an_op_may_go_down_at_any_edge(to: Any) -> None:
    mine = lamina.extend("m")
    mine.ops("m::twice(Tensor self) -> Tensor")
    mine.result_rule("m.twice")(same)

    @mine.lowers("m.twice", to=to)
    def lower(op: Operation, b: PrimsBuilder) -> SSAValue:
        (x,) = op.operands
        return b("add.Tensor", x, x) if to == "core_aten" else b("add", x, x)

    with mine:
        compiled = lamina.compile(TWICE)
        assert "m.twice" not in compiled.ir(to)
        (interpreted,) = run_module(lamina.parse(TWICE), [X])
    np.testing.assert_array_equal(compiled(X), -2 * X)
    np.testing.assert_array_equal(interpreted, -2 * X)


def test_an_op_of_prims_is_one_like_all_others() -> None:
    mine = lamina.extend("m")
    mine.ops("prims::thrice(Tensor self) -> Tensor")
    mine.result_rule("prims.thrice")(same)
    mine.lowers("prims.thrice")(times(3))
    with mine:
        compiled = lamina.compile(
            TEXT.format(op="prims.thrice").replace("aten.neg.default", "prims.neg")
        )
        assert "thrice" in prims.Prims.names
        np.testing.assert_array_equal(compiled(X), -3 * X)
    assert "thrice" not in prims.Prims.names
    with pytest.raises(lamina.LaminaError, match="thrice"):
        prims.op("thrice")


@irdl_op_definition
class Twice(IRDLOperation):
    """An op that is a class."""

    name = "classes.twice"
    x = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"


def test_a_dialect_of_classes() -> None:
    mine = lamina.extend("classes", dialects=[Dialect("classes", [Twice])])
    mine.lowers("classes.twice", to="loop")(times(2))
    text = TWICE.replace(
        "m.twice.default(%0) : (tensor<4x5xf32>)", "classes.twice %0 : tensor<4x5xf32>"
    )
    with mine:
        np.testing.assert_array_equal(lamina.compile(text)(X), -2 * X)
        pattern = LOWERINGS.pattern("classes.twice")
    assert pattern.names == {"classes.twice"}


def test_what_the_program_writes_before_is_what_the_op_reads() -> None:
    text = """func.func @main(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
      %0 = aten.clone.default(%x) : (tensor<4x5xf32>) -> tensor<4x5xf32>
      %1 = aten.t.default(%0) : (tensor<4x5xf32>) -> tensor<5x4xf32>
      %2 = aten.neg_.default(%1) : (tensor<5x4xf32>) -> tensor<5x4xf32>
      %3 = m.twice.default(%0) : (tensor<4x5xf32>) -> tensor<4x5xf32>
      func.return %3 : tensor<4x5xf32>
    }"""
    with twice():
        np.testing.assert_array_equal(lamina.compile(text)(X), -2 * X)


def test_a_pass_and_a_target_by_their_names() -> None:
    seen: list[str] = []

    @dataclass(frozen=True)
    class Look(ModulePass):
        name = "look-at-it"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            seen.append(op.name)

    small = replace(Target.host(), vector_bits=128)
    mine = lamina.extend("m", passes=[Look], targets={"small": small})
    with mine:
        changed = lamina.Pipeline().before("fuse-kernels", "look-at-it")
        lamina.compile(GELU, pipeline=changed, target="small")
        assert Target.parse("small") == small and "small" in Target.names()
    assert seen == ["builtin.module"]
    with pytest.raises(lamina.InputError, match="look-at-it"):
        lamina.Pipeline().before("fuse-kernels", "look-at-it")
    with pytest.raises(lamina.UnsupportedError, match="small"):
        Target.parse("small")


def test_an_extern_kernel() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = prims.extern([%x], "mine.five", "{}") : (tensor<4xf32>) -> (tensor<4xf32>)
      func.return %0 : tensor<4xf32>
    }"""
    mine = lamina.extend("m")
    mine.extern_kernel("mine.five", dtypes=["f32"])(lambda x: x * 5)
    with mine:
        compiled = lamina.compile(text)
    np.testing.assert_array_equal(compiled(X[0, :4]), X[0, :4] * 5)
    with pytest.raises(lamina.UnsupportedError, match=r"mine\.five"):
        lamina.compile(text)


# Replacing


def test_replacing_needs_leave() -> None:
    mine = lamina.extend("m")
    mine.lowers("core_aten.gelu")(lambda op, b: op.operands[0])
    with pytest.raises(lamina.InputError) as caught, mine:
        pass
    said = str(caught.value)
    assert "extension 'm'" in said and "activation" in said and "override=True" in said
    assert "\n" not in said


def test_a_replaced_lowering_is_used_and_gone_again() -> None:
    gelu = lamina.compile(GELU)(X)
    mine = lamina.extend("m")
    mine.lowers("core_aten.gelu", override=True)(lambda op, b: op.operands[0])
    with mine:
        np.testing.assert_array_equal(lamina.compile(GELU)(X), -X)
    np.testing.assert_array_equal(lamina.compile(GELU)(X), gelu)


def test_a_replaced_op_may_go_down_further_below() -> None:
    mine = lamina.extend("m")
    mine.lowers("aten.gelu", to="loop", override=True)(times(2))
    with mine:
        compiled = lamina.compile(GELU)
        assert "aten.gelu.default" in compiled.ir("prims")
    np.testing.assert_array_equal(compiled(X), -2 * X)


def test_a_replaced_rule() -> None:
    mine = lamina.extend("m")

    @mine.result_rule("aten.gelu", override=True)
    def wider(args: Rule) -> list[Attribute]:
        return [TensorType(f64, args["self"].get_shape())]

    gelu = core_aten.op("gelu.default")
    x = lamina.parse(GELU).body.block.first_op
    assert x is not None
    value = x.regions[0].block.args[0]
    with mine:
        assert str(gelu(value).results[0].type) == "tensor<4x5xf64>"
    assert str(gelu(value).results[0].type) == "tensor<4x5xf32>"


# Scopes


def test_scopes_nest_and_the_innermost_counts() -> None:
    inner = lamina.extend("inner")
    inner.lowers("m.twice", to="loop", override=True)(times(5))
    with twice():
        with inner:
            np.testing.assert_array_equal(lamina.compile(TWICE)(X), -5 * X)
        np.testing.assert_array_equal(lamina.compile(TWICE)(X), -2 * X)


def test_an_inner_scope_needs_leave() -> None:
    inner = lamina.extend("inner")
    inner.lowers("m.twice.default", to="loop")(times(5))
    with twice(), pytest.raises(lamina.InputError) as caught, inner:
        pass
    assert "extension 'inner'" in str(caught.value) and "extension 'm'" in str(caught.value)


def test_a_scope_ends_with_an_error_and_may_be_entered_again() -> None:
    mine = twice()
    for _ in range(2):
        with pytest.raises(KeyError), mine:
            lamina.parse(TWICE)
            raise KeyError
        with pytest.raises(lamina.InputError):
            lamina.parse(TWICE)
    with mine, mine:
        pass
    with pytest.raises(lamina.InputError):
        lamina.parse(TWICE)


def in_a_thread(function: Any) -> list[Any]:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function())
        except lamina.LaminaError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found


def test_a_scope_is_its_threads_and_activation_the_processes() -> None:
    mine = twice()
    with mine:
        assert isinstance(in_a_thread(lambda: lamina.parse(TWICE))[0], lamina.InputError)
    assert mine.activate() is mine.activate()
    try:
        assert isinstance(in_a_thread(lambda: lamina.parse(TWICE))[0], ModuleOp)
        with mine:
            lamina.parse(TWICE)
        lamina.parse(TWICE)
    finally:
        mine.deactivate()
    assert isinstance(in_a_thread(lambda: lamina.parse(TWICE))[0], lamina.InputError)


def test_two_threads_have_their_own() -> None:
    both = threading.Barrier(2)

    def compiled(number: int) -> Any:
        with twice(number=number):
            both.wait()
            made = lamina.compile(TWICE)(X)
            both.wait()
        return made

    found: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda n=n: found.__setitem__(n, compiled(n))) for n in (2, 3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in (2, 3):
        np.testing.assert_array_equal(found[number], -number * X)


# Vector functions


def softsign(name: str = "softsign", **options: Any) -> lamina.Extension:
    made = twice()
    made.entries.pop(("lowering", "m.twice"))

    @made.vector_function(name, **options)
    def function(b: Any, x: Any) -> Any:
        return x / (b.abs(x) + 1.0)

    @made.lowers("m.twice", to="loop")
    def lower(op: Operation, b: LoopBuilder) -> SSAValue:
        element = op.operands[0].type.element_type
        return b.pointwise(op.operands, element, lambda s, x: s.add(SpecialOp(name, [x[0]])))

    return made


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_a_vector_function(kind: str) -> None:
    x = np.linspace(-2, 2, 20, dtype=kind.replace("f", "float")).reshape(4, 5)
    with softsign():
        module = lamina.parse(TWICE.replace("f32", kind))
        compiled = lamina.compile(module)
        (interpreted,) = run_module(module, [x])
        text = compiled.ir("loop")
        assert 'loop.special "softsign"' in text
        lamina.parse(text)
    np.testing.assert_allclose(compiled(x), -x / (1 + abs(x)), rtol=1e-6)
    np.testing.assert_allclose(interpreted, -x / (1 + abs(x)), rtol=1e-6)
    with pytest.raises(lamina.InputError, match='has no function "softsign"'):
        lamina.parse(text)


def test_a_vector_function_in_the_place_of_one_of_ours() -> None:
    with pytest.raises(lamina.InputError, match="override=True"), softsign("digamma"):
        pass
    text = TEXT.format(op="aten.digamma.default")
    before = lamina.compile(text)(X)
    with softsign("digamma", override=True):
        np.testing.assert_allclose(lamina.compile(text)(X), -X / (1 + abs(X)), rtol=1e-6)
    np.testing.assert_array_equal(lamina.compile(text)(X), before)


def test_a_vector_function_at_fault_is_named() -> None:
    mine = softsign()
    mine.entries.pop(("vector function", "softsign"))
    mine.vector_function("softsign")(lambda b, x: x < 1.0)
    with mine, pytest.raises(lamina.InputError, match=r"extension 'm' .*gives .*i1"):
        lamina.compile(TWICE)
    with pytest.raises(lamina.InputError, match="a builder and 1 or 2 values"):
        mine.vector_function("other")(lambda b: b)
