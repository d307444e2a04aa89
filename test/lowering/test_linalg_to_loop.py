"""Programs of MLIR's linalg, as other compilers print them, against NumPy."""

# ruff: noqa: E501 - texts as MLIR prints them

from __future__ import annotations

import numpy as np
import pytest
from linalg_programs import UNITS, Array, run, sample

import lamina

PERCEPTRON = """
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module attributes {torch.debug_module_name = "Layer"} {
  func.func @main(%arg0: tensor<7x13xf32>, %arg1: tensor<13x5xf32>, %arg2: tensor<5xf32>) -> tensor<7x5xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<7x5xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<7x5xf32>) -> tensor<7x5xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<7x13xf32>, tensor<13x5xf32>) outs(%1 : tensor<7x5xf32>) -> tensor<7x5xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%2, %arg2 : tensor<7x5xf32>, tensor<5xf32>) outs(%0 : tensor<7x5xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %5 = arith.addf %in, %in_0 : f32
      linalg.yield %5 : f32
    } -> tensor<7x5xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%3 : tensor<7x5xf32>) outs(%0 : tensor<7x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %5 = arith.cmpf ugt, %in, %cst : f32
      %6 = arith.select %5, %in, %cst : f32
      linalg.yield %6 : f32
    } -> tensor<7x5xf32>
    return %4 : tensor<7x5xf32>
  }
}
"""


def test_perceptron() -> None:
    x, w, b = sample("f32", 7, 13), sample("f32", 13, 5), sample("f32", 5)
    np.testing.assert_allclose(run(PERCEPTRON, x, w, b), np.maximum(x @ w + b, 0), rtol=1e-5)


SOFTMAX = """
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0, 0)>
module {
  func.func @main(%x: tensor<5x9xf32>) -> tensor<5x9xf32> {
    %ninf = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %c0_i64 = arith.constant 0 : i64
    %e = tensor.empty() : tensor<5x1xf32>
    %f = tensor.empty() : tensor<5x9xf32>
    %0 = linalg.fill ins(%ninf : f32) outs(%e : tensor<5x1xf32>) -> tensor<5x1xf32>
    %pi = tensor.empty() : tensor<5x1xi64>
    %p = linalg.fill ins(%c0_i64 : i64) outs(%pi : tensor<5x1xi64>) -> tensor<5x1xi64>
    %1:2 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x9xf32>) outs(%0, %p : tensor<5x1xf32>, tensor<5x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_1: i64):
      %9 = linalg.index 1 : index
      %10 = arith.index_cast %9 : index to i64
      %11 = arith.maximumf %in, %out : f32
      %12 = arith.cmpf ogt, %in, %out : f32
      %13 = arith.select %12, %10, %out_1 : i64
      linalg.yield %11, %13 : f32, i64
    } -> (tensor<5x1xf32>, tensor<5x1xi64>)
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%x, %1#0 : tensor<5x9xf32>, tensor<5x1xf32>) outs(%f : tensor<5x9xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %9 = arith.subf %in, %in_1 : f32
      %10 = math.exp %9 : f32
      linalg.yield %10 : f32
    } -> tensor<5x9xf32>
    %3 = linalg.fill ins(%zero : f32) outs(%e : tensor<5x1xf32>) -> tensor<5x1xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%2 : tensor<5x9xf32>) outs(%3 : tensor<5x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %9 = arith.addf %in, %out : f32
      linalg.yield %9 : f32
    } -> tensor<5x1xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%2, %4 : tensor<5x9xf32>, tensor<5x1xf32>) outs(%f : tensor<5x9xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %9 = arith.divf %in, %in_1 : f32
      linalg.yield %9 : f32
    } -> tensor<5x9xf32>
    return %5 : tensor<5x9xf32>
  }
}
"""


def softmax(x: Array, axis: int = -1) -> Array:
    """Along one dimension."""
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def test_softmax_as_generics() -> None:
    x = sample("f32", 5, 9)
    np.testing.assert_allclose(run(SOFTMAX, x), softmax(x), rtol=2e-6)


def test_named_ops_with_own_syntax() -> None:
    text = """
    func.func @main(%x: tensor<4x5xf32>, %v: tensor<5xf32>) -> (tensor<5x4xf32>, tensor<4x5xf32>, tensor<4xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4xf32>) {
      %e = tensor.empty() : tensor<5x4xf32>
      %f = tensor.empty() : tensor<4x5xf32>
      %one = arith.constant dense<1.0> : tensor<4xf32>
      %t = linalg.transpose ins(%x : tensor<4x5xf32>) outs(%e : tensor<5x4xf32>) permutation = [1, 0]
      %b = linalg.broadcast ins(%v : tensor<5xf32>) outs(%f : tensor<4x5xf32>) dimensions = [0]
      %r = linalg.reduce { arith.addf } ins(%x : tensor<4x5xf32>) outs(%one : tensor<4xf32>) dimensions = [1]
      %m = linalg.map { arith.mulf } ins(%x, %b : tensor<4x5xf32>, tensor<4x5xf32>) outs(%f : tensor<4x5xf32>)
      %s = linalg.softmax dimension(1) ins(%x : tensor<4x5xf32>) outs(%f : tensor<4x5xf32>) -> tensor<4x5xf32>
      %q = linalg.reduce ins(%x : tensor<4x5xf32>) outs(%one : tensor<4xf32>) dimensions = [1]
        (%in: f32, %init: f32) {
          %0 = arith.mulf %in, %in : f32
          %1 = arith.subf %init, %0 : f32
          linalg.yield %1 : f32
        }
      return %t, %b, %r, %m, %s, %q : tensor<5x4xf32>, tensor<4x5xf32>, tensor<4xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4xf32>
    }"""
    x, v = sample("f32", 4, 5), sample("f32", 5)
    wide = np.broadcast_to(v, (4, 5))
    wanted = (x.T, wide, x.sum(1) + 1, x * wide, softmax(x), 1 - (x * x).sum(1))
    for made, expected in zip(run(text, x, v), wanted, strict=True):
        np.testing.assert_allclose(made, expected, rtol=3e-6)


@pytest.mark.parametrize("op", ["maxnumf", "minnumf", "maximumf", "minimumf", "mulf", "addf"])
@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_reductions_and_what_was_there(op: str, kind: str) -> None:
    import torch

    text = f"""
    func.func @main(%x: tensor<6x5x{kind}>, %y: tensor<5x{kind}>) -> tensor<5x{kind}> {{
      %r = linalg.reduce {{ arith.{op} }} ins(%x : tensor<6x5x{kind}>) outs(%y : tensor<5x{kind}>) dimensions = [0]
      return %r : tensor<5x{kind}>
    }}"""
    x, y = sample("f32", 6, 5), sample("f32", 5, seed=3)
    if "num" in op:
        x[2, 1] = y[3] = np.nan
    kinds = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    given = [torch.from_numpy(a).to(kinds[kind]) for a in (x, y)]
    made = lamina.compile(text)(*given).to(torch.float32).numpy()
    rows = np.concatenate([given[1][None].float().numpy(), given[0].float().numpy()])
    functions = {"maxnumf": np.fmax, "minnumf": np.fmin, "maximumf": np.maximum}
    functions |= {"minimumf": np.minimum, "mulf": np.multiply, "addf": np.add}
    wanted = functions[op].reduce(rows, axis=0)
    units = 8 if kind == "f32" else 1  # seven terms in another order; halves are rounded once
    np.testing.assert_allclose(made, wanted, rtol=units * UNITS[kind])


@pytest.mark.parametrize("kind", ["i8", "i32", "i64"])
def test_reductions_of_integers(kind: str) -> None:
    ops = {
        "maxsi": np.maximum,
        "minsi": np.minimum,
        "addi": np.add,
        "andi": np.bitwise_and,
        "ori": np.bitwise_or,
        "xori": np.bitwise_xor,
    }
    x, y = sample(kind, 6, 5), sample(kind, 5)
    rows = np.concatenate([y[None], x])
    for op, function in ops.items():
        text = f"""
        func.func @main(%x: tensor<6x5x{kind}>, %y: tensor<5x{kind}>) -> tensor<5x{kind}> {{
          %r = linalg.reduce {{ arith.{op} }} ins(%x : tensor<6x5x{kind}>) outs(%y : tensor<5x{kind}>) dimensions = [0]
          return %r : tensor<5x{kind}>
        }}"""
        np.testing.assert_array_equal(
            run(text, x, y), function.reduce(rows, axis=0, dtype=rows.dtype)
        )
    unsigned = rows.view(f"u{rows.dtype.name}")
    text = text.replace("xori", "maxui")
    np.testing.assert_array_equal(run(text, x, y), unsigned.max(0).view(rows.dtype))


SHAPES = """
func.func @main(%x: tensor<6x8xf32>, %y: tensor<2x3xf32>, %i: tensor<i64>, %s: f32) -> (tensor<3x2xf32>, tensor<6x8xf32>, tensor<9x12xf32>, tensor<48xf32>, tensor<2x3x8xf32>, tensor<12x8xf32>, tensor<3xf32>, tensor<2x2xf32>, tensor<4x8xf32>, f32, tensor<8x10xf32>, tensor<5xf32>) {
  %zero = arith.constant 7.0 : f32
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = tensor.extract_slice %x[1, 2] [3, 2] [2, 3] : tensor<6x8xf32> to tensor<3x2xf32>
  %b = tensor.insert_slice %y into %x[1, 2] [2, 3] [2, 2] : tensor<2x3xf32> into tensor<6x8xf32>
  %c = tensor.pad %x low[1, 3] high[2, 1] {
  ^bb0(%p: index, %q: index):
    tensor.yield %zero : f32
  } : tensor<6x8xf32> to tensor<9x12xf32>
  %d = tensor.collapse_shape %x [[0, 1]] : tensor<6x8xf32> into tensor<48xf32>
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 3, 8] : tensor<6x8xf32> into tensor<2x3x8xf32>
  %f = tensor.concat dim(0) %x, %x : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<12x8xf32>
  %g = tensor.extract_slice %y[1, 0] [1, 3] [1, 1] : tensor<2x3xf32> to tensor<3xf32>
  %h = tensor.from_elements %s, %zero, %zero, %s : tensor<2x2xf32>
  %n = tensor.extract %i[] : tensor<i64>
  %o = arith.index_cast %n : i64 to index
  %o1 = arith.addi %o, %c1 : index
  %j = tensor.extract_slice %x[%o1, 0] [4, 8] [1, 1] : tensor<6x8xf32> to tensor<4x8xf32>
  %v = tensor.extract %x[%o, %c2] : tensor<6x8xf32>
  %w = arith.mulf %v, %s : f32
  %k = tensor.pad %x low[%c1, 0] high[1, 2] {
  ^bb0(%p: index, %q: index):
    tensor.yield %s : f32
  } : tensor<6x8xf32> to tensor<?x10xf32>
  %k1 = tensor.cast %k : tensor<?x10xf32> to tensor<8x10xf32>
  %l = tensor.generate {
  ^bb0(%p: index):
    %z = tensor.extract %x[%p, %c1] : tensor<6x8xf32>
    %z1 = arith.addf %z, %s : f32
    tensor.yield %z1 : f32
  } : tensor<5xf32>
  return %a, %b, %c, %d, %e, %f, %g, %h, %j, %w, %k1, %l : tensor<3x2xf32>, tensor<6x8xf32>, tensor<9x12xf32>, tensor<48xf32>, tensor<2x3x8xf32>, tensor<12x8xf32>, tensor<3xf32>, tensor<2x2xf32>, tensor<4x8xf32>, f32, tensor<8x10xf32>, tensor<5xf32>
}
"""


def test_shapes_and_slices() -> None:
    text = SHAPES.replace("low[%c1, 0]", "low[1, 0]").replace("?x10", "8x10")
    x, y = sample("f32", 6, 8), sample("f32", 2, 3)
    inserted = x.copy()
    inserted[1:5:2, 2:8:2] = y
    wanted = (
        x[1:6:2, 2:8:3],
        inserted,
        np.pad(x, ((1, 2), (3, 1)), constant_values=7),
        x.reshape(48),
        x.reshape(2, 3, 8),
        np.concatenate([x, x]),
        y[1],
        np.array([[2.5, 7], [7, 2.5]], "f"),
        x[2:6],
        x[1, 2] * np.float32(2.5),
        np.pad(x, ((1, 1), (0, 2)), constant_values=2.5),
        x[:5, 1] + np.float32(2.5),
    )
    made = run(text, x, y, np.array(1), 2.5)
    for got, expected in zip(made, wanted, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_elementwise_ops_on_tensors() -> None:
    text = """
    func.func @main(%x: tensor<3x4xf32>, %i: tensor<4xi32>, %k: i32) -> (tensor<3x4xf32>, tensor<4xi32>) {
      %c = arith.constant dense<[[0.5, 1.0, -1.0, 2.0], [0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]]> : tensor<3x4xf32>
      %half = arith.constant dense<0.5> : tensor<3x4xf32>
      %0 = arith.mulf %x, %c fastmath<contract> : tensor<3x4xf32>
      %1 = math.tanh %0 : tensor<3x4xf32>
      %2 = arith.cmpf olt, %1, %half : tensor<3x4xf32>
      %3 = arith.select %2, %x, %half : tensor<3x4xi1>, tensor<3x4xf32>
      %n = tensor.splat %k : tensor<4xi32>
      %4 = arith.shli %i, %n : tensor<4xi32>
      return %3, %4 : tensor<3x4xf32>, tensor<4xi32>
    }"""
    x, i = sample("f32", 3, 4), sample("i32", 4)
    c = np.array([[0.5, 1, -1, 2], [0] * 4, [1, 2, 3, 4]], "f")
    first, second = run(text, x, i, 2)
    np.testing.assert_array_equal(first, np.where(np.tanh(x * c) < 0.5, x, np.float32(0.5)))
    np.testing.assert_array_equal(second, i << 2)


def test_gathers_and_calls() -> None:
    text = """
    #map = affine_map<(d0, d1) -> (d0)>
    #map1 = affine_map<(d0, d1) -> (d0, d1)>
    func.func @main(%table: tensor<9x4xf32>, %rows: tensor<5xi64>) -> tensor<5x4xf32> {
      %r = call @take(%table, %rows) : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
      return %r : tensor<5x4xf32>
    }
    func.func private @take(%table: tensor<9x4xf32>, %rows: tensor<5xi64>) -> tensor<5x4xf32> {
      %e = tensor.empty() : tensor<5x4xf32>
      %r = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%rows : tensor<5xi64>) outs(%e : tensor<5x4xf32>) {
      ^bb0(%in: i64, %out: f32):
        %0 = arith.index_cast %in : i64 to index
        %1 = linalg.index 1 : index
        %2 = tensor.extract %table[%0, %1] : tensor<9x4xf32>
        linalg.yield %2 : f32
      } -> tensor<5x4xf32>
      return %r : tensor<5x4xf32>
    }"""
    table, rows = sample("f32", 9, 4), np.array([3, 0, 8, 8, 1])
    np.testing.assert_array_equal(run(text, table, rows), table[rows])
    with pytest.raises(lamina.LaminaError):
        run(text, table, np.array([3, 0, 9, 8, 1]))


def test_reduction_in_order() -> None:
    """A body that is no combiner runs point by point, over several dimensions."""
    text = """
    #map = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d1)>
    func.func @main(%x: tensor<3x4x5xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
      %r = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel", "reduction"]} ins(%x : tensor<3x4x5xf64>) outs(%y : tensor<3xf64>) {
      ^bb0(%in: f64, %out: f64):
        %i = linalg.index 0 : index
        %j = linalg.index 2 : index
        %k = arith.addi %i, %j : index
        %n = arith.index_cast %k : index to i64
        %f = arith.sitofp %n : i64 to f64
        %h = arith.constant 0.5 : f64
        %0 = arith.mulf %out, %h : f64
        %1 = arith.mulf %in, %f : f64
        %2 = arith.addf %0, %1 : f64
        linalg.yield %2 : f64
      } -> tensor<3xf64>
      return %r : tensor<3xf64>
    }"""
    x, y = sample("f64", 3, 4, 5), sample("f64", 3)
    wanted = y.copy()
    for i, k in np.ndindex(4, 5):
        wanted = wanted * 0.5 + x[:, i, k] * (i + k)
    np.testing.assert_allclose(run(text, x, y), wanted, rtol=1e-13)


def test_interpreter_runs_linalg() -> None:
    x, w, b = sample("f32", 7, 13), sample("f32", 13, 5), sample("f32", 5)
    from lamina.runtime.interpreters import run_module

    (made,) = run_module(lamina.parse(PERCEPTRON), [x, w, b])
    np.testing.assert_allclose(made, np.maximum(x @ w + b, 0), rtol=1e-5)


def test_layers() -> None:
    compiled = lamina.compile(PERCEPTRON)
    assert "linalg.matmul" in compiled.ir("linalg")
    assert "loop.generic" in compiled.ir("loop")
    with pytest.raises(lamina.InputError, match="came in at layer linalg"):
        compiled.ir("prims")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "tensor<7x13xf32>",
            "tensor<?x13xf32>",
            "dynamic dimensions, which are not compiled at linalg",
        ),
        ("linalg.matmul", "linalg.matmull", "nearest: linalg.matmul"),
        ("arith.addf %in, %in_0 : f32", "math.fma %in, %in_0, %in : f32", None),
        ("tensor<13x5xf32>", "tensor<12x5xf32>", "is 13 long for one operand, 12 for another"),
        ("linalg.matmul", "linalg.matmul {strides = 3 : i64}", "Unexpected attribute 3 : i64"),
    ],
)
def test_refusals(old: str, new: str, said: str | None) -> None:
    text = PERCEPTRON.replace(old, new)
    if said is None:
        lamina.compile(text)
        return
    with pytest.raises((lamina.InputError, lamina.UnsupportedError), match=said) as caught:
        lamina.compile(text)
    assert "<text>:" in str(caught.value) or "arg0" in str(caught.value)
