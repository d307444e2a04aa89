"""Tasks of whole rows compute what follows a product of its register tiles: every row once, at its
own place, however rows are divided."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import InputError
from lamina.runtime.interpreters.run import run_module

pytestmark = pytest.mark.one_in(3)

rng = np.random.default_rng(7)
TARGETS = ["host", "x86-64-v3"]
IMAGES, LINES, PIXELS = 2, 5, 7
ROWS = IMAGES * LINES * PIXELS


def program(
    terms: int, wide: int, columns: int, middle: str = "%v = arith.addf %x, %y : f32"
) -> str:
    """Two products of the pixels of images, and what is added to the first one, a result too."""
    lines = f"{IMAGES}x{LINES}x{PIXELS}"
    a, h, o = (f"tensor<{lines}x{n}xf32>" for n in (terms, wide, columns))
    b, c = (f"tensor<{-(-n // 32)}x{k}x32xf32>" for k, n in ((terms, wide), (wide, columns)))
    nest = "lamina.nest = #loop.nest<rows = [d0, d1, d2]>"
    packed = f"{nest}, lamina.packing = #loop.packing<panel = 32>"
    domain = f"{IMAGES}, {LINES}, {PIXELS}"

    def product(name: str, left: str, right: str, kinds: tuple[str, str, str], size: str) -> str:
        return f"""
      {name} = loop.generic (m, y, x, n, k) in [{domain}, {size}]
          reads({left}[m, y, x, k] : {kinds[0]}, {right}[n floordiv 32, k, n mod 32] : {kinds[1]})
          writes([m, y, x, n] add : {kinds[2]}) attributes {{{packed}}} {{
      ^bb0(%x: f32, %y: f32):
        %v = arith.mulf %x, %y : f32
        loop.yield %v : f32
      }}"""

    return f"""
    func.func private @rows(%a: {a}, %b: {b}, %r: {h}, %c: {c}) -> ({h}, {o})
        attributes {{lamina.kernel}} {{
      {product("%p", "%a", "%b", (a, b, h), f"{wide}, {terms}")}
      %q = loop.generic (m, y, x, n) in [{domain}, {wide}]
          reads(%p[m, y, x, n] : {h}, %r[m, y, x, n] : {h}) writes([m, y, x, n] store : {h})
          attributes {{{nest}}} {{
      ^bb0(%x: f32, %y: f32):
        {middle}
        loop.yield %v : f32
      }}
      {product("%s", "%q", "%c", (h, c, o), f"{columns}, {wide}")}
      func.return %q, %s : {h}, {o}
    }}
    func.func @main(%a: {a}, %b: {b}, %r: {h}, %c: {c}) -> ({h}, {o}) {{
      %q, %s = func.call @rows(%a, %b, %r, %c) : ({a}, {b}, {h}, {c}) -> ({h}, {o})
      func.return %q, %s : {h}, {o}
    }}"""


def numbers(*shape: int) -> np.ndarray:
    """Small integers: sums are exact in whatever order."""
    return rng.integers(-4, 5, shape).astype(np.float32)


def panels(weight: np.ndarray) -> np.ndarray:
    """A matrix of whole panels as they are packed."""
    return np.ascontiguousarray(weight.reshape(len(weight), -1, 32).transpose(1, 0, 2))


def scheduled(text: str, target: str, *changes: tuple[str, str]) -> lamina.Compiled:
    """The program, with the schedule of its kernel changed by patterns."""
    (kernel,) = lamina.compile(text, target=target, cache=False).kernels
    schedule = kernel.schedule or ""
    assert "compute_at = block" in schedule
    for pattern, text_of in changes:
        schedule, count = re.subn(pattern, text_of, schedule)
        assert count, pattern
    return lamina.compile(text, target=target, schedules={kernel.name: schedule}, cache=False)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "clauses",
    [
        "compute_with",
        "compute_with, prefetch = [1]",
        "compute_with, prefetch = [1], prefetch_writes = [0]",
        "vectorize = d3 x 4",
    ],
)
@pytest.mark.parametrize(
    ("terms", "wide", "columns", "block"),
    [(40, 64, 32, 70), (37, 96, 50, 12), (64, 45, 64, 35), (9, 33, 31, 24)],
)
def test_each_row_once(
    terms: int, wide: int, columns: int, block: int, clauses: str, target: str
) -> None:
    text = program(terms, wide, columns)
    own = r"#loop\.schedule<compute_with[^>]*>"
    fewest = ROWS % block or block
    changes = [
        (r"block = \d+", f"block = {block}"),
        (own, f"#loop.schedule<{clauses}>"),
        (r"jam = d2 x \d+", f"jam = d2 x {min(6, fewest)}"),
    ]
    made = scheduled(text, target, *changes)
    a, r = numbers(IMAGES, LINES, PIXELS, terms), numbers(IMAGES, LINES, PIXELS, wide)
    b, c = numbers(terms, -(-wide // 32) * 32), numbers(wide, -(-columns // 32) * 32)
    middle, last = made(a, panels(b), r, panels(c))
    wanted = a @ b[:, :wide] + r
    np.testing.assert_array_equal(middle, wanted)
    np.testing.assert_array_equal(last, wanted @ c[:, :columns])


def test_tiles_are_interpreted_as_they_are_compiled() -> None:
    changes = [
        (r"block = \d+", "block = 35"),
        (r"#loop\.schedule<compute_with[^>]*>", "#loop.schedule<compute_with, prefetch = [1]>"),
        (r"jam = d2 x \d+", "jam = d2 x 4"),
    ]
    made = scheduled(program(5, 33, 9), "x86-64-v3", *changes)
    a, r = numbers(IMAGES, LINES, PIXELS, 5), numbers(IMAGES, LINES, PIXELS, 33)
    given = [a, panels(numbers(5, 64)), r, panels(numbers(33, 32))]
    text = made.ir("scheduled")
    assert "loop.prefetch" in text
    for found, wanted in zip(run_module(lamina.parse(text), given), made(*given), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_whole_rows_are_computed_of_tiles_unless_the_text_says_otherwise() -> None:
    text = program(40, 64, 32)
    chosen = lamina.compile(text, target="x86-64-v4", cache=False).kernels.schedules()
    assert "#loop.schedule<compute_with>" in chosen
    heavy = program(40, 64, 32, "%t = math.tanh %x : f32\n        %v = arith.addf %t, %y : f32")
    assert (
        "compute_with"
        not in lamina.compile(heavy, target="x86-64-v4", cache=False).kernels.schedules()
    )


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("compute_with, prefetch = [0]", r"prefetch = \[0\]: of reads along the columns .* \[1\]"),
        ("compute_with, prefetch = [5]", "prefetch"),
        ("compute_with, prefetch_writes = [1]", "prefetch_writes"),
        ("compute_with, unroll = 2", "unroll: of totals that another nest computes"),
        ("vectorize = d3 x 4, prefetch_writes = [0]", "prefetch_writes: only of packed products"),
    ],
)
def test_what_cannot_be_asked_for(clauses: str, message: str) -> None:
    text, own = program(40, 64, 32), r"#loop\.schedule<compute_with[^>]*>"
    with pytest.raises(InputError, match=message):
        scheduled(text, "x86-64-v4", (own, f"#loop.schedule<{clauses}>"))


def test_a_reduction_is_not_computed_of_tiles() -> None:
    text = """
    func.func private @rows(%a: tensor<64x40xf32>, %b: tensor<2x40x32xf32>) -> tensor<64xf32>
        attributes {lamina.kernel} {
      %p = loop.generic (m, n, k) in [64, 64, 40]
          reads(%a[m, k] : tensor<64x40xf32>, %b[n floordiv 32, k, n mod 32] : tensor<2x40x32xf32>)
          writes([m, n] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>,
          lamina.packing = #loop.packing<panel = 32>} {
      ^bb0(%x: f32, %y: f32):
        %v = arith.mulf %x, %y : f32
        loop.yield %v : f32
      }
      %q = loop.generic (m, n) in [64, 64] reads(%p[m, n] : tensor<64x64xf32>)
          writes([m] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
      ^bb0(%x: f32):
        loop.yield %x : f32
      }
      func.return %q : tensor<64xf32>
    }
    func.func @main(%a: tensor<64x40xf32>, %b: tensor<2x40x32xf32>) -> tensor<64xf32> {
      %r = func.call @rows(%a, %b) : (tensor<64x40xf32>, tensor<2x40x32xf32>) -> tensor<64xf32>
      func.return %r : tensor<64xf32>
    }"""
    last = r"#loop\.schedule<vectorize = d1 x 16, unroll = \d+>\]"
    with pytest.raises(InputError, match="compute_with: nests of register tiles are pointwise"):
        scheduled(text, "x86-64-v4", (last, "#loop.schedule<compute_with>]"))
