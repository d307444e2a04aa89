"""Products whose rows lie side by side in memory: copies of them are made of whole vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamina

Shape = tuple[int, int, int, int]


def _program(shape: Shape, element: str) -> str:
    batch, rows, terms, columns = shape
    x, y = (
        f"tensor<{batch}x{terms}x{rows}x{element}>",
        f"tensor<{batch}x{terms}x{columns}x{element}>",
    )
    turned, made = (f"tensor<{batch}x{rows}x{n}x{element}>" for n in (terms, columns))
    return f"""
func.func @main(%x: {x}, %y: {y}) -> {made} {{
  %0 = aten.transpose.int(%x, 1, 2) : ({x}) -> {turned}
  %1 = aten.bmm.default(%0, %y) : ({turned}, {y}) -> {made}
  func.return %1 : {made}
}}
"""


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(
    "shape",
    [(2, 128, 200, 128), (1, 33, 65, 160), (3, 17, 31, 129), (1, 130, 64, 256), (2, 1, 9, 256)],
)
def test_as_numpy(shape: Shape, element: str) -> None:
    kind: Any = np.float32 if element == "f32" else np.float64
    random = np.random.default_rng(0)
    x = random.standard_normal((shape[0], shape[2], shape[1])).astype(kind)
    y = random.standard_normal((shape[0], shape[2], shape[3])).astype(kind)
    made = lamina.compile(_program(shape, element))(x, y)
    near = 1e-4 if element == "f32" else 1e-12
    np.testing.assert_allclose(made, x.swapaxes(1, 2) @ y, near, near)


def test_rows_are_copied_in_vectors() -> None:
    compiled = lamina.compile(_program((2, 128, 200, 130), "f32"), target="x86-64-v4;cores=2")
    text = compiled.ir("scheduled")
    assert any("cache_read = [0]" in (kernel.schedule or "") for kernel in compiled.kernels)
    assert "vector.gather" not in text
    assert "memref<28800xf32>" in text  # 200 terms of 128 rows and a line of the caches
