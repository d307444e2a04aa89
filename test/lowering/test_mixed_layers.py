"""Programs whose ops stand at several layers, and contracts that let others pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

import lamina
from lamina.dialects import core_aten, prims
from lamina.dialects.errors import InputError
from lamina.lowering.pipeline import LAYERS, run_pipeline
from lamina.runtime.interpreters import run_module

MIXED = """func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = aten.silu.default(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %t = aten.t.default(%0) : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %1 = loop.generic (i, j) in [2, 4] reads(%t[j, i] : tensor<4x2xf32>)
      writes([i, j] store : tensor<2x4xf32>) {
  ^bb0(%a: f32):
    %s = math.sin %a : f32
    %v = arith.mulf %s, %a : f32
    loop.yield %v : f32
  }
  %2 = aten.add_.Scalar(%1, 1.0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = aten.mul_.Tensor(%0, %2) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = loop.generic (i, j) in [2, 4] reads(%t[j, i] : tensor<4x2xf32>)
      writes([i, j] store : tensor<2x4xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %1, %4 : tensor<2x4xf32>, tensor<2x4xf32>
}"""
KEEP = "convert-aten-to-core-aten{keep=silu.default}"
PROGRAM = """func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = aten.silu.default(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = aten.gelu.default(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}"""


def test_nests_stand_beside_aten_ops_views_and_writes() -> None:
    x = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)
    silu = x / (1 + np.exp(-x))
    first = silu * np.sin(silu) + 1
    compiled = lamina.compile(MIXED, cache=False)
    made = {layer: run_module(lamina.parse(compiled.ir(layer)), [x]) for layer in LAYERS}
    for where, results in {"native": compiled(x), **made}.items():
        np.testing.assert_allclose(results[0], first, rtol=1e-5, err_msg=where)
        np.testing.assert_allclose(results[1], silu * first, rtol=1e-5, err_msg=where)


LOWER = """func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x4xf16>)
    -> (tensor<4x2xf32>, tensor<2x4xf16>) {
  %0 = aten.silu.default(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = prims.exp(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = core_aten.permute.default(%1, [1, 0]) : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %3 = aten.add_.Scalar(%1, 1.0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = prims.transpose(%1, [1, 0]) : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %5 = aten.sub_.Tensor(%4, %2) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %6 = prims.tanh(%y) : (tensor<2x4xf16>) -> tensor<2x4xf16>
  %7 = core_aten.gelu.default(%6) : (tensor<2x4xf16>) -> tensor<2x4xf16>
  func.return %5, %7 : tensor<4x2xf32>, tensor<2x4xf16>
}"""


def test_ops_of_lower_layers_stand_beside_aten_ops_and_writes() -> None:
    x = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)
    y = x.astype(np.float16)
    compiled = lamina.compile(LOWER, cache=False)
    made = {layer: run_module(lamina.parse(compiled.ir(layer)), [x, y]) for layer in LAYERS}
    for where, (one, other) in {"native": compiled(x, y), **made}.items():
        np.testing.assert_allclose(one, np.ones((4, 2)), rtol=1e-5, err_msg=where)
        # Two units of f16: native code rounds both ops once.
        np.testing.assert_allclose(other, compiled(x, y)[1], rtol=2e-3, err_msg=where)


@pytest.mark.parametrize("stays", ["", "attributes {no_inline}"])
def test_a_called_function_may_be_of_a_lower_layer(stays: str) -> None:
    text = f"""
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %0 = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = aten.add.Tensor(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }}
    func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {stays} {{
      %0 = prims.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }}"""
    x = np.linspace(-1, 1, 4, dtype=np.float32)
    np.testing.assert_allclose(lamina.compile(text)(x), np.exp(x) + x, rtol=1e-6)


@pytest.mark.parametrize("op", ["prims.exp", "core_aten.exp.default"])
def test_what_a_pass_makes_too_low_is_refused_still(op: str) -> None:
    dialect, _, name = op.partition(".")
    made = {"prims": prims, "core_aten": core_aten}[dialect]

    @dataclass(frozen=True)
    class TooLow(ModulePass):
        name = "too-low"

        def apply(self, ctx: Context, module: ModuleOp) -> None:
            for silu in [op for op in module.walk() if op.name == "aten.silu.default"]:
                Rewriter.replace_op(silu, made.op(name)(silu.operands[0]))

    pipeline = lamina.Pipeline().before("verify-functional", TooLow())
    said = rf"{op}: not allowed at the functional layer.*\n  behind pass 'too-low' \(.*TooLow\)"
    with pytest.raises(InputError, match=said):
        lamina.compile(PROGRAM, pipeline=pipeline)


def test_what_keep_keeps_passes_the_contracts_below() -> None:
    module = lamina.parse(PROGRAM)
    pipeline = lamina.Pipeline().replace("convert-aten-to-core-aten", KEEP)
    pipeline.run(module, stop="prims")
    text = str(module)
    assert 'lamina.allow = ["aten.silu.default"]' in text
    assert "aten.silu.default" in text and "aten.gelu" not in text
    again = lamina.parse(text)
    run_pipeline(again, ["verify-prims"], lamina.Context())
    with pytest.raises(InputError, match=r"aten.silu.default: is not an op of the loop layer"):
        pipeline.run(again, start="prims", stop="loop")


@pytest.mark.parametrize("allow", ["aten.*", "aten.silu.default,aten.gelu.default"])
def test_contracts_are_widened(allow: str) -> None:
    names = ",".join(f'"{name}"' for name in allow.split(","))
    for layer in ("aten", "functional", "core-aten", "prims"):
        run_pipeline(lamina.parse(PROGRAM), [f"verify-{layer}{{allow={names}}}"], lamina.Context())


def test_what_is_not_named_is_refused_still() -> None:
    passes = ['verify-prims{allow="aten.silu.*"}']
    with pytest.raises(InputError, match=r"aten.gelu.default: not allowed at the prims layer"):
        run_pipeline(lamina.parse(PROGRAM), passes, lamina.Context())


def test_an_attribute_of_another_kind() -> None:
    text = f"builtin.module attributes {{lamina.allow = 3 : i64}} {{\n{PROGRAM}\n}}"
    with pytest.raises(InputError, match=r"lamina.allow is 3 : i64, not names of ops"):
        lamina.compile(text)
