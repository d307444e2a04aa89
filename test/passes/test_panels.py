"""A product with `#loop.packing` reads its columns in panels, or it is refused.

Panels are packed, or whole runs of neighbouring elements of the operand as it stands.
"""

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import InputError

PRODUCT = """
func.func @main(%a: tensor<{rows}x{terms}xf32>, %b: tensor<{b}xf32>)
    -> tensor<{rows}x{columns}xf32> {{
  %r = loop.generic (i, j, k) in [{rows}, {columns}, {terms}]
      reads(%a[i, k] : tensor<{rows}x{terms}xf32>, %b[{read}] : tensor<{b}xf32>)
      writes([i, j] add : tensor<{rows}x{columns}xf32>)
      attributes {{lamina.packing = #loop.packing<panel = {panel}>}} {{
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }}
  func.return %r : tensor<{rows}x{columns}xf32>
}}
"""


def _text(rows: int, columns: int, terms: int, b: str, read: str, panel: object) -> str:
    return PRODUCT.format(rows=rows, columns=columns, terms=terms, b=b, read=read, panel=panel)


@pytest.mark.parametrize(
    ("columns", "b", "read", "panel"),
    [
        (32, "2x4x16", "j floordiv 16, k, j mod 16", 16),
        (20, "2x4x16", "j floordiv 16, k, j mod 16", 16),
        (12, "1x4x16", "0, k, j", 16),
        (16, "16x4x1", "j, k, 0", 1),
        (1, "1x4x1", "0, k, j", 1),
        (16, "4x16", "k, j", 16),
        (16, "4x16", "3 - k, j", 8),
        (12, "5x12", "k, j", 16),
        (16, "19", "j + k", 16),
        (14, "19", "j + k", 16),
    ],
)
def test_of_panels(columns: int, b: str, read: str, panel: int) -> None:
    rows, terms = 8, 4
    numbers = np.random.default_rng(0)
    left = numbers.standard_normal((rows, terms)).astype(np.float32)
    right = numbers.standard_normal([int(n) for n in b.split("x")]).astype(np.float32)
    # As Python, the indices of the read give the matrix that they stand for.
    python = read.replace("floordiv", "//").replace("mod", "%")
    wide = np.empty((terms, columns), np.float32)
    for k, j in np.ndindex(terms, columns):
        wide[k, j] = right[eval(f"({python},)", {"j": j, "k": k})]
    text = _text(rows, columns, terms, b, read, panel)
    found = lamina.compile(text, cache=False)(left, right)
    np.testing.assert_allclose(found, left @ wide, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("columns", "b", "read", "panel"),
    [
        (32, "2x4x16", "j floordiv 16, k, j mod 16", 8),  # the width is another
        (32, "4x2x16", "k, j floordiv 16, j mod 16", 16),  # panels within rows
        (16, "16x4", "j, k", 16),  # columns are far apart
        (15, "36", "2 * j + k", 4),
        (12, "4x12", "k, j", 16),  # the last panel ends behind the operand
        (15, "18", "j + k", 4),
    ],
)
def test_of_what_is_no_panel(columns: int, b: str, read: str, panel: int) -> None:
    message = f"lamina.packing: panel = {panel}, and read 1 is no operand in such panels"
    with pytest.raises(InputError, match=message):
        lamina.parse(_text(8, columns, 4, b, read, panel))


@pytest.mark.parametrize("panel", ["20", "0", "-16", "16 : i32", '"16"', "true"])
def test_of_what_is_no_width(panel: str) -> None:
    with pytest.raises(InputError, match=r"power of 2|between 1 and|integer literal|'>' expected"):
        lamina.parse(_text(8, 16, 4, "1x4x16", "0, k, j", panel))
