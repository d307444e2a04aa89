"""What follows a product is computed of its register tiles: every element once."""

from __future__ import annotations

import numpy as np
import pytest

import lamina

TARGETS = ["host", "x86-64-v3"]
rng = np.random.default_rng(7)


def _numbers(kind: type, *shape: int) -> np.ndarray:
    """Small integers: sums are exact in whatever order."""
    return rng.integers(-4, 5, shape).astype(kind)


def _program(m: int, k: int, n: int, element: str) -> str:
    """max(a b + c, r), and the product itself as another result."""
    a, b, y = (f"tensor<{x}x{z}x{element}>" for x, z in ((m, k), (k, n), (m, n)))
    c = f"tensor<{n}x{element}>"
    return f"""
    func.func @main(%a: {a}, %b: {b}, %c: {c}, %r: {y}) -> ({y}, {y}) {{
      %p = core_aten.mm.default(%a, %b) : ({a}, {b}) -> {y}
      %s = core_aten.add.Tensor(%p, %c, alpha = 1) : ({y}, {c}) -> {y}
      %v = core_aten.maximum.default(%s, %r) : ({y}, {y}) -> {y}
      func.return %v, %p : {y}, {y}
    }}"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ["f32", "f64", "i32"])
@pytest.mark.parametrize(
    "size", [(64, 64, 64), (37, 29, 45), (50, 300, 7), (1, 64, 96), (30, 20000, 40)]
)
def test_every_element_once(size: tuple[int, int, int], element: str, target: str) -> None:
    m, k, n = size
    kind = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[element]
    a, b, c, r = (_numbers(kind, *shape) for shape in ((m, k), (k, n), (n,), (m, n)))
    made = lamina.compile(_program(m, k, n, element), target=target, cache=False)
    followed, product = made(a, b, c, r)
    np.testing.assert_array_equal(product, a @ b)
    np.testing.assert_array_equal(followed, np.maximum(a @ b + c, r))


def test_the_product_stays_in_registers() -> None:
    made = lamina.compile(_program(64, 64, 64, "f32"), cache=False)
    kernel = next(k for k in made.kernels if "compute_at = panel" in (k.schedule or ""))
    assert kernel.schedule is not None and kernel.schedule.endswith("#loop.schedule<compute_with>]")
