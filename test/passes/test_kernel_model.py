"""What the model of merged kernels counts, and when it pays."""

from __future__ import annotations

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.contraction import Contraction
from lamina.passes.cost.kernel_model import (
    FAR_CACHES,
    PRODUCT_ROWS,
    THREADS,
    estimate_far_panels,
    estimate_product,
    estimate_rows,
    estimate_small,
    hand_over,
    repacked_bytes,
    row_products,
    row_tasks,
    seconds,
)
from lamina.passes.cost.product_limits import ROW_MODE_ROWS
from lamina.runtime.layers import parse

MACHINE = Roofline.of(Target.parse("x86-64-v3"))


def _nests(count: int) -> list[GenericOp]:
    kind = f"tensor<{count}xf32>"
    text = f"""
    func.func @main(%x: {kind}, %y: {kind}) -> ({kind}, {kind}) {{
      %a = loop.generic (i) in [{count}] reads(%x[i] : {kind}) writes([i] store : {kind}) {{
      ^bb0(%p: f32):
        %v = arith.negf %p : f32
        loop.yield %v : f32
      }}
      %b = loop.generic (i) in [{count}]
          reads(%x[i] : {kind}, %y[i] : {kind}) writes([i] store : {kind}) {{
      ^bb0(%p: f32, %q: f32):
        %v = arith.addf %p, %q : f32
        loop.yield %v : f32
      }}
      func.return %a, %b : {kind}, {kind}
    }}"""
    return [op for op in parse(text.encode()).walk() if isinstance(op, GenericOp)]


def test_what_both_read_is_read_once() -> None:
    one, other = _nests(1 << 24)
    size = 4 << 24
    assert seconds([one], MACHINE) == 2 * size / MACHINE.memory_bandwidth
    assert seconds([one, other], MACHINE) == 4 * size / MACHINE.memory_bandwidth


def test_threads_without_rows_are_idle() -> None:
    nests = _nests(1 << 20)
    assert estimate_rows(nests, THREADS, 0, MACHINE).seconds_added == 0
    few, one = (estimate_rows(nests, rows, 0, MACHINE) for rows in (4, 1))
    assert 0 < few.seconds_added < one.seconds_added < seconds(nests, MACHINE)
    assert few.seconds_saved == hand_over(MACHINE) and not few.pays
    assert estimate_rows(nests, 4, 4 << 20, MACHINE).pays


def test_rows_of_a_product_are_kept_if_storing_them_takes_longer_than_its_operand() -> None:
    assert estimate_product(1 << 20, 1 << 16, MACHINE).pays
    assert not estimate_product(1 << 16, 1 << 20, MACHINE).pays


def _product(rows: int, columns: int, *, repacked: bool, then: str = "max") -> list[GenericOp]:
    """A product packed in panels of 16, and a nest that reduces its rows or is pointwise."""
    packed, out = f"tensor<{columns // 16}x8x16xf32>", f"tensor<{rows}x{columns}xf32>"
    note = f"#loop.packing<panel = 16{', pack_at = call' if repacked else ''}>"
    text = f"""
    func.func @main(%x: tensor<{rows}x8xf32>, %w: {packed}) -> tensor<*xf32> {{
      %p = loop.generic (m, n, k) in [{rows}, {columns}, 8]
          reads(%x[m, k] : tensor<{rows}x8xf32>, %w[n floordiv 16, k, n mod 16] : {packed})
          writes([m, n] add : {out}) attributes {{lamina.packing = {note}}} {{
      ^bb0(%a: f32, %b: f32):
        %v = arith.mulf %a, %b : f32
        loop.yield %v : f32
      }}
      %r = loop.generic (m, n) in [{rows}, {columns}] reads(%p[m, n] : {out}) WRITES {{
      ^bb0(%a: f32):
        loop.yield %a : f32
      }}
      func.return %r : RESULT
    }}"""
    result = f"tensor<{rows}xf32>" if then == "max" else out
    writes = f"writes([m] max : {result})" if then == "max" else f"writes([m, n] store : {result})"
    text = text.replace("WRITES", writes).replace("RESULT", result).replace("tensor<*xf32>", result)
    return [op for op in parse(text.encode()).walk() if isinstance(op, GenericOp)]


def _products(nests: list[GenericOp]) -> list[Contraction]:
    return row_products(nests, [Contraction.of(nest) for nest in nests])


def test_threads_take_blocks_of_rows_of_a_product() -> None:
    nests = _product(64, 128, repacked=False)
    assert row_tasks(_products(nests), 64) == 64 // PRODUCT_ROWS
    blocks = 12 * 64 // ROW_MODE_ROWS
    assert row_tasks(_products(nests), 12 * 64) == blocks  # of twelve such products
    assert row_tasks(_products(nests), 0) == 0
    assert row_tasks(_products(nests[:1]), 64) == row_tasks(_products(nests[1:]), 64) == 64
    assert row_tasks(_products(_product(64, 128, repacked=False, then="pointwise")), 64) == 64


def test_what_threads_packed_is_far_from_the_others() -> None:
    panels = 4 * 8 * 128
    assert repacked_bytes(_products(_product(64, 128, repacked=True))) == panels
    assert repacked_bytes(_products(_product(64, 128, repacked=True)[:1])) == 0
    assert repacked_bytes(_products(_product(64, 128, repacked=True, then="pointwise"))) == 0
    assert repacked_bytes(_products(_product(64, 128, repacked=False))) == 0
    assert repacked_bytes(_products(_product(64, 64, repacked=True))) == 0
    near = FAR_CACHES * MACHINE.near_bytes
    assert not estimate_far_panels(near, 0, MACHINE).pays
    assert estimate_far_panels(near + 1, 0, MACHINE).seconds_added == 0
    assert estimate_far_panels(1 << 20, 1 << 24, MACHINE).pays


def test_one_thread_runs_what_two_would_not_finish_earlier() -> None:
    one, other = _nests(64)
    assert estimate_small([one], [other], MACHINE).pays
    one, other = _nests(1 << 16)
    assert not estimate_small([one], [other], MACHINE).pays
