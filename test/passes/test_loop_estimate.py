"""Estimates of scheduled kernels order their schedules as machines do."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.passes.cost.loop_estimate import LoopEstimate, estimate_loops
from lamina.passes.schedule.apply_schedule import apply_schedule
from lamina.passes.schedule.schedule_texts import give_schedules
from lamina.runtime.entry import function_named

TARGET = Target.parse("x86-64-v4")


def kernel(shape: Sequence[int], body: str, written: str) -> str:
    kind = f"memref<{'x'.join(map(str, shape))}xf32>"
    result = f"memref<{shape[0]}xf32>" if written.startswith("[d0] add") else kind
    dims = ", ".join(f"d{n}" for n in range(len(shape)))
    return f"""
    func.func @main(%x: {kind}, %y: {result} {{lamina.kind = "output"}})
        attributes {{lamina.entry}} {{
      func.call @k(%x, %y) : ({kind}, {result}) -> ()
      func.return
    }}
    func.func private @k(%x: {kind}, %y: {result}) attributes {{lamina.kernel}} {{
      loop.generic ({dims}) in {list(shape)} reads(%x[{dims}] : {kind})
          writes({written} into %y : {result})
          attributes {{lamina.nest = #loop.nest<rows = [d0]>}} {{
      ^bb0(%v: f32):
        {body}
      }}
      func.return
    }}"""


SUM = kernel((32, 4096), "loop.yield %v : f32", "[d0] add")
EXP = kernel((512,), "%e = math.exp %v : f32\n loop.yield %e : f32", "[d0] store")
COPY = kernel((512,), "loop.yield %v : f32", "[d0] store")
LARGE = kernel((1 << 24,), "loop.yield %v : f32", "[d0] store")


def estimate(text: str, schedule: str) -> LoopEstimate:
    module = lamina.parse(text)
    give_schedules(module, {"k": schedule}, Context())
    function = function_named(module, "k")
    assert function is not None
    apply_schedule(function)
    return estimate_loops(function, TARGET)


@pytest.mark.parametrize(
    ("text", "faster", "slower"),
    [
        (SUM, "vectorize = d1 x 16, unroll = 4", "vectorize = d1 x 16, unroll = 1"),
        (SUM, "vectorize = d1 x 16, unroll = 4", "vectorize = d1 x 4, unroll = 4"),
        (SUM, "vectorize = d1 x 16, unroll = 1", "unroll = 1"),
        (EXP, "vectorize = d0 x 16", "vectorize = d0 x 8"),
        (EXP, "vectorize = d0 x 8", ""),
    ],
)
def test_order(text: str, faster: str, slower: str) -> None:
    rows = "#loop.rows<inner = [0]>" if text in (EXP, COPY) else "#loop.rows<>"
    one, other = (
        estimate(text, f"[{rows}, #loop.schedule<{clauses}>]") for clauses in (faster, slower)
    )
    assert one.nanoseconds < 0.9 * other.nanoseconds


def test_a_sum_of_one_chain_waits_for_each_addition() -> None:
    """32 rows of 256 vectors, four cycles each."""
    made = estimate(SUM, "[#loop.rows<>, #loop.schedule<vectorize = d1 x 16, unroll = 1>]")
    assert 32 * 256 * 4 <= made.cycles <= 32 * 256 * 4.5


def test_a_team_takes_half_and_a_fork() -> None:
    alone = estimate(SUM, "[#loop.rows<parallel = false>, #loop.schedule<vectorize = d1 x 16>]")
    shared = estimate(SUM, "[#loop.rows<parallel>, #loop.schedule<vectorize = d1 x 16>]")
    assert (alone.threads, shared.threads) == (1, 2)
    assert shared.cycles == pytest.approx(alone.cycles / 2, rel=0.01)


def test_bytes_are_those_that_do_not_fit() -> None:
    rows = "#loop.rows<inner = [0]>, #loop.schedule<vectorize = d0 x 16>"
    assert estimate(COPY, f"[{rows}]").fetched == (0, 0, 0)
    large = estimate(LARGE, f"[{rows}]")
    assert large.fetched == (3 << 26,) * 3  # what is stored is read first
    assert large.nanoseconds == pytest.approx(1e9 * (3 << 26) / TARGET.memory_bandwidth)


TURN = """
func.func @main(%x: memref<{n}x{n}xf32>, %y: memref<{n}x{n}xf32> {{lamina.kind = "output"}})
    attributes {{lamina.entry}} {{
  func.call @k(%x, %y) : (memref<{n}x{n}xf32>, memref<{n}x{n}xf32>) -> ()
  func.return
}}
func.func private @k(%x: memref<{n}x{n}xf32>, %y: memref<{n}x{n}xf32>)
    attributes {{lamina.kernel}} {{
  loop.generic (i, j) in [{n}, {n}] reads(%x[j, i] : memref<{n}x{n}xf32>)
      writes([i, j] store into %y : memref<{n}x{n}xf32>)
      attributes {{lamina.nest = #loop.nest<rows = [d0, d1]>}} {{
  ^bb0(%v: f32):
    loop.yield %v : f32
  }}
  func.return
}}"""


@pytest.mark.parametrize("tile", [32, 64, 128, 160])
@pytest.mark.parametrize("extent", [144, 160, 200, 256])
def test_tiles_that_leave_a_rest_are_counted_whole(extent: int, tile: int) -> None:
    rows, along = "#loop.rows<inner = [0, 1]>", "vectorize = d1 x 16, transpose = d0"
    made, whole = (
        estimate(
            TURN.format(n=extent), f"[{rows}, #loop.schedule<{along}, tile = d0 x {positions}>]"
        )
        for positions in (tile, 256)
    )
    assert made.cycles == pytest.approx(whole.cycles, rel=0.05)
