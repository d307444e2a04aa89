"""Products whose tasks walk the lines of an image for every panel and block of the sum."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import InputError

pytestmark = pytest.mark.one_in(3)

rng = np.random.default_rng(5)
TARGETS = ["host", "x86-64-v3"]
LINES, PIXELS, CHANNELS, COLUMNS = 5, 6, 8, 45


def program(tail: str, images: int = 1) -> str:
    """Windows of 3x3 pixels of images with channels innermost, and what follows them."""
    image = f"tensor<{images}x{LINES + 2}x{PIXELS + 2}x{CHANNELS}xf32>"
    weight = f"tensor<{COLUMNS}x3x3x{CHANNELS}xf32>"
    result = f"tensor<{images}x{LINES}x{PIXELS}x{COLUMNS}xf32>"
    last = {
        "": ("%p", ""),
        "light": ("%r", "%v = arith.addf %u, %c : f32"),
        "heavy": ("%r", "%e = math.tanh %u : f32\n    %v = arith.addf %e, %c : f32"),
    }[tail]
    follows = f"""
      %r = loop.generic (b, y, x, n) in [{images}, {LINES}, {PIXELS}, {COLUMNS}]
          reads(%p[b, y, x, n] : {result}) writes([b, y, x, n] store : {result})
          attributes {{lamina.op = "follows"}} {{
      ^bb0(%u: f32):
        %c = arith.constant 1.0 : f32
        {last[1]}
        loop.yield %v : f32
      }}"""
    dims = [images, LINES, PIXELS, COLUMNS, 3, 3, CHANNELS]
    return f"""
    func.func @main(%a: {image}, %w: {weight}) -> {result} {{
      %p = loop.generic (b, y, x, n, r, s, k) in {dims}
          reads(%a[b, y + r, x + s, k] : {image}, %w[n, r, s, k] : {weight})
          writes([b, y, x, n] add : {result}) attributes {{lamina.op = "windows"}} {{
      ^bb0(%p: f32, %q: f32):
        %v = arith.mulf %p, %q : f32
        loop.yield %v : f32
      }}
      {follows if tail else ""}
      func.return {last[0]} : {result}
    }}"""


def compiled(text: str, target: str, tasks: str, nest: str) -> lamina.Compiled:
    """The program with more clauses for its product and the tasks around."""
    made = lamina.compile(text, target=target, cache=False)
    kernel = next(k for k in made.kernels if "#loop.products" in (k.schedule or ""))
    front, _, rest = (kernel.schedule or "").partition("#loop.schedule<")
    product, _, behind = rest.partition(">")
    at = ", compute_at = panel" if "compute_at" in front else ""
    dim = product.partition("vectorize = d")[2][0]
    own = [c for c in product.split(", ") if c.partition(" ")[0] in ("vectorize", "unroll")]
    row = int(dim) - 1
    clauses = ", ".join([*own, f"jam = d{row} x 4", nest])
    schedule = f"[#loop.products<{tasks}{at}>, #loop.schedule<{clauses}>{behind}"
    return lamina.compile(text, target=target, schedules={kernel.name: schedule}, cache=False)


def expected(image: np.ndarray, weight: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
    return np.einsum("byxkrs,nrsk->byxn", windows, weight, optimize=True)


def numbers(*shape: int) -> np.ndarray:
    """Small integers: sums are exact in whatever order."""
    return rng.integers(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("tail", ["", "light", "heavy"])
@pytest.mark.parametrize(
    ("tasks", "nest"),
    [
        ("block = 6, inner_rows = 1", "cache_read = []"),
        ("block = 6, inner_rows = 1", "terms = 4, cache_read = []"),
        ("block = 6, inner_rows = 1", "terms = 8, cache_read = [0]"),
        ("block = 6, inner_rows = 1", "terms = 24, cache_read = [], prefetch_panels = 1"),
        ("block = 6, inner_rows = 1", "terms = 48, cache_read = [], tail = [2, 1]"),
        ("block = 6, inner_rows = 1", "cache_read = [0], prefetch_panels = 1"),
        ("block = 6, inner_rows = 2", "terms = 24, cache_read = [0]"),
        ("block = 6, inner_rows = 0", "terms = 24, cache_read = []"),
    ],
)
def test_every_term_of_each_line_once(tasks: str, nest: str, tail: str, target: str) -> None:
    images = 2 if "inner_rows = 2" in tasks else 1
    if nest == "terms = 24, cache_read = [0]":
        nest = "terms = 4, cache_read = [0]"
    made = compiled(program(tail, images), target, tasks, nest)
    image = numbers(images, LINES + 2, PIXELS + 2, CHANNELS)
    weight = numbers(COLUMNS, 3, 3, CHANNELS)
    wanted = expected(image, weight)
    if tail == "light":
        wanted = wanted + 1
    if tail == "heavy":
        np.testing.assert_allclose(made(image, weight), np.tanh(wanted) + 1, atol=1e-6)
        return
    np.testing.assert_array_equal(made(image, weight), wanted)


@pytest.mark.parametrize(
    ("tasks", "nest", "message"),
    [
        ("inner_rows = 3", "terms = 24", "inner_rows = 3: in front of the last row stand 1"),
        ("block = 6", "terms = 20", r"terms = 20: a sum over 3 x 3 x 8 may be cut in 1, 2, 4, 8"),
        ("block = 6", "terms = 24, cache_read = [0]", "cache_read: of a product whose rows"),
    ],
)
def test_what_no_task_walks(tasks: str, nest: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compiled(program("light"), "x86-64-v4", tasks, nest)
