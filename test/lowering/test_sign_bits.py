"""`signbit` and `copysign` go by the highest bit: of zeros and of NaN too, at every layer."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.lowering.pipeline import LAYERS
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import parse

PROGRAM = """func.func @main(%x: TYPE, %y: TYPE) -> (BOOL, TYPE) {
  %0 = aten.signbit.default(%x) : (TYPE) -> BOOL
  %1 = aten.copysign.Tensor(%x, %y) : (TYPE, TYPE) -> TYPE
  func.return %0, %1 : BOOL, TYPE
}"""


@pytest.mark.parametrize("element", ["f16", "f32", "f64"])
def test_all_layers_and_native_code_agree(element: str) -> None:
    dtype = np.dtype(element.replace("f", "float"))
    sizes = np.array([0, 1, np.finfo(dtype).smallest_subnormal, np.inf, np.nan], dtype)
    numbers = np.concatenate([sizes, np.copysign(sizes, dtype.type(-1))])
    assert np.signbit(numbers).sum() == len(sizes)
    x, y = (np.ascontiguousarray(n.ravel()) for n in np.meshgrid(numbers, numbers))
    shape = f"tensor<{len(x)}x"
    text = PROGRAM.replace("TYPE", f"{shape}{element}>").replace("BOOL", f"{shape}i1>")
    compiled = lamina.compile(text, cache=False)
    made = {layer: run_module(parse(compiled.ir(layer)), [x, y]) for layer in LAYERS}
    for where, (negative, signed) in {"native": compiled(x, y), **made}.items():
        np.testing.assert_array_equal(negative, np.signbit(x), err_msg=where)
        np.testing.assert_array_equal(np.signbit(signed), np.signbit(y), err_msg=where)
        np.testing.assert_array_equal(np.abs(signed), np.abs(x), err_msg=where)


def test_relu_keeps_zeros_as_they_are() -> None:
    """From `prims` on it is a maximum, whose zeros have either sign."""
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = aten.relu.default(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }"""
    x = np.array([0.0, -0.0, -1.0, 2.0], np.float32)
    for result in (lamina.compile(text, cache=False)(x), *run_module(parse(text), [x])):
        np.testing.assert_array_equal(np.signbit(result), [False, True, False, False])


def test_sums_of_exponentials_begin_with_nothing() -> None:
    """So that the first one of -0.0 is 0.0, as in torch."""
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = aten.logcumsumexp.default(%x, dim = 0) : (tensor<3xf32>) -> tensor<3xf32>
      func.return %0 : tensor<3xf32>
    }"""
    compiled = lamina.compile(text, cache=False)
    x = np.array([-0.0, 1.0, 2.0], np.float32)
    made = [run_module(parse(compiled.ir(layer)), [x])[0] for layer in LAYERS]
    assert not any(np.signbit(result[0]) for result in (compiled(x), *made))
