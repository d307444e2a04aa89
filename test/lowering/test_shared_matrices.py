"""Batches of bf16 matrices by one matrix that is expanded to them, multiplied in pairs: interpreted
for targets that have matrix tiles or dot products, and run where these are."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime import layers
from lamina.runtime.interpreters import run_module

TARGETS = ("sapphirerapids", "znver4")
BATCH, ROWS, COLUMNS, TERMS = 3, 9, 64, 77

PROGRAMS = {
    "right": """
  %0 = aten.transpose.int(%a, 1, 2) : (tensor<3x77x9xbf16>) -> tensor<3x9x77xbf16>
  %1 = aten.t.default(%b) : (tensor<64x77xbf16>) -> tensor<77x64xbf16>
  %2 = aten.expand.default(%1, [3, 77, 64]) : (tensor<77x64xbf16>) -> tensor<3x77x64xbf16>
  %3 = aten.bmm.default(%0, %2) : (tensor<3x9x77xbf16>, tensor<3x77x64xbf16>) -> RESULT""",
    "left": """
  %1 = aten.expand.default(%b, [3, 64, 77]) : (tensor<64x77xbf16>) -> tensor<3x64x77xbf16>
  %2 = aten.bmm.default(%1, %a) :
      (tensor<3x64x77xbf16>, tensor<3x77x9xbf16>) -> tensor<3x64x9xbf16>
  %3 = aten.transpose.int(%2, 1, 2) : (tensor<3x64x9xbf16>) -> RESULT""",
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shared", PROGRAMS)
def test_one_matrix_of_a_batch(shared: str, target: str) -> None:
    result = f"tensor<{BATCH}x{ROWS}x{COLUMNS}xbf16>"
    given = f"tensor<{BATCH}x{TERMS}x{ROWS}xbf16>"
    text = f"""
func.func @main(%a: {given}, %b: tensor<{COLUMNS}x{TERMS}xbf16>) -> RESULT {{
{PROGRAMS[shared]}
  func.return %3 : RESULT
}}""".replace("RESULT", result)
    rng = np.random.default_rng(0)
    shapes = (BATCH, TERMS, ROWS), (COLUMNS, TERMS)
    a, b = (rng.integers(-2, 3, shape).astype(ml_dtypes.bfloat16) for shape in shapes)
    exact = a.astype(np.float64).swapaxes(1, 2) @ b.astype(np.float64).T  # integers below 2^8
    module = layers.parse(text)
    run_pipeline(module, pipeline(start="aten", target=target), Context())
    np.testing.assert_array_equal(run_module(module, [a, b])[0].astype(np.float64), exact)
    if Target.parse(target).runs_here():
        found = lamina.compile(text, target=target, cache=False)(a, b)
        np.testing.assert_array_equal(np.asarray(found).astype(np.float64), exact)
