"""What the model of merged kernels counts, and when it pays."""

from __future__ import annotations

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.loop import GenericOp
from lamina.passes.fusion_estimate import BARRIER_SECONDS
from lamina.passes.kernel_model import (
    HAND_OVER,
    THREADS,
    estimate_product,
    estimate_rows,
    estimate_small,
    seconds,
)
from lamina.passes.team_cost import BARRIER
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


def test_a_barrier_takes_what_teams_plan_for() -> None:
    assert round(BARRIER_SECONDS * 1e9) == BARRIER


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
    assert few.seconds_saved == HAND_OVER and not few.pays
    assert estimate_rows(nests, 4, 4 << 20, MACHINE).pays


def test_rows_of_a_product_are_kept_if_storing_them_takes_longer_than_its_operand() -> None:
    assert estimate_product(1 << 20, 1 << 16, MACHINE).pays
    assert not estimate_product(1 << 16, 1 << 20, MACHINE).pays


def test_one_thread_runs_what_two_would_not_finish_earlier() -> None:
    one, other = _nests(64)
    assert estimate_small([one], [other], MACHINE).pays
    one, other = _nests(1 << 16)
    assert not estimate_small([one], [other], MACHINE).pays
