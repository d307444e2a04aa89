"""Results that are stored past the caches in calls in which enough rows count."""

from __future__ import annotations

import numpy as np
import pytest

from lamina.codegen.target import Target
from lamina.runtime.compile import compile_module
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import lower, parse

ROWS = 40


def _text(columns: int, fewest: int) -> str:
    x, y = f"memref<{ROWS}x{columns}xf32>", f"memref<{ROWS}x{columns + 3}xf32>"
    nest = f"#loop.nest<rows = [d0], live = [arg1 of {ROWS}]>"
    schedule = f"#loop.schedule<nontemporal = [0], nontemporal_from = {fewest}>"
    return f"""
    func.func @main(%x: {x} {{lamina.kind = "input"}}, %n: memref<i64> {{lamina.kind = "input"}},
        %y: {y} {{lamina.kind = "output"}}) attributes {{lamina.entry}} {{
      func.call @kernel(%x, %n, %y) : ({x}, memref<i64>, {y}) -> ()
      func.return
    }}
    func.func private @kernel(%x: {x}, %n: memref<i64>, %y: {y}) attributes {{lamina.kernel}} {{
      loop.generic (i, j) in [{ROWS}, {columns + 3}] reads(%x[i, j - 2] pad 0.5 : f32 : {x})
          writes([i, j] store into %y : {y})
          attributes {{lamina.nest = {nest}, lamina.schedule = {schedule}}} {{
      ^bb0(%v: f32):
        %u = arith.addf %v, %v : f32
        loop.yield %u : f32
      }}
      func.return
    }}"""


@pytest.mark.parametrize("fewest", [1, 7, ROWS, ROWS + 1])
@pytest.mark.parametrize("columns", [1, 61, 1000])
def test_values(columns: int, fewest: int) -> None:
    """Rows begin anywhere, so that the first vectors of some are not aligned."""
    module = parse(_text(columns, fewest))
    compiled = compile_module(module.clone())
    lower(module, "bufferized", "scheduled", Target.host())
    scheduled = str(module)
    assert ("nontemporal = true" in scheduled) == (fewest <= ROWS)
    assert ("arith.cmpi uge" in scheduled) == (1 < fewest <= ROWS)
    x = np.random.default_rng(0).standard_normal((ROWS, columns), np.float32)
    expected = np.pad(2 * x, ((0, 0), (2, 1)), constant_values=1)
    for count in (1, fewest - 1, fewest, ROWS):
        live = min(max(count, 1), ROWS)
        for made in (compiled(x, count), *run_module(parse(scheduled), [x, np.array(count)])):
            np.testing.assert_array_equal(np.asarray(made)[:live], expected[:live])
