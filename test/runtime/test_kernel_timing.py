"""Measured kernels: every kernel gets a time, and what the caller gave is left alone."""

import numpy as np
import pytest

from lamina.dialects.errors import ArgumentError
from lamina.runtime.compile import compile_module
from lamina.runtime.compiled import Compiled
from lamina.runtime.layers import parse

PROGRAM = """
func.func @main(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = aten.tanh.default(%x) {lamina.fuse = "never"} : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = aten.mul.Tensor(%0, %x) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  func.return %1 : tensor<64x128xf32>
}
"""


def compiled_program() -> Compiled:
    return compile_module(parse(PROGRAM), cache=False)


def test_every_kernel_gets_a_time_and_calls_stay_right() -> None:
    compiled = compiled_program()
    assert [k.measured_us for k in compiled.kernels] == [None, None]
    x = np.linspace(-3, 3, 64 * 128, dtype=np.float32).reshape(64, 128)
    before = x.copy()
    measured = compiled.measure(x, repeats=3)
    assert all(k.measured_us is not None and k.measured_us >= 0 for k in measured)
    assert list(compiled.kernels) == list(measured)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_allclose(compiled(x), np.tanh(x) * x, rtol=1e-6, atol=1e-7)


def test_unfit_arguments_are_refused() -> None:
    compiled = compiled_program()
    with pytest.raises(ArgumentError, match="expected 1 arguments, got 0"):
        compiled.measure()
    with pytest.raises(ArgumentError, match="repeats = 0"):
        compiled.measure(np.zeros((64, 128), np.float32), repeats=0)
    with pytest.raises(ArgumentError):
        compiled.measure(np.zeros((64, 127), np.float32))
