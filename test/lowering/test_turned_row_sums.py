"""Reductions over the rows of a kernel that reads them turned, beside what it stores of them.

Tiles that are transposed in registers are stored; a reduction over rows has to join each row with
what those before it left.
"""

import numpy as np
import pytest

import lamina
from lamina.codegen.target import Target
from lamina.runtime.interpreters import run_module

PROGRAM = """
func.func @main(%x: tensor<ROWSx1xMIDDLExINNERxKIND>)
    -> (tensor<INNERxMIDDLEx1xKIND>, tensor<ROWSxINNERxMIDDLEx1xi64>) {
  %0 = loop.generic (d0, d1, d2) in [ROWS, INNER, MIDDLE]
      reads(%x[d0, 0, d2, d1] : tensor<ROWSx1xMIDDLExINNERxKIND>)
      writes([d1, d2, 0] COMBINER : tensor<INNERxMIDDLEx1xKIND>) {
  ^bb0(%v: KIND):
    loop.yield %v : KIND
  }
  %1 = loop.generic (d0, d1, d2) in [ROWS, INNER, MIDDLE]
      reads(%x[d0, 0, d2, d1] : tensor<ROWSx1xMIDDLExINNERxKIND>)
      writes([d0, d1, d2, 0] store : tensor<ROWSxINNERxMIDDLEx1xi64>) {
  ^bb0(%v: KIND):
    %w = arith.extsi %v : KIND to i64
    loop.yield %w : i64
  }
  func.return %0, %1 : tensor<INNERxMIDDLEx1xKIND>, tensor<ROWSxINNERxMIDDLEx1xi64>
}
"""


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "host"])
@pytest.mark.parametrize("kind", ["i16", "i32"])
@pytest.mark.parametrize("combiner", ["min", "max", "add"])
def test_beside_a_copy(combiner: str, kind: str, target: str) -> None:
    if target != "host" and not Target.parse(target).runs_here():
        pytest.skip(f"this CPU has not all instructions of {target}")
    for rows, middle, inner in ((7, 7, 9), (5, 16, 33), (3, 4, 70)):
        text = PROGRAM.replace("COMBINER", combiner).replace("KIND", kind)
        for name, extent in (("ROWS", rows), ("MIDDLE", middle), ("INNER", inner)):
            text = text.replace(name, str(extent))
        random = np.random.default_rng(0)
        x = random.integers(-999, 999, (rows, 1, middle, inner)).astype(kind.replace("i", "int"))
        expected = run_module(lamina.parse(text), [x])
        compiled = lamina.compile(text, target=target, cache=False)
        for got, wanted in zip(compiled(x), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)
