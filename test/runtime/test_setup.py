"""What `@setup` reads is among the constants, or an error says which is not."""

from __future__ import annotations

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
