"""Products of few rows by columns of the call, read where they stand (`in_place_panels`)."""

import numpy as np
import pytest

import lamina

PRODUCT = """
func.func @main(%a: tensor<{m}x{k}x{t}>, %b: tensor<{k}x{n}x{t}>) -> tensor<{m}x{n}x{t}> {{
  %r = loop.generic (i, j, k) in [{m}, {n}, {k}]
      reads(%a[i, k] : tensor<{m}x{k}x{t}>, %b[k, j] : tensor<{k}x{n}x{t}>)
      writes([i, j] add : tensor<{m}x{n}x{t}>) {{
  ^bb0(%p: {t}, %q: {t}):
    %v = arith.mulf %p, %q : {t}
    loop.yield %v : {t}
  }}
  func.return %r : tensor<{m}x{n}x{t}>
}}
"""


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        (2, 64, 256),
        (3, 333, 96),
        (4, 1000, 64),
        (5, 70, 1024),
        (16, 2050, 144),
        (33, 512, 8192),
        (128, 97, 192),
    ],
)
def test_product(m: int, k: int, n: int, element: str) -> None:
    numbers = np.random.default_rng(0)
    kind = {"f32": np.float32, "f64": np.float64}[element]
    left, right = numbers.standard_normal((m, k)), numbers.standard_normal((k, n))
    left, right = left.astype(kind), right.astype(kind)
    compiled = lamina.compile(PRODUCT.format(m=m, k=k, n=n, t=element), cache=False)
    assert (
        len(compiled.kernels) == 1 and "tile" not in compiled.kernels[0].schedule
    )  # packs nothing
    found = np.asarray(compiled(left, right))
    exact = left.astype(np.float64) @ right.astype(np.float64)
    most = {"f32": 2e-6, "f64": 4e-15}[element]
    assert np.abs(found - exact).max() <= most * np.abs(exact).max()
