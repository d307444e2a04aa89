"""Means and variances of no elements, under the interpreters: NaN, and no warnings of NumPy's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import parse

_PROGRAM = """func.func @main(%x: tensor<0x2xf32>) -> tensor<2xf32> {{
  %0 = aten.{call} : (tensor<0x2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}}"""


@pytest.mark.parametrize("call", ["mean.dim(%x, dim = [0])", "var.correction(%x, dim = [0])"])
def test_no_elements(call: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (result,) = run_module(parse(_PROGRAM.format(call=call)), [np.zeros((0, 2), np.float32)])
    assert np.isnan(result).all()
