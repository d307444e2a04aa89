"""Copies into pairs for matrix tiles: packed in registers, the same interpreted and natively."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.lowering.pipeline import run_pipeline
from lamina.runtime.compile import compile_module
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import parse

pytestmark = pytest.mark.one_in(3)

MAIN = """
func.func @main(%x: {x}, %y: {y} {{lamina.kind = "output"}}) attributes {{lamina.entry}} {{
  func.call @kernel(%x, %y) : ({x}, {y}) -> ()
  func.return
}}"""
PAIRS = """
func.func private @kernel(%x: {x}, %y: {y}) attributes {{lamina.kernel{schedule}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %step = arith.constant {step} : index
  {loop}loop.generic (t, p, n, e) in [3, 64, 16, 2] {slices} reads(%x[{read}] pad 0.0 : bf16 : {x})
      writes([t, p, n, e] store into %y : {y})
      attributes {{lamina.nest = #loop.nest<rows = [d0, d1, d2, d3]>}} {{
  ^bb0(%v: bf16):
    loop.yield %v : bf16
  }} {end}
  func.return
}}"""


@pytest.mark.parametrize("along", [True, False], ids=["along the sum", "across the sum"])
@pytest.mark.parametrize("size", [0, 32, 8, 24])
def test_pairs_are_packed_by_slices(size: int, along: bool) -> None:
    """Slices of whole vectors are packed in registers, others element by element."""
    place, term = "(t * 16) + n", "(p * 2) + e"
    types = {"x": "memref<45x127xbf16>", "y": "memref<3x64x16x2xbf16>"}
    if not along:
        types["x"] = "memref<127x45xbf16>"
    loops = "scf.for %t = %c0 to %c3 step %c1 { scf.for %low = %c0 to %c64 step %step { "
    given = {
        "read": f"{place}, {term}" if along else f"{term}, {place}",
        "schedule": "" if size else ", lamina.schedule = [#loop.pairs<parallel, tile = 32>]",
        "step": size or 1,
        "loop": loops if size else "",
        "slices": f"slice(t = %t, p = %low x {size})" if size else "",
        "end": "}}" if size else "",
    }
    module = parse((MAIN + PAIRS).format(**types, **given))
    shape = (45, 127) if along else (127, 45)
    args = [np.random.default_rng(0).standard_normal(shape).astype(ml_dtypes.bfloat16)]
    wanted = run_module(module, [*args])[0]
    run_pipeline(module, ["parallelize"], Context())
    assert "slice(" in str(module)
    np.testing.assert_array_equal(run_module(parse(str(module)), [*args])[0], wanted)
    compiled = compile_module(parse(str(module)), target=Target.host())
    np.testing.assert_array_equal(np.asarray(compiled(*args)).view(wanted.dtype), wanted)
    run_pipeline(module, ["apply-schedule"], Context())
    assert ("vector.shuffle" in str(module)) == (size in (0, 32))


GROUPED_PAIRS = """
func.func private @kernel(%x: {x}, %y: memref<2x3x32x16x2xbf16>) attributes {{
    lamina.kernel, lamina.schedule = [#loop.pairs<parallel, tile = 32>]}} {{
  loop.generic (g, t, p, n, e) in [2, 3, 32, 16, 2] reads(%x[{read}] pad 0.0 : bf16 : {x})
      writes([g, t, p, n, e] store into %y : memref<2x3x32x16x2xbf16>)
      attributes {{lamina.nest = #loop.nest<rows = [d0, d1, d2, d3, d4]>}} {{
  ^bb0(%v: bf16):
    loop.yield %v : bf16
  }}
  func.return
}}"""


@pytest.mark.parametrize(
    ("shape", "read"),
    [
        ((89, 63), "((g * 45) + (t * 16)) + n, (p * 2) + e"),
        ((61, 100), "(p * 2) + e, ((g * 48) + (t * 16)) + n"),
        ((70, 96), "(p * 2) + (e + g), (t * 16) + n"),
    ],
    ids=["windows that end in the next one", "heads", "sums that begin anywhere"],
)
def test_pairs_of_groups_are_packed_in_registers(shape: tuple[int, int], read: str) -> None:
    x = f"memref<{shape[0]}x{shape[1]}xbf16>"
    text = MAIN.format(x=x, y="memref<2x3x32x16x2xbf16>") + GROUPED_PAIRS.format(x=x, read=read)
    args = [np.random.default_rng(0).standard_normal(shape).astype(ml_dtypes.bfloat16)]
    module = parse(text)
    wanted = run_module(module, [*args])[0]
    compiled = compile_module(parse(text), target=Target.host())
    np.testing.assert_array_equal(np.asarray(compiled(*args)).view(wanted.dtype), wanted)
    run_pipeline(module, ["parallelize", "apply-schedule"], Context())
    assert "vector.shuffle" in str(module)
    np.testing.assert_array_equal(run_module(module, [*args])[0], wanted)
