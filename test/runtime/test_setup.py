"""What `@setup` reads is among the constants, or an error says which is not."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import ArgumentError

PROGRAM = """
func.func @setup(%w: tensor<4xf32> {lamina.kind = "parameter", lamina.name = "w"})
    -> (tensor<4xf32> {lamina.kind = "prepared", lamina.name = "p"}) {
  func.return %w : tensor<4xf32>
}
func.func @main(%p: tensor<4xf32> {lamina.kind = "prepared", lamina.name = "p"}) -> tensor<4xf32> {
  %r = loop.generic (i) in [4] reads(%p[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    loop.yield %b : f32
  }
  func.return %r : tensor<4xf32>
}
"""


def test_a_parameter_of_setup_that_nobody_gives() -> None:
    with pytest.raises(ArgumentError, match="@setup reads 'w', which is not among the constants"):
        lamina.compile(lamina.parse(PROGRAM), cache=False)()


PRODUCT = """
func.func @main(%a: tensor<40x64xf32>,
                %w: tensor<64x48xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<40x48xf32> {
  %c = arith.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %d = aten.constant_pad_nd.default(%c, [0, 45, 0, 0], 0.0) : (tensor<1x3xf32>) -> tensor<1x48xf32>
  %0 = aten.mm.default(%a, %w) : (tensor<40x64xf32>, tensor<64x48xf32>) -> tensor<40x48xf32>
  %1 = aten.add.Tensor(%0, %d) : (tensor<40x48xf32>, tensor<1x48xf32>) -> tensor<40x48xf32>
  func.return %1 : tensor<40x48xf32>
}
"""  # noqa: E501 - an op on one line


@pytest.mark.parametrize("layer", lamina.LAYERS[:-2])
def test_what_is_printed_goes_on_with_the_same_constants(layer: str) -> None:
    weight, rows = np.eye(64, 48, dtype=np.float32), np.ones((40, 64), np.float32)
    first = lamina.compile(PRODUCT, constants={"w": weight})
    again = lamina.compile(first.ir(layer), constants={"w": weight}, cache=False)
    assert [slot.name for slot in again.inputs] == [slot.name for slot in first.inputs]
    np.testing.assert_array_equal(again(rows), first(rows))
    np.testing.assert_array_equal(again(rows)[0, :4], [2, 3, 4, 1])


def test_constants_of_setup_have_its_names_and_shapes() -> None:
    with pytest.raises(ArgumentError, match=r"constant 'v': the program has no such .*nearest: w"):
        lamina.compile(PROGRAM, constants={"v": np.zeros(4, np.float32)})
    with pytest.raises(ArgumentError, match="constant 'w': expected shape 4, got 3"):
        lamina.compile(PROGRAM, constants={"w": np.zeros(3, np.float32)})
    given = lamina.compile(PROGRAM, constants={"w": np.ones(4, np.float32)}, cache=False)
    np.testing.assert_array_equal(given(), -np.ones(4))
