"""Functions of constants, which LLVM computes when it compiles."""

from __future__ import annotations

import numpy as np
import pytest

import lamina


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "sigmoid"])
def test_of_no_number_is_no_number(name: str, element: str) -> None:
    """Its integer part is poison there, which must not reach the result."""
    kind = f"tensor<9x{element}>"
    program = f"""
func.func @main(%x: {kind}) -> {kind} {{
  %0 = aten.full_like.default(%x, -1.0) : ({kind}) -> {kind}
  %1 = aten.log.default(%0) : ({kind}) -> {kind}
  %2 = aten.{name}.default(%1) : ({kind}) -> {kind}
  func.return %2 : {kind}
}}"""
    x = np.ones(9, {"f32": np.float32, "f64": np.float64}[element])
    assert np.isnan(lamina.compile(program, cache=False)(x)).all()
