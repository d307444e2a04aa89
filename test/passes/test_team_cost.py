"""What a kernel is said to take on one core, and when several threads pay."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ParallelOp

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.passes.cost.team_cost import (
    NANOSECONDS,
    kernel_nanoseconds,
    sharing_pays,
    team_pays,
)
from lamina.runtime.layers import lower, parse

TARGET = Target.parse("x86-64-v4")
MACHINE = Roofline.of(TARGET)

POINTWISE = """
func.func @main(%x: tensor<{n}x{t}>) -> tensor<{n}x{t}> {{
  %0 = aten.{op}.default(%x) : (tensor<{n}x{t}>) -> tensor<{n}x{t}>
  func.return %0 : tensor<{n}x{t}>
}}
"""

SORT = """
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0, %1 = aten.sort.default(%x) : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xi64>)
  func.return %0 : tensor<64x64xf32>
}
"""


def scheduled(text: str, target: Target = TARGET) -> ModuleOp:
    module = parse(text)
    lower(module, "aten", "scheduled", target)
    return module


def estimates(text: str) -> list[int]:
    """Nanoseconds that `schedule` notes on each kernel."""
    return [
        op.attributes[NANOSECONDS].value.data  # pyright: ignore - an integer
        for op in scheduled(text).body.block.ops
        if isinstance(op, FuncOp) and isinstance(op.attributes.get(NANOSECONDS), IntegerAttr)
    ]


def pointwise(op: str, count: int, kind: str = "f32") -> str:
    return POINTWISE.format(op=op, n=count, t=kind)


def test_memory_bounds_light_bodies() -> None:
    traffic = 2 * 4 * 100_000
    assert estimates(pointwise("neg", 100_000)) == [
        round(1e9 * traffic / MACHINE.bandwidth(traffic))
    ]


def test_doubles_take_twice_as_long_where_arithmetic_bounds() -> None:
    (single,), (double,) = (estimates(pointwise("tanh", 4096, kind)) for kind in ("f32", "f64"))
    assert double in (2 * single, 2 * single + 1, 2 * single - 1)
    assert single > 1e9 * 2 * 4 * 4096 / MACHINE.bandwidth(2 * 4 * 4096)


def test_sorts_are_counted_as_scalar_code() -> None:
    assert max(estimates(SORT)) > 10 * max(estimates(pointwise("neg", 64 * 64)))


def test_a_kernel_without_nests_takes_no_time() -> None:
    text = "func.func private @k(%x: memref<4xf32>) attributes {lamina.kernel} { func.return }"
    (function,) = parse(text).body.block.ops
    assert isinstance(function, FuncOp)
    assert kernel_nanoseconds(function, MACHINE) == 0


def test_half_of_the_time_must_pay_for_the_fork_and_each_barrier() -> None:
    target = Target.parse("x86-64-v4;fork_nanoseconds=1000;barrier_nanoseconds=100")
    assert team_pays(2000, 0, target) and not team_pays(1998, 0, target)
    assert team_pays(2600, 3, target) and not team_pays(2600, 4, target)
    assert sharing_pays(200, target) and not sharing_pays(198, target)


def test_what_a_team_costs_is_the_targets() -> None:
    text = pointwise("tanh", 1 << 16)
    assert "loop.team" in str(scheduled(text))
    slow = replace(TARGET, fork_nanoseconds=1e8)
    assert "loop.team" not in str(scheduled(text, slow))


def test_teams_are_merged_at_the_targets_cost() -> None:
    """Of two kernels that need a barrier, where that takes longer than either."""
    text = """
    func.func @main(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %0 = aten.softmax.int(%x, dim = 0) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
      %1 = aten.mm.default(%0, %0)
        : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
      func.return %1 : tensor<1024x1024xf32>
    }"""
    assert "loop.team" in str(scheduled(text))
    assert "loop.team" not in str(scheduled(text, replace(TARGET, barrier_nanoseconds=1e9)))


def test_the_roofline_is_made_of_the_targets_figures() -> None:
    figures = {"clock_hz": 2e9, "arithmetic_ports": 1.5, "memory_bandwidth": 5e9}
    rates = {"l2_bytes_per_cycle": 10.0, "l3_bytes_per_cycle": 4.0}
    machine = Roofline.of(replace(TARGET, **figures, **rates, barrier_nanoseconds=500.0))
    assert machine.peak_flops == 1.5 * 16 * 2e9
    assert [bandwidth for _, bandwidth in machine.caches[1:]] == [20e9, 8e9]
    assert machine.memory_bandwidth == 5e9
    assert machine.clock_hz == 2e9 and machine.barrier_seconds == 5e-7


def test_only_programs_that_take_long_have_a_team() -> None:
    assert "loop.team" in str(scheduled(pointwise("tanh", 1 << 16)))
    assert "loop.team" not in str(scheduled(pointwise("tanh", 1 << 12)))


def tasks(op: str, count: int) -> list[int]:
    """Iterations of the parallel loop of each kernel."""
    return [
        loop.upperBound[0].owner.value.value.data  # pyright: ignore - a constant
        for function in scheduled(pointwise(op, count)).body.block.ops
        for loop in function.walk()
        if isinstance(loop, ParallelOp)
    ]


def test_tasks_of_one_dimension_are_as_long_as_their_work_asks() -> None:
    """Few ones are a power of two, which threads share evenly; from 64 on they get longer."""
    assert tasks("tanh", 1 << 16) == [64]
    assert tasks("tanh", 48_000) == [32]
    assert tasks("tanh", 1 << 20) == [128]
    assert tasks("neg", 1 << 17) == [16]
