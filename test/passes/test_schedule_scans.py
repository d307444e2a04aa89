"""Scans through native code, with lines that run together and lines that run alone."""

from collections.abc import Callable

import numpy as np
import pytest

Execute = Callable[..., list[np.ndarray]]
rng = np.random.default_rng(5)


@pytest.mark.parametrize("shape", [(64, 37), (67, 37), (34, 5), (3, 9), (130, 1), (1, 40)])
@pytest.mark.parametrize("along", [0, 1])
def test_sums_and_maxima_so_far(execute: Execute, shape: tuple[int, int], along: int) -> None:
    kind = f"tensor<{shape[0]}x{shape[1]}xf32>"
    text = f"""
    func.func @main(%x: {kind}) -> ({kind}, {kind}) {{
      %r, %t = loop.scan (d0, d1) in [{shape[0]}, {shape[1]}] along {along}
          reads(%x[d0, d1] : {kind}) carries(0.0 : f64, -1000.0 : f32) gives({kind}, {kind}) {{
      ^bb0(%v: f32, %sum: f64, %top: f32):
        %wide = arith.extf %v : f32 to f64
        %next = arith.addf %sum, %wide : f64
        %out = arith.truncf %next : f64 to f32
        %most = arith.maximumf %top, %v : f32
        loop.yield %next, %most, %out, %most : f64, f32, f32, f32
      }}
      func.return %r, %t : {kind}, {kind}
    }}"""
    x = rng.standard_normal(shape).astype(np.float32)
    sums, tops = execute(text, x)
    np.testing.assert_array_equal(sums, np.cumsum(x, along, np.float64).astype(np.float32))
    np.testing.assert_array_equal(tops, np.maximum.accumulate(x, along))
