"""Loops and branches of `scf` on tensors and numbers, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import lamina

LOOP = """
func.func @main(%x: tensor<4xf32>, %n: index, %k: f32) -> (tensor<4xf32>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %s = %k) -> (tensor<4xf32>, f32) {
    %w = arith.index_cast %i : index to i32
    %f = arith.sitofp %w : i32 to f32
    %t = tensor.splat %f : tensor<4xf32>
    %b = arith.addf %a, %t : tensor<4xf32>
    %s1 = arith.addf %s, %one : f32
    %y = arith.mulf %b, %x : tensor<4xf32>
    scf.yield %y, %s1 : tensor<4xf32>, f32
  }
  return %r#0, %r#1 : tensor<4xf32>, f32
}"""

BRANCH = """
func.func @main(%x: tensor<4xf32>, %k: f32) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %p = arith.cmpf ogt, %k, %zero : f32
  %r = scf.if %p -> (tensor<4xf32>) {
    %t = tensor.splat %k : tensor<4xf32>
    %y = arith.addf %x, %t : tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  } else {
    %q = arith.cmpf olt, %k, %zero : f32
    %z = scf.if %q -> (tensor<4xf32>) {
      %w = arith.negf %x : tensor<4xf32>
      scf.yield %w : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    scf.yield %z : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}"""

X = np.array([0.5, 0.25, 0.125, 0.75], np.float32)


def looped(steps: int) -> np.ndarray:
    """What the loop gives."""
    value = X
    for step in range(steps):
        value = (value + np.float32(step)) * X
    return value


@pytest.mark.parametrize("steps", [0, 3, 20])
def test_loop(steps: int) -> None:
    made, total = lamina.compile(LOOP)(X, steps, 2.0)
    np.testing.assert_allclose(made, looped(steps), rtol=1e-5)
    assert total == 2 + steps


@pytest.mark.parametrize("steps", [5, 30])
def test_loop_of_known_length(steps: int) -> None:
    """A short one is unrolled."""
    text = LOOP.replace("%n: index, ", "").replace(
        "  %c1 =", f"  %n = arith.constant {steps} : index\n  %c1 ="
    )
    compiled = lamina.compile(text)
    made, total = compiled(X, 2.0)
    np.testing.assert_allclose(made, looped(steps), rtol=1e-5)
    assert total == 2 + steps
    assert ("control.while" in compiled.ir("loop")) == (steps > 8)


def test_loop_in_a_loop() -> None:
    inner = """%q = scf.for %j = %c0 to %c1 step %c1 iter_args(%d = %a) -> (tensor<4xf32>) {
      %dd = arith.addf %d, %d : tensor<4xf32>
      scf.yield %dd : tensor<4xf32>
    }
    %w = arith.index_cast"""
    text = LOOP.replace("%w = arith.index_cast", inner).replace("addf %a, %t", "addf %q, %t")
    value = X
    for step in range(4):
        value = (2 * value + np.float32(step)) * X
    np.testing.assert_allclose(lamina.compile(text)(X, 4, 0.0)[0], value, rtol=1e-5)


@pytest.mark.parametrize(("number", "wanted"), [(2.0, X + 2), (-1.0, -X), (0.0, X)])
def test_branches(number: float, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(lamina.compile(BRANCH)(X, number), wanted)


def test_while_is_refused() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %t = arith.constant true
      %r = scf.while (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
        scf.condition(%t) %a : tensor<4xf32>
      } do {
      ^bb0(%a: tensor<4xf32>):
        %b = arith.addf %a, %a : tensor<4xf32>
        scf.yield %b : tensor<4xf32>
      }
      return %r : tensor<4xf32>
    }"""
    with pytest.raises(lamina.UnsupportedError, match=r"scf.while: no lowering from linalg"):
        lamina.compile(text)
