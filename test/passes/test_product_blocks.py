"""Products in register tiles whose sums are taken in blocks: every term is added once."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import InputError

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


def blocked(text: str, terms: int, rows: int, columns: int, copies: bool, target: str) -> str:
    """The schedule of the product kernel with its sum in blocks of `terms`."""
    module = lamina.compile(text, target=target, cache=False)
    kernel = next(k for k in module.kernels if "#loop.products" in k.schedule)
    split = f", columns = {columns}" if columns > 1 else ""
    at = ", compute_at = panel" if "compute_at" in kernel.schedule else ""
    nests = kernel.schedule.partition("#loop.schedule<")[2]
    first, _, rest = nests.partition(">")
    own = ", ".join(
        clause for clause in first.split(", ") if clause.split(" ")[0] in ("vectorize", "unroll")
    )
    reads = ", cache_read = [0]" if copies else ", cache_read = []"
    own += f", jam = d0 x {min(rows, 5)}, tile = d2 x {terms}{reads}"
    return f"{kernel.name}=[#loop.products<block = {rows}{split}{at}>, #loop.schedule<{own}>{rest}"


Shape = tuple[int, int, int]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize(
    ("shape", "terms", "rows", "columns"),
    [
        ((64, 9000, 64), 192, 64, 1),
        ((37, 8500, 45), 256, 20, 1),
        ((37, 8500, 64), 8500, 37, 2),
        ((13, 8200, 96), 100, 13, 3),
        ((40, 8300, 33), 7, 11, 1),
    ],
)
@pytest.mark.parametrize("bias", [False, True])
def test_every_term_once(
    shape: Shape, terms: int, rows: int, columns: int, copies: bool, bias: bool, target: str
) -> None:
    m, k, n = shape
    text = program(m, k, n, "f32", bias=bias)
    name, _, schedule = blocked(text, terms, rows, columns, copies, target).partition("=")
    if columns > 1 and -(-n // 32) % columns:
        columns = 1
    made = lamina.compile(text, target=target, schedules={name: schedule}, cache=False)
    a, b, d = numbers(m, k), numbers(k, n), numbers(m, n)
    expected = np.maximum(a @ b, d) if bias else a @ b
    np.testing.assert_array_equal(made(*((a, b, d) if bias else (a, b))), expected)


@pytest.mark.parametrize("shape", [(300, 20000, 70), (64, 65536, 64), (257, 17000, 129)])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_long_sums_are_taken_in_blocks(shape: Shape, element: str) -> None:
    m, k, n = shape
    made = lamina.compile(program(m, k, n, element, bias=False), cache=False)
    assert "tile = d2 x" in made.kernels.schedules()
    kind = np.float32 if element == "f32" else np.float64
    a, b = numbers(m, k, kind=kind), numbers(k, n, kind=kind)
    np.testing.assert_array_equal(made(a, b), a @ b)


@pytest.mark.parametrize("dim", ["d0", "d1"])
def test_blocks_are_of_the_sum(dim: str) -> None:
    text = program(64, 9000, 64, "f32", bias=False)
    name, _, schedule = blocked(text, 192, 64, 1, False, "x86-64-v4").partition("=")
    wrong = schedule.replace("tile = d2", f"tile = {dim}")
    with pytest.raises(InputError, match="of the only summed dimension"):
        lamina.compile(text, target="x86-64-v4", schedules={name: wrong}, cache=False)
