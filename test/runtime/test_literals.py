"""Tensors that a program writes out, at each tensor layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.runtime.interpreters import run_module
from lamina.tools.lamina_run import main as lamina_run

TEXT = """
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = arith.constant dense<2.0> : tensor<2x2xf32>
  %0 = aten.add.Tensor(%x, %c) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = aten.mul.Tensor(%0, %s) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}
"""
X = np.linspace(-1, 1, 4, dtype=np.float32).reshape(2, 2)
WANTED = (X + np.array([[1, 2], [3, 4]], np.float32)) * 2


def test_at_each_layer() -> None:
    compiled = lamina.compile(TEXT)
    np.testing.assert_allclose(compiled(X), WANTED, rtol=1e-6)
    assert len(compiled.kernels) == 1 and len(compiled.inputs) == 1
    for layer in ("functional", "core_aten", "prims", "loop", "fused", "bufferized", "scheduled"):
        text = compiled.ir(layer)
        np.testing.assert_allclose(run_module(lamina.parse(text), [X])[0], WANTED, rtol=1e-6)
        again = lamina.compile(text)
        np.testing.assert_allclose(again(X), WANTED, rtol=1e-6)
        assert len(again.inputs) == 1


def test_nests_read_literals() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %0 = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xf32>, %c[d0] : tensor<4xf32>)
        writes([d0] store : tensor<4xf32>) {
      ^bb0(%a: f32, %b: f32):
        %1 = arith.addf %a, %b : f32
        loop.yield %1 : f32
      }
      func.return %0 : tensor<4xf32>
    }"""
    x = X.reshape(4)
    np.testing.assert_array_equal(lamina.compile(text)(x), x + np.arange(1, 5, dtype=np.float32))
    assert lamina.compile(text.replace("[1.0, 2.0, 3.0, 4.0]", "2.0"))(x)[0] == x[0] + 2


RESOURCE = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c = arith.constant dense_resource<w> : tensor<3xf32>
  %0 = aten.add.Tensor(%x, %c) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
{-#
  dialect_resources: {
    builtin: {
      w: "0x04000000DATA"
    }
  }
#-}
"""


@pytest.mark.parametrize("values", [[1, 2, 3], [4, 4, 4], [0.5, -1, 7]])
def test_resources(values: list[float]) -> None:
    array = np.array(values, np.float32)
    text = RESOURCE.replace("DATA", array.tobytes().hex().upper())
    x = X.reshape(4)[:3].copy()
    np.testing.assert_array_equal(lamina.compile(text)(x), x + array)


@pytest.mark.parametrize("data", ["", "0000", "0000000000000000000000000000000000000000", "XY"])
def test_a_resource_that_is_no_tensor(data: str) -> None:
    with pytest.raises(lamina.InputError, match=r"resource|[Bb]lob"):
        lamina.compile(RESOURCE.replace("DATA", data))


@pytest.mark.parametrize(
    ("element", "values"),
    [
        ("i64", "1, -2, 9007199254740993"),
        ("i32", "1, -2, 3"),
        ("i8", "1, -2, 3"),
        ("i1", "true, false, true"),
        ("f64", "0.1, 2.0, 3.0"),
        ("f16", "0.5, 2.0, 3.0"),
        ("bf16", "0.5, 2.0, 3.0"),
        ("complex<f32>", "(0.5, 1.0), (2.0, 0.0), (3.0, -1.0)"),
    ],
)
@pytest.mark.parametrize("splat", [False, True])
def test_element_types(element: str, values: str, splat: bool) -> None:
    literal = values.split(", ")[0] if element[0] != "c" else "(0.5, 1.0)"
    shown = literal if splat else f"[{values}]"
    text = f"""
    func.func @main() -> tensor<3x{element}> {{
      %c = arith.constant dense<{shown}> : tensor<3x{element}>
      %0 = aten.clone.default(%c) : (tensor<3x{element}>) -> tensor<3x{element}>
      func.return %0 : tensor<3x{element}>
    }}"""
    (expected,) = run_module(lamina.parse(text), [])
    compiled = lamina.compile(text)()
    assert compiled.dtype == expected.dtype
    np.testing.assert_array_equal(compiled, expected)


def test_a_literal_that_is_written_is_new_in_each_call() -> None:
    text = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %0 = aten.add_.Tensor(%c, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %c : tensor<2xf32>
    }"""
    compiled = lamina.compile(text)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(np.ones(2, np.float32)), [2, 3])


def test_weights_that_are_literals_are_packed_once() -> None:
    w = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    shown = "[" + ", ".join(str(row.tolist()) for row in w) + "]"
    text = f"""
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {{
      %w = arith.constant dense<{shown}> : tensor<64x64xf32>
      %0 = aten.mm.default(%x, %w) : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
      func.return %0 : tensor<8x64xf32>
    }}"""
    x = np.ones((8, 64), np.float32)
    compiled = lamina.compile(text)
    np.testing.assert_allclose(compiled(x), x @ w, rtol=1e-4, atol=1e-4)
    assert "@setup" in compiled.ir("fused")
    np.testing.assert_allclose(lamina.compile(compiled.ir("fused"))(x), x @ w, rtol=1e-4, atol=1e-4)


def test_other_values_may_be_bound() -> None:
    text = lamina.compile(TEXT).ir("loop")
    other = np.zeros((2, 2), np.float32)
    compiled = lamina.compile(text, constants={"literal0": other})
    np.testing.assert_allclose(compiled(X), X * 2, rtol=1e-6)


def test_a_literal_in_a_region() -> None:
    text = """
    func.func @main(%p: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = control.cond if(%p) with(%x) : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> then {
      ^bb0(%a: tensor<2xf32>):
        %c = arith.constant dense<LITERAL> : tensor<2xf32>
        %n = aten.add.Tensor(%a, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        control.yield %n : tensor<2xf32>
      } else {
      ^bb0(%a: tensor<2xf32>):
        control.yield %a : tensor<2xf32>
      }
      func.return %0 : tensor<2xf32>
    }"""
    x = np.ones(2, np.float32)
    made: Any = lamina.compile(text.replace("LITERAL", "3.0"))(np.array(True), x)
    np.testing.assert_array_equal(made, [4, 4])
    compiled = lamina.compile(text.replace("LITERAL", "[1.0, 2.0]"))
    made = compiled(np.array(True), x), compiled(np.array(False), x)
    np.testing.assert_array_equal(made, [[2, 3], [1, 1]])
    again: Any = lamina.compile(compiled.ir("prims"))(np.array(True), x)
    np.testing.assert_array_equal(again, [2, 3])


NESTED = """
func.func @main(%n: tensor<i64>, %xs: tensor<4x3xf32>, %p: tensor<i1>) -> tensor<4x3xf32> {
  %r:2 = control.while from(%n, %xs) with(%p)
      : (tensor<i64>, tensor<4x3xf32>, tensor<i1>) -> (tensor<i64>, tensor<4x3xf32>) test {
  ^bb0(%i: tensor<i64>, %a: tensor<4x3xf32>, %q: tensor<i1>):
    %limits = arith.constant dense<[3, 4]> : tensor<2xi64>
    %limit = aten.select.int(%limits, 0, 0) : (tensor<2xi64>) -> tensor<i64>
    %t = aten.lt.Tensor(%i, %limit) : (tensor<i64>, tensor<i64>) -> tensor<i1>
    control.yield %t : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %a: tensor<4x3xf32>, %q: tensor<i1>):
    %m = aten.add.Scalar(%i, other = 1) : (tensor<i64>) -> tensor<i64>
    %s = control.cond if(%q) with(%a) : (tensor<i1>, tensor<4x3xf32>) -> tensor<4x3xf32> then {
    ^bb0(%u: tensor<4x3xf32>):
      %w = control.scan over(%u) : (tensor<4x3xf32>) -> tensor<4x3xf32> do {
      ^bb0(%row: tensor<3xf32>):
        %c = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
        %sum = aten.add.Tensor(%row, %c) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        control.yield %sum : tensor<3xf32>
      }
      control.yield %w : tensor<4x3xf32>
    } else {
    ^bb0(%u: tensor<4x3xf32>):
      %d = arith.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf32>
      %w = aten.mul.Tensor(%u, %d) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
      control.yield %w : tensor<4x3xf32>
    }
    control.yield %m, %s : tensor<i64>, tensor<4x3xf32>
  }
  func.return %r#1 : tensor<4x3xf32>
}
"""


def test_literals_in_regions_of_regions() -> None:
    module = lamina.parse(NESTED)
    compiled = lamina.compile(module)
    xs = np.arange(12, dtype=np.float32).reshape(4, 3)
    rows = np.array([1, 2, 3], np.float32)
    for begin, chosen, expected in (
        (0, True, xs + 3 * rows),
        (1, False, xs * (10 * rows) ** 2),
        (3, True, xs),
    ):
        given = [np.array(begin), xs, np.array(chosen)]
        np.testing.assert_array_equal(compiled(*given), expected)
        np.testing.assert_array_equal(run_module(module, given)[0], expected)
        loops = lamina.parse(compiled.ir("loop"))
        np.testing.assert_array_equal(lamina.compile(loops)(*given), expected)


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        ("dense<1.0> : tensor<3xf32>", "constant", "no literal of tensor<2xf32>"),
        ("5 : i32", "constant", "no literal of tensor<2xf32>"),
        ("dense<1.0> : tensor<2xf32>", "input", "of kind input it cannot have lamina.value"),
    ],
)
def test_values_of_arguments_are_checked(value: str, kind: str, said: str) -> None:
    text = f"""
    func.func @main(%x: tensor<2xf32> {{lamina.kind = "{kind}", lamina.value = {value}}})
        -> tensor<2xf32> {{
      %0 = aten.neg.default(%x) : (tensor<2xf32>) -> tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }}"""
    with pytest.raises(lamina.InputError, match=said):
        lamina.compile(text)


def test_lamina_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for layer in ("aten", "loop", "scheduled"):
        file = tmp_path / f"{layer}.mlir"
        file.write_text(TEXT if layer == "aten" else lamina.compile(TEXT).ir(layer))
        assert lamina_run([str(file), "--check"]) == 0, capsys.readouterr().err
