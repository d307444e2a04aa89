"""StableHLO's `bitcast_convert` between elements of different widths: the bytes are the same."""

from math import prod

import numpy as np
import pytest

import lamina
from lamina.runtime.interpreters.run import run_module

CASES = {
    ("2xui64", "2x2xui32"): ((2,), "u8", (2, 2), "u4"),
    ("2x4xui8", "2xf32"): ((2, 4), "u1", (2,), "f4"),
    ("f64", "8xi8"): ((), "f8", (8,), "i1"),
    ("4xui8", "f32"): ((4,), "u1", (), "f4"),
    ("3x5x2xi32", "3x5xf64"): ((3, 5, 2), "i4", (3, 5), "f8"),
    ("7xf32", "7x2xi16"): ((7,), "f4", (7, 2), "i2"),
    ("0xf32", "0x2xui16"): ((0,), "f4", (0, 2), "u2"),
    ("33xf32", "33xi32"): ((33,), "f4", (33,), "i4"),
}


@pytest.mark.parametrize("types", CASES, ids=" to ".join)
def test_bytes_are_the_same(types: tuple[str, str]) -> None:
    given, made = (f"tensor<{kind}>" for kind in types)
    text = f"""
    func.func @main(%x: {given}) -> {made} {{
      %0 = stablehlo.bitcast_convert %x : ({given}) -> {made}
      func.return %0 : {made}
    }}"""
    shape, dtype, wanted_shape, wanted_dtype = CASES[types]
    data = np.random.default_rng(0).bytes(prod(shape) * np.dtype(dtype).itemsize)
    x = np.frombuffer(data, dtype).reshape(shape)
    for found in (lamina.compile(text)(x), run_module(lamina.parse(text), [x])[0]):
        array = np.asarray(found)
        assert array.dtype == wanted_dtype and array.shape == wanted_shape
        assert array.tobytes() == data
