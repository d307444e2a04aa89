"""Random numbers in branches and loops: every round draws others, every layer draws the same."""

from __future__ import annotations

import numpy as np
import pytest

from lamina.dialects.errors import UnsupportedError
from lamina.lowering.pipeline import LAYERS
from lamina.runtime.compile import as_target, compile_module
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import lower, parse

PROGRAM = """
func.func @main(%p: tensor<i1>, %x: tensor<5x4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %u = aten.rand.default(size = [4]) : () -> tensor<4xf32>
  %c = control.cond if(%p) with(%u) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %r = aten.rand.default(size = [4]) : () -> tensor<4xf32>
    %q = aten.rand.default(size = [4]) : () -> tensor<4xf32>
    %s = aten.sub.Tensor(%r, %q) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  } else {
  ^bb0(%b: tensor<4xf32>):
    control.yield %b : tensor<4xf32>
  }
  %last, %ys = control.scan from(%h) over(%x) : (tensor<4xf32>, tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %r = aten.randn.default(size = [4]) : () -> tensor<4xf32>
    %s = aten.add.Tensor(%a, %r) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %s, %r : tensor<4xf32>, tensor<4xf32>
  }
  %w = control.while from(%h) : (tensor<4xf32>) -> tensor<4xf32> test {
  ^bb0(%a: tensor<4xf32>):
    %m = aten.amax.default(%a) : (tensor<4xf32>) -> tensor<f32>
    %t = aten.lt.Scalar(%m, other = 3) : (tensor<f32>) -> tensor<i1>
    control.yield %t : tensor<i1>
  } do {
  ^bb0(%a: tensor<4xf32>):
    %r = aten.rand.default(size = [4]) : () -> tensor<4xf32>
    %s = aten.add.Tensor(%a, %r) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    control.yield %s : tensor<4xf32>
  }
  %v = aten.rand.default(size = [4]) : () -> tensor<4xf32>
  func.return %c, %ys, %w, %v : tensor<4xf32>, tensor<5x4xf32>, tensor<4xf32>, tensor<4xf32>
}
"""  # noqa: E501 - an op on one line

X, H = np.zeros((5, 4), np.float32), np.zeros(4, np.float32)


@pytest.mark.parametrize("taken", [True, False])
def test_every_layer_and_native_code_draw_the_same(taken: bool) -> None:
    wanted = run_module(parse(PROGRAM), [np.array(taken), X, H], seed=7)
    for layer in LAYERS[1:]:
        module = parse(PROGRAM)
        lower(module, "aten", layer, as_target(None))
        for made, value in zip(
            run_module(module, [np.array(taken), X, H], seed=7), wanted, strict=True
        ):
            np.testing.assert_allclose(made, value, atol=1e-6, err_msg=layer)
    program = compile_module(parse(PROGRAM), cache=False)
    program.seed(7)
    for made, value in zip(program(np.array(taken), X, H), wanted, strict=True):
        np.testing.assert_allclose(made, value, atol=1e-6)


def test_every_round_and_every_call_draws_other_numbers() -> None:
    program = compile_module(parse(PROGRAM), cache=False)
    program.seed(3)
    rows = np.concatenate([program(np.array(True), X, H)[1] for _ in range(3)])
    assert len(np.unique(rows)) == rows.size
    program.seed(3)
    np.testing.assert_array_equal(program(np.array(True), X, H)[1], rows[:5])


def test_draws_in_the_test_of_a_loop_are_refused() -> None:
    text = PROGRAM.replace(
        "%m = aten.amax.default(%a) :",
        "%k = aten.rand.default(size = [4]) : () -> tensor<4xf32>\n"
        "    %m = aten.amax.default(%k) :",
    )
    with pytest.raises(UnsupportedError, match="in the test of a loop"):
        compile_module(parse(text), cache=False)
