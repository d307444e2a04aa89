"""Depthwise convolutions jammed along a line, and what is computed of their totals in registers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import lamina

TARGETS = ["host", "x86-64-v3"]
rng = np.random.default_rng(5)


def _numbers(*shape: int) -> np.ndarray:
    """Small integers: sums are exact in whatever order."""
    return rng.integers(-3, 4, shape).astype(np.float32)


def _program(lines: int, width: int, channels: int, window: int, step: int, columns: int) -> str:
    """relu(depthwise(x) + b), which is multiplied by a matrix where there are `columns`; beside it
    what it reads in its middle is added."""
    high, wide = ((n - 1) * step + window for n in (lines, width))
    x, w = f"tensor<{high}x{wide}x{channels}xf32>", f"tensor<{window}x{window}x{channels}xf32>"
    y, b = f"tensor<{lines}x{width}x{channels}xf32>", f"tensor<{channels}xf32>"
    m, z = f"tensor<{channels}x{columns}xf32>", f"tensor<{lines}x{width}x{columns}xf32>"
    product = f"""
      %z = loop.generic (y, x, n, k) in [{lines}, {width}, {columns}, {channels}]
          reads(%t[y, x, k] : {y}, %m[k, n] : {m}) writes([y, x, n] add : {z}) {{
      ^bb0(%p: f32, %q: f32):
        %v = arith.mulf %p, %q : f32
        loop.yield %v : f32
      }}"""
    return f"""
    func.func @main(%x: {x}, %w: {w}, %b: {b}, %r: {y}{f", %m: {m}" if columns else ""})
        -> {z if columns else y} {{
      %s = loop.generic (y, x, c, i, j) in [{lines}, {width}, {channels}, {window}, {window}]
          reads(%x[y * {step} + i, x * {step} + j, c] : {x}, %w[i, j, c] : {w})
          writes([y, x, c] add : {y}) {{
      ^bb0(%p: f32, %q: f32):
        %v = arith.mulf %p, %q : f32
        loop.yield %v : f32
      }}
      %t = loop.generic (y, x, c) in [{lines}, {width}, {channels}]
          reads(%s[y, x, c] : {y}, %b[c] : {b}, %r[y, x, c] : {y})
          writes([y, x, c] store : {y}) {{
      ^bb0(%p: f32, %q: f32, %u: f32):
        %v = arith.addf %p, %q : f32
        %zero = arith.constant 0.0 : f32
        %l = arith.maximumf %v, %zero : f32
        %d = arith.addf %l, %u : f32
        loop.yield %d : f32
      }}{product if columns else ""}
      func.return {f"%z : {z}" if columns else f"%t : {y}"}
    }}"""


def _inputs(
    lines: int, width: int, channels: int, window: int, step: int, columns: int
) -> tuple[list[np.ndarray], np.ndarray]:
    high, wide = ((n - 1) * step + window for n in (lines, width))
    x, w = _numbers(high, wide, channels), _numbers(window, window, channels)
    b, r, m = _numbers(channels), _numbers(lines, width, channels), _numbers(channels, columns)
    views = sliding_window_view(x, (window, window), (0, 1))[::step, ::step]
    made = np.maximum(np.einsum("yxcij,ijc->yxc", views, w) + b, 0) + r
    return ([x, w, b, r, m], made @ m) if columns else ([x, w, b, r], made)


SIZES = [
    (28, 28, 32, 3, 1),
    (20, 23, 40, 3, 1),  # vectors that are moved up, lines of a prime length
    (15, 15, 24, 5, 2),
    (19, 18, 7, 3, 1),  # shorter than a vector
    (17, 29, 144, 3, 2),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("columns", [20, 64])
def test_in_front_of_a_product(
    size: tuple[int, int, int, int, int], columns: int, target: str
) -> None:
    made = lamina.compile(_program(*size, columns), target=target, cache=False)
    fused = [s for k in made.kernels if "compute_at = block" in (s := k.schedule or "")]
    assert any(text.count("jam = d1") == 2 and "compute_with" in text for text in fused)
    given, expected = _inputs(*size, columns)
    np.testing.assert_array_equal(made(*given), expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [*SIZES, (7, 7, 20, 3, 1)])
def test_alone(size: tuple[int, int, int, int, int], target: str) -> None:
    made = lamina.compile(_program(*size, 0), target=target, cache=False)
    given, expected = _inputs(*size, 0)
    np.testing.assert_array_equal(made(*given), expected)


def test_a_schedule_that_was_chosen_can_be_given() -> None:
    text, (given, expected) = _program(*SIZES[1], 20), _inputs(*SIZES[1], 20)
    chosen = {k.name: k.schedule or "" for k in lamina.compile(text, cache=False).kernels}
    made = lamina.compile(text, schedules=chosen, cache=False)
    assert {k.name: k.schedule for k in made.kernels} == chosen
    np.testing.assert_array_equal(made(*given), expected)


def test_a_softmax_between_products_goes_row_by_row() -> None:
    q, kv = "tensor<2x64x32xf32>", "tensor<2x96x32xf32>"
    text = f"""
    func.func @main(%q: {q}, %k: {kv}, %v: {kv}) -> {q} {{
      %0 = aten.scaled_dot_product_attention.default(%q, %k, %v) : ({q}, {kv}, {kv}) -> {q}
      func.return %0 : {q}
    }}"""
    made = lamina.compile(text, cache=False)
    q_, k_, v_ = (rng.standard_normal((2, n, 32), dtype=np.float32) for n in (64, 96, 96))
    weights = np.exp(q_ @ k_.transpose(0, 2, 1) / np.sqrt(32))
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(made(q_, k_, v_), weights @ v_, rtol=1e-5, atol=1e-6)


def test_what_follows_shares_the_tiles_of_totals() -> None:
    """Tiles may compute some totals twice: what may be in place is apart."""
    text = _program(20, 23, 40, 3, 1, 0)
    assert "compute_with" not in lamina.compile(text, cache=False).kernels.schedules()
    text = text.replace("%r[y, x, c]", "%r[0, x, c]")
    made = lamina.compile(text, cache=False)
    assert "compute_with" in made.kernels.schedules()
    (x, w, b, r), both = _inputs(20, 23, 40, 3, 1, 0)
    np.testing.assert_array_equal(made(x, w, b, r), both - r + r[0])
