"""Products that store their results along rows, whose columns end at a number of the call."""

from __future__ import annotations

import numpy as np
import pytest

from lamina.dialects.context import Context
from lamina.passes.schedule.apply_schedule import ApplySchedulePass
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import parse

KERNEL = """
func.func @main(%a: memref<64x32xf32>, %b: memref<2x32x32xf32>, %n: memref<i64>,
                %q: memref<64x64xf32> {lamina.kind = "output"}) attributes {
    lamina.kernel, lamina.schedule = [#loop.products<compute_at = panel, block = 64>]} {
  %s = memref.alloc() : memref<64x64xf32>
  loop.generic (m, n, k) in [64, 64, 32]
      reads(%a[m, k] : memref<64x32xf32>,
            %b[n floordiv 32, k, n mod 32] : memref<2x32x32xf32>)
      writes([m, n] add into %s : memref<64x64xf32>)
      attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [64, arg2 of 64]>,
                  lamina.packing = #loop.packing<panel = 32>,
                  lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 8>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  loop.generic (n, m) in [64, 64]
      reads(%s[m, n] : memref<64x64xf32>) writes([n, m] store into %q : memref<64x64xf32>)
      attributes {lamina.nest = #loop.nest<rows = [d1, d0], live = [64, arg2 of 64]>,
                  lamina.schedule = #loop.schedule<vectorize = d1 x 16, transpose = d0>} {
  ^bb0(%x: f32):
    %v = arith.negf %x : f32
    loop.yield %v : f32
  }
  func.return
}
"""


@pytest.mark.parametrize("count", [1, 15, 16, 17, 32, 50, 64])
def test_lines_behind_the_last_column_are_left_alone(count: int) -> None:
    """Callers have no room for them: a result of open size is as long as its size."""
    module = parse(KERNEL)
    ApplySchedulePass().apply(Context(), module)
    random = np.random.default_rng(0)
    a = random.standard_normal((64, 32), np.float32)
    b = random.standard_normal((2, 32, 32), np.float32)
    (made,) = run_module(module, [a, b, np.array(count)])
    wide = b.swapaxes(1, 2).reshape(64, 32)
    np.testing.assert_allclose(made[:count], -(wide[:count] @ a.T), 1e-4, 1e-4)
    # The interpreter fills memory that is not yet written with one byte.
    assert np.unique(made[count:].view(np.uint8)).size <= 1
