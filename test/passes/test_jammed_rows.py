"""Rows that count, reduced side by side: far apart, by how many a call has."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.lowering.pipeline import run_pipeline
from lamina.runtime.compile import compile_module
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import parse

SIDE_BY_SIDE = """
func.func @main(%x: memref<40x70xf32> {lamina.name = "x", lamina.kind = "input"},
                %n: memref<i64> {lamina.name = "n", lamina.kind = "input"},
                %y: memref<40xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @sums(%x, %n, %y) : (memref<40x70xf32>, memref<i64>, memref<40xf32>) -> ()
  func.return
}
func.func private @sums(%x: memref<40x70xf32>, %n: memref<i64>, %y: memref<40xf32>)
    attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, jam = 4>]} {
  loop.generic (i, j) in [40, 70] reads(%x[i, j] : memref<40x70xf32>)
      writes([i] add into %y : memref<40xf32>)
      attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 40]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
"""


@pytest.mark.parametrize("count", [1, 3, 4, 7, 8, 39, 40])
def test_rows_that_count_are_far_apart_side_by_side(count: int) -> None:
    """Every row that counts is run once, by steps that follow from their number."""
    x = np.random.default_rng(0).standard_normal((40, 70), np.float32)
    args, wanted = [x, np.array(count)], x[:count].sum(1)
    module = parse(SIDE_BY_SIDE)
    run_pipeline(module, ["parallelize"], Context())
    text = str(module)
    assert re.search(r"slice\(d0 = %\S+ x 4 step %", text)
    np.testing.assert_allclose(run_module(parse(text), [*args])[0][:count], wanted, 1e-4, 1e-4)
    compiled = compile_module(parse(text), target=Target.host())
    np.testing.assert_allclose(compiled(*args)[:count], wanted, 1e-4, 1e-4)
    run_pipeline(module, ["vectorize"], Context())
    found = run_module(parse(str(module)), [*args])[0]
    np.testing.assert_allclose(found[:count], wanted, 1e-4, 1e-4)
