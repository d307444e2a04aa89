"""Products whose tasks pack their own panels, run between guard pages and compared with NumPy."""

from collections.abc import Callable
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.dialects.context import Context
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(3)

Build = Any
Execute = Callable[..., list[np.ndarray]]
SIZES = ((5, 17, 300), (16, 64, 64), (33, 45, 67), (8, 200, 1), (270, 40, 33), (40, 1, 19))
"""Rows, columns, terms: whole and partly filled tiles, panels, vectors and blocks of rows."""

rng = np.random.default_rng(5)


def operands(*shapes: tuple[int, ...], element: str) -> list[np.ndarray]:
    """Numbers of the element type; bf16 as its bits, since NumPy has none."""
    dtypes = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16}
    return [rng.standard_normal(shape).astype(dtypes[element]) for shape in shapes]


def widened(build: Build, value: str) -> str:
    """The value in f32, as `widen-half-floats` leaves it."""
    kind = build.types[value][1]
    if kind not in ("f16", "bf16"):
        return value
    expression = f"arith.extf %p0 {{lamina.implicit}} : {kind} to f32"
    return build.pointwise(expression, value, element="f32")


@pytest.mark.parametrize(
    ("element", "right"), list(product(("f16", "bf16", "f32", "f64"), ("kn", "nk")))
)
@pytest.mark.parametrize("sizes", SIZES)
def test_products(
    build: Build, execute: Execute, element: str, right: str, sizes: tuple[int, int, int]
) -> None:
    named = dict(zip("mnk", sizes, strict=True))
    shapes = [tuple(named[d] for d in dims) for dims in ("mk", right)]
    a, b = (build.argument(shape, element) for shape in shapes)
    domain = ",".join(f"{d}={named[d]}" for d in "mnk")
    left, column = (widened(build, a), "m,k"), (widened(build, b), ",".join(right))
    result = build.product(domain, left, column, "m,n", sizes[:2])
    x, y = operands(*shapes, element=element)
    bits = [v.view(np.uint16) if element == "bf16" else v for v in (x, y)]
    (got,) = execute(build.text(result), *bits)
    wanted = np.einsum(f"mk,{right}->mn", x.astype(np.float64), y.astype(np.float64))
    limit = 1e-12 if element == "f64" else 1e-5
    np.testing.assert_allclose(got, wanted, rtol=limit, atol=limit * max(1, np.abs(wanted).max()))


def test_layers_agree_on_integers() -> None:
    """Of 16 bits, as half floats, but summed in their own type: sums overflow, and wrap."""
    x = rng.integers(-(2**15), 2**15, (32, 8), dtype=np.int16)
    text = """
func.func @main(%x: tensor<32x8xi16>) -> tensor<32x32xi16> {
  %0 = aten.t.default(%x) : (tensor<32x8xi16>) -> tensor<8x32xi16>
  %1 = aten.mm.default(%x, %0) : (tensor<32x8xi16>, tensor<8x32xi16>) -> tensor<32x32xi16>
  func.return %1 : tensor<32x32xi16>
}"""
    module = lamina.parse(text)
    run_pipeline(module, pipeline(start="aten", stop="fused", target="x86-64-v4"), Context())
    assert "pack_at = task" in str(module)
    wanted = x.astype(np.int64) @ x.T.astype(np.int64)
    np.testing.assert_array_equal(run_module(module, [x])[0], wanted.astype(np.int16))


TEXT = """
func.func @main(%x: tensor<3x37x70xf16>, %w: tensor<45x70xf16>, %b: tensor<45xf16>) -> tensor<3x37x45xf16> {
  %0 = aten.linear.default(%x, %w, %b) : (tensor<3x37x70xf16>, tensor<45x70xf16>, tensor<45xf16>) -> tensor<3x37x45xf16>
  func.return %0 : tensor<3x37x45xf16>
}"""  # noqa: E501


@pytest.mark.parametrize("layer", ["fused", "scheduled"])
@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4", "aarch64"])
def test_layers_agree(layer: str, name: str) -> None:
    """Scratch holds NaN at first, so that places which nobody packed would show."""
    x, w, b = operands((3, 37, 70), (45, 70), (45,), element="f16")
    module = lamina.parse(TEXT)
    run_pipeline(module, pipeline(start="aten", stop=layer, target=name), Context())
    assert "pack_at = task" in str(module) or layer == "scheduled"
    wanted = x.astype(np.float64) @ w.T.astype(np.float64) + b
    (got,) = run_module(module, [x, w, b])
    # A unit in the last place of f16, and of numbers near 1 where sums cancel.
    np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-3)
