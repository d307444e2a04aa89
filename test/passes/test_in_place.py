"""Results over dying inputs: what is allowed, what is refused, and that the numbers stay right."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from xdsl.dialects import func

import lamina
from lamina.passes.memory.in_place import in_place_pairs
from lamina.runtime.layers import parse

M = "memref<4x4xf32>"
STORE = f"writes([d0, d1] store into %out : {M}) {{"


def pairs(*nests: str, kind: str = M) -> list[tuple[int, int]]:
    """What a kernel of two inputs and one result allows."""
    body = "\n".join(nests)
    module = parse(f"""func.func private @kernel_0(%x: {kind}, %y: {kind}, %out: {M})
    attributes {{lamina.kernel}} {{
{body}
  func.return
}}""")
    (kernel,) = (op for op in module.body.ops if isinstance(op, func.FuncOp))
    return in_place_pairs(kernel)


def nest(reads: str, arguments: str = "%p: f32", body: str = "", value: str = "%p") -> str:
    return f"""  loop.generic (d0, d1) in [4, 4] {reads} {STORE}
  ^bb0({arguments}):
    {body}
    loop.yield {value} : f32
  }}"""


def test_what_is_read_where_it_is_written() -> None:
    assert pairs(nest(f"reads(%x[d0, d1] : {M})")) == [(0, 2)]
    both = f"reads(%x[d0, d1] : {M}, %y[d0, d1] : {M})"
    add = "%s = arith.addf %p, %q : f32"
    assert pairs(nest(both, "%p: f32, %q: f32", add, "%s")) == [(0, 2), (1, 2)]


REFUSED: dict[str, Callable[[], list[tuple[int, int]]]] = {
    "another element": partial(pairs, nest(f"reads(%x[d1, d0] : {M})")),
    "a shifted element": partial(pairs, nest(f"reads(%x[d0, d1 - 1] pad 0.0 : f32 : {M})")),
    "two elements": partial(
        pairs, nest(f"reads(%x[d0, d1] : {M}, %x[d1, d0] : {M})", "%p: f32, %q: f32")
    ),
    "one of a row": partial(pairs, nest(f"reads(%x[d0, 0] : {M})")),
    "another size": partial(
        pairs, nest("reads(%x[d0, d1] : memref<4x8xf32>)"), kind="memref<4x8xf32>"
    ),
    "another type": partial(
        pairs,
        nest(
            "reads(%x[d0, d1] : memref<4x4xi32>)",
            "%p: i32",
            "%f = arith.sitofp %p : i32 to f32",
            "%f",
        ),
        kind="memref<4x4xi32>",
    ),
    "computed indices": partial(
        pairs,
        nest(
            f"reads(%y[d0, d1] : {M}) sources(%x : {M})",
            f"%p: f32, %t: {M}",
            "%i = loop.index 0 : index\n    %r = loop.read %t[%i, %i] : " + M,
            "%r",
        ),
    ),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_may_not_be_written_over(case: str) -> None:
    assert (0, 2) not in REFUSED[case]()


def test_an_input_that_another_nest_reads_too_is_kept() -> None:
    row = f"""  %t = memref.alloc() : memref<4xf32>
  loop.generic (d0, d1) in [4, 4] reads(%x[d0, d1] : {M})
    writes([d0] add into %t : memref<4xf32>) {{
  ^bb0(%p: f32):
    loop.yield %p : f32
  }}"""
    divide = nest(
        f"reads(%x[d0, d1] : {M}, %t[d0] : memref<4xf32>)",
        "%p: f32, %q: f32",
        "%s = arith.divf %p, %q : f32",
        "%s",
    )
    assert pairs(row, divide) == []


def chain(rows: int, columns: int) -> str:
    """Three kernels at the fused layer, each to be written over the one before."""
    t = f"tensor<{rows}x{columns}xf32>"
    return f"""func.func @main(%x: {t}, %y: {t}) -> {t} {{
  %a = func.call @kernel_0(%x, %y) : ({t}, {t}) -> {t}
  %b = func.call @kernel_0(%a, %y) : ({t}, {t}) -> {t}
  %c = func.call @kernel_0(%b, %y) : ({t}, {t}) -> {t}
  %d = func.call @kernel_0(%c, %y) : ({t}, {t}) -> {t}
  func.return %d : {t}
}}
func.func private @kernel_0(%x: {t}, %y: {t}) -> {t} attributes {{lamina.kernel}} {{
  %r = loop.generic (d0, d1) in [{rows}, {columns}]
    reads(%x[d0, d1] : {t}, %y[d0, d1] : {t}) writes([d0, d1] store : {t}) {{
  ^bb0(%p: f32, %q: f32):
    %s = arith.mulf %p, %q : f32
    %u = arith.addf %s, %q : f32
    loop.yield %u : f32
  }}
  func.return %r : {t}
}}"""


@pytest.mark.parametrize("rows,columns", [(1, 1), (3, 7), (5, 33), (2, 100), (64, 65), (200, 1000)])
def test_chains_of_kernels_take_one_buffer(rows: int, columns: int) -> None:
    generator = np.random.default_rng(0)
    x, y = (generator.standard_normal((rows, columns)).astype(np.float32) for _ in range(2))
    program = lamina.compile(chain(rows, columns))
    expected = x
    for _ in range(4):
        expected = expected * y + y
    np.testing.assert_allclose(program(x, y), expected, rtol=1e-5, atol=1e-5)
    assert program.memory.arena == -(-x.nbytes // 64) * 64
