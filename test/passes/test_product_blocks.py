"""Products in register tiles whose sums are taken in blocks: every term is added once."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import InputError

pytestmark = pytest.mark.one_in(3)

rng = np.random.default_rng(3)
TARGETS = ["host", "x86-64-v3"]


def program(m: int, k: int, n: int, element: str, *, bias: bool) -> str:
    """A product, packed by a kernel of its own; perhaps with something for each panel."""
    a, b, c = (f"tensor<{x}x{y}x{element}>" for x, y in ((m, k), (k, n), (m, n)))
    tail = f"%r = prims.maximum(%p, %d) : ({c}, {c}) -> {c}" if bias else ""
    more = f", %d: {c}" if bias else ""
    return f"""
    func.func @main(%a: {a}, %b: {b}{more}) -> {c} {{
      %p = core_aten.mm.default(%a, %b) : ({a}, {b}) -> {c}
      {tail.replace("prims.maximum", "core_aten.maximum.default")}
      func.return {"%r" if bias else "%p"} : {c}
    }}"""


def numbers(*shape: int, kind: type = np.float32) -> np.ndarray:
    """Small integers: sums are exact in whatever order."""
    return rng.integers(-4, 5, shape).astype(kind)


def blocked(
    text: str, height: int, terms: int, rows: int, columns: int, copies: bool, target: str
) -> str:
    """The schedule of a product of `height` rows with its sum in blocks of `terms`."""
    fewest = height % rows or rows
    module = lamina.compile(text, target=target, cache=False)
    kernel = next(k for k in module.kernels if "#loop.products" in (k.schedule or ""))
    chosen = kernel.schedule or ""
    split = f", columns = {columns}"
    at = ", compute_at = panel" if "compute_at" in chosen else ""
    nests = chosen.partition("#loop.schedule<")[2]
    first, _, rest = nests.partition(">")
    own = ", ".join(
        clause for clause in first.split(", ") if clause.split(" ")[0] in ("vectorize", "unroll")
    )
    reads = ", cache_read = [0]" if copies else ", cache_read = []"
    own += f", jam = d0 x {min(fewest, 5)}, terms = {terms}{reads}"
    return f"{kernel.name}=[#loop.products<block = {rows}{split}{at}>, #loop.schedule<{own}>{rest}"


Shape = tuple[int, int, int]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize(
    ("shape", "terms", "rows", "columns"),
    [
        ((1040, 900, 64), 192, 64, 1),
        ((1037, 500, 45), 256, 20, 1),
        ((1037, 300, 64), 300, 600, 2),
        ((1026, 401, 96), 100, 13, 3),
        ((1040, 83, 33), 7, 11, 1),
    ],
)
@pytest.mark.parametrize("bias", [False, True])
def test_every_term_once(
    shape: Shape, terms: int, rows: int, columns: int, copies: bool, bias: bool, target: str
) -> None:
    m, k, n = shape
    text = program(m, k, n, "f32", bias=bias)
    name, _, schedule = blocked(text, m, terms, rows, columns, copies, target).partition("=")
    if columns > 1 and -(-n // 32) % columns:
        columns = 1
    made = lamina.compile(text, target=target, schedules={name: schedule}, cache=False)
    a, b, d = numbers(m, k), numbers(k, n), numbers(m, n)
    expected = np.maximum(a @ b, d) if bias else a @ b
    np.testing.assert_array_equal(made(*((a, b, d) if bias else (a, b))), expected)


@pytest.mark.parametrize(
    ("shape", "clause"),
    [
        ((300, 20000, 70), "terms ="),
        ((64, 65536, 64), "terms ="),
        ((257, 17000, 129), "terms ="),
        ((1100, 9000, 40), "terms ="),
    ],
)
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_long_sums_are_taken_in_blocks(shape: Shape, clause: str, element: str) -> None:
    m, k, n = shape
    made = lamina.compile(program(m, k, n, element, bias=False), cache=False)
    assert clause in made.kernels.schedules()
    kind = np.float32 if element == "f32" else np.float64
    a, b = numbers(m, k, kind=kind), numbers(k, n, kind=kind)
    np.testing.assert_array_equal(made(a, b), a @ b)


@pytest.mark.parametrize("tail", [[1], [4], [5], [4, 2], [4, 3, 2, 1]], ids=str)
@pytest.mark.parametrize(("rows", "terms"), [(13, 900), (27, 900), (27, 100), (64, 64)])
def test_rows_that_tiles_leave_over(rows: int, terms: int, tail: list[int]) -> None:
    m, k, n = 1040, 900, 64
    text = program(m, k, n, "f32", bias=True)
    name, _, schedule = blocked(text, m, terms, rows, 1, False, "host").partition("=")
    schedules = {name: schedule.replace(", terms", f", tail = {tail}, terms")}
    made = lamina.compile(text, schedules=schedules, cache=False)
    assert f"tail = {tail}" in made.kernels.schedules()
    a, b, d = numbers(m, k), numbers(k, n), numbers(m, n)
    np.testing.assert_array_equal(made(a, b, d), np.maximum(a @ b, d))


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("[6]", r"tail = \[6\]: at most 5, the rows of a tile"),
        ("[64, 1]", r"tail = \[64, 1\]: at most 5, the rows of a tile"),
        ("[4, 4]", r"tail names one twice"),
        ("[2, 3]", r"tail = \[2, 3\]: rows of tiles, fewer in each than in that in front of it"),
        ("[2, 0]", r"tail = \[2, 0\]: rows of tiles"),
        ("[]", r"tail = \[\]: rows of tiles"),
    ],
)
def test_a_tail_has_fewer_rows_than_tiles(tail: str, message: str) -> None:
    text = program(1040, 900, 64, "f32", bias=False)
    name, _, schedule = blocked(text, 1040, 900, 64, 1, False, "x86-64-v4").partition("=")
    wrong = schedule.replace(", terms", f", tail = {tail}, terms")
    with pytest.raises(InputError, match=message):
        lamina.compile(text, target="x86-64-v4", schedules={name: wrong}, cache=False)


def test_columns_that_are_packed_already_have_no_tile() -> None:
    text = program(1040, 900, 64, "f32", bias=False)
    name, _, schedule = blocked(text, 1040, 192, 64, 1, False, "x86-64-v4").partition("=")
    wrong = schedule.replace("terms = 192", "tile = d1 x 32")
    with pytest.raises(
        InputError, match=r"tile: a packed product here may have .*, terms, prefetch"
    ):
        lamina.compile(text, target="x86-64-v4", schedules={name: wrong}, cache=False)


def whole_rows(m: int, k: int, n: int) -> str:
    """A kernel of a product and what its rows are less than their maximum."""
    a, b, c = f"tensor<{m}x{k}xf32>", f"tensor<{-(-n // 32)}x{k}x32xf32>", f"tensor<{m}x{n}xf32>"
    nest = "lamina.nest = #loop.nest<rows = [d0]>"
    kernel = f"""
    func.func private @rows(%a: {a}, %b: {b}) -> {c} attributes {{lamina.kernel}} {{
      %p = loop.generic (m, n, k) in [{m}, {n}, {k}]
          reads(%a[m, k] : {a}, %b[n floordiv 32, k, n mod 32] : {b}) writes([m, n] add : {c})
          attributes {{{nest}, lamina.packing = #loop.packing<panel = 32>}} {{
      ^bb0(%x: f32, %y: f32):
        %v = arith.mulf %x, %y : f32
        loop.yield %v : f32
      }}
      %q = loop.generic (m, n) in [{m}, {n}] reads(%p[m, n] : {c})
          writes([m] max : tensor<{m}xf32>) attributes {{{nest}}} {{
      ^bb0(%x: f32):
        loop.yield %x : f32
      }}
      %r = loop.generic (m, n) in [{m}, {n}] reads(%p[m, n] : {c}, %q[m] : tensor<{m}xf32>)
          writes([m, n] store : {c}) attributes {{{nest}}} {{
      ^bb0(%x: f32, %y: f32):
        %v = arith.subf %y, %x : f32
        loop.yield %v : f32
      }}
      func.return %r : {c}
    }}"""
    return f"""{kernel}
    func.func @main(%a: {a}, %b: {b}) -> {c} {{
      %r = func.call @rows(%a, %b) : ({a}, {b}) -> {c}
      func.return %r : {c}
    }}"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize(
    ("shape", "terms", "rows", "tile"),
    [
        ((64, 900, 96), 192, 64, 8),
        ((37, 500, 45), 256, 20, 7),
        ((37, 300, 64), 300, 37, 5),
        ((26, 401, 130), 100, 13, 4),
        ((40, 83, 33), 7, 11, 3),
    ],
)
def test_whole_rows_take_blocks_of_the_sum(
    shape: Shape, terms: int, rows: int, tile: int, copies: bool, target: str
) -> None:
    m, k, n = shape
    text = whole_rows(m, k, n)
    (kernel,) = lamina.compile(text, target=target, cache=False).kernels
    assert kernel.schedule is not None and "compute_at = block" in kernel.schedule
    front, _, rest = kernel.schedule.partition("jam = d0 x ")
    own = f"jam = d0 x {min(tile, m % rows or rows)}, terms = {terms}"
    own += f", cache_read = [{0 if copies else ''}]>"
    head = re.sub(r"block = \d+", f"block = {rows}", front)
    schedule = f"{head}{own}{rest.partition('>')[2]}"
    made = lamina.compile(text, target=target, schedules={kernel.name: schedule}, cache=False)
    assert f"terms = {terms}" in made.kernels.schedules()
    a, b = numbers(m, k), numbers(k, -(-n // 32) * 32)
    panels = np.ascontiguousarray(b.reshape(k, -1, 32).transpose(1, 0, 2))
    wanted = a @ b[:, :n]
    np.testing.assert_array_equal(made(a, panels), wanted.max(1, keepdims=True) - wanted)


def test_streamed_rows_have_no_blocks_of_the_sum() -> None:
    text = """
    func.func @main(%q: tensor<2x300x64xf32>, %k: tensor<2x64x2048xf32>,
                    %v: tensor<2x2048x64xf32>) -> tensor<2x300x64xf32> {
      %s = core_aten.bmm.default(%q, %k)
          : (tensor<2x300x64xf32>, tensor<2x64x2048xf32>) -> tensor<2x300x2048xf32>
      %p = core_aten._softmax.default(%s, dim = 2, half_to_float = false)
          : (tensor<2x300x2048xf32>) -> tensor<2x300x2048xf32>
      %o = core_aten.bmm.default(%p, %v)
          : (tensor<2x300x2048xf32>, tensor<2x2048x64xf32>) -> tensor<2x300x64xf32>
      func.return %o : tensor<2x300x64xf32>
    }"""
    kernel = lamina.compile(text, target="x86-64-v4", cache=False).kernels[-1]
    assert kernel.schedule is not None and "#loop.products<" in kernel.schedule
    schedule = kernel.schedule.replace("jam = ", "terms = 64, jam = ", 1)
    with pytest.raises(InputError, match="terms: where rows are one dimension"):
        lamina.compile(text, target="x86-64-v4", schedules={kernel.name: schedule}, cache=False)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize(
    ("shape", "terms", "panels"),
    [
        ((9, 300, 250), 128, 4),
        ((37, 257, 70), 64, 1),
        ((13, 1000, 60), 7, 2),
        ((20, 130, 129), 130, 1),
        ((20, 129, 33), 128, 2),
    ],
)
@pytest.mark.parametrize("bias", [False, True])
def test_tasks_pack_blocks(
    shape: Shape, terms: int, panels: int, copies: bool, turned: bool, bias: bool, target: str
) -> None:
    m, k, n = shape
    text = program(m, k, n, "f32", bias=bias)
    if turned:
        text = text.replace(f"tensor<{k}x{n}xf32>", f"tensor<{n}x{k}xf32>").replace(
            "%p = core_aten.mm.default(%a, %b)",
            f"%t = core_aten.permute.default(%b, dims = [1, 0]) : (tensor<{n}x{k}xf32>) -> "
            f"tensor<{k}x{n}xf32>\n      %p = core_aten.mm.default(%a, %t)",
        )
        text = text.replace(
            f"(tensor<{m}x{k}xf32>, tensor<{n}x{k}xf32>) ->",
            f"(tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) ->",
        )
    rows = min(m, 16)
    name, _, schedule = blocked(text, m, terms, rows, 1, copies, target).partition("=")
    width = 32 if target == "host" else 16
    several = f"tile = d1 x {panels * 32}, " if not turned and width == 32 else ""
    schedule = schedule.replace("terms =", f"{several}terms =")
    made = lamina.compile(text, target=target, schedules={name: schedule}, cache=False)
    assert f"terms = {terms}" in made.kernels.schedules()
    a, b, d = numbers(m, k), numbers(k, n), numbers(m, n)
    expected = np.maximum(a @ b, d) if bias else a @ b
    given = np.ascontiguousarray(b.T) if turned else b
    np.testing.assert_array_equal(made(*((a, given, d) if bias else (a, given))), expected)
