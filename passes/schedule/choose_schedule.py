"""`choose-schedule`: decides how each kernel and each of its nests runs, as attributes.

A schedule that stands in the text wins; a part of one is completed. `apply-schedule` carries out
what stands there. Each class of kernel has a file: `choose_rows`, `choose_products`,
`choose_unstructured`; what is common to the sweeps of rows is in `choose_sweeps`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import floor, prod
from types import MappingProxyType
from typing import Any

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, MemRefType, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.live_rows import LiveRowsAttr
from lamina.dialects.loop.pairs import PAIR_BYTES
from lamina.dialects.loop.schedules import (
    SCHEDULE,
    NestSchedule,
    PairTasks,
    PairTasksAttr,
    ProductTasksAttr,
    ScheduleAttr,
    UnstructuredTasksAttr,
)
from lamina.dialects.loop.tiles import TILE_COLUMNS
from lamina.passes.cost.cache_shares import pairs_packed
from lamina.passes.cost.kernel_costs import COST, kernel_cost
from lamina.passes.cost.row_limits import PARALLEL_WORK
from lamina.passes.cost.team_cost import (
    LIVE,
    NANOSECONDS,
    kernel_nanoseconds,
    live_of_kernel,
    program_nanoseconds,
    team_pays,
)
from lamina.passes.fusion.outline_kernels import KERNEL
from lamina.passes.schedule.choose_products import choose_products
from lamina.passes.schedule.choose_rows import choose_rows, work
from lamina.passes.schedule.choose_sweeps import decide, element_bits
from lamina.passes.schedule.extended_choosers import choose_by_extensions, is_given
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.kernel_parts import Part, parts_of, schedules_of
from lamina.passes.schedule.live_rows import joined_live_rows
from lamina.passes.schedule.pair_copy import PAIR_ROW, PairCopy
from lamina.passes.schedule.scratch_legality import verify_scratch
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.streaming import streamed_arguments
from lamina.passes.schedule.unstructured_ops import Unstructured


@dataclass(frozen=True)
class ChooseSchedulePass(ModulePass):
    """Choose the schedule of every kernel for a target (a name that `Target.parse` knows)."""

    name = "choose-schedule"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.parse(self.target)
        machine = Roofline.of(target)
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        kernels = [function for function in functions if KERNEL in function.attributes]
        for function in kernels:
            function.attributes[COST] = kernel_cost(function).attribute()
            estimate = kernel_nanoseconds(function, machine)
            function.attributes[NANOSECONDS] = IntegerAttr(estimate, i64)
            if (live := live_of_kernel(function)) is not None:
                function.attributes[LIVE] = LiveRowsAttr(live)
        forks = team_pays(program_nanoseconds(functions), 0, target)
        streamed = streamed_arguments(op, target)
        for function in kernels:
            choose_by_extensions(function, target, ctx)
            past = streamed.get(function.sym_name.data, {})
            choose_kernel(function, target, forks=forks, streamed=past)


def choose_kernel(
    function: func.FuncOp,
    target: Target,
    *,
    forks: bool = True,
    streamed: Mapping[int, Fraction] = MappingProxyType({}),
) -> None:
    """Write the schedule of one bufferized kernel function.

    Without `forks` it runs on the calling thread alone. The arguments whose numbers are in
    `streamed` are written past the caches if more than such a part of the rows counts. Raises
    InputError for what a kernel's text says that no kernel of the target, or of the scratch that
    there is, may have.
    """
    complete = partial(_complete, target=target, forks=forks, streamed=streamed)
    given = function.clone() if is_given(function) else None
    complete(function)
    if given is not None:
        verify_scratch(given, complete)


def _complete(
    function: func.FuncOp, *, target: Target, forks: bool, streamed: Mapping[int, Fraction]
) -> None:
    parts = parts_of(function)
    if not parts:
        return
    past: dict[SSAValue, Fraction] = {
        function.body.block.args[n]: part for n, part in streamed.items()
    }
    chosen = [
        part.kind(_choose(part, given, target, forks=forks))
        for part, given in zip(parts, schedules_of(function, parts), strict=True)
    ]
    function.attributes[SCHEDULE] = ArrayAttr(chosen)
    for part in parts:
        for stage in part.stages:
            _choose_stores(stage, past)
            _verify_lanes(stage, target)
            if stage.schedule != NestSchedule():
                stage.op.attributes[SCHEDULE] = ScheduleAttr(stage.schedule)


def _choose(part: Part, given: Any, target: Target, *, forks: bool) -> Any:
    if part.op is not None:
        from lamina.passes.schedule.choose_unstructured import choose_unstructured

        tasks = choose_unstructured(part.op, given, target, forks=forks)
        _verify_op_lanes(part.op, tasks.lanes or 1, target)
        return tasks
    if part.kind is ProductTasksAttr:
        return choose_products(part.stages, given, target, forks=forks)
    if part.pairs is not None:
        return _choose_pairs(part.pairs, given, target, forks=forks)
    return choose_rows(part.stages, given, target, forks=forks)


def _choose_pairs(pairs: PairCopy, given: PairTasks, target: Target, *, forks: bool) -> PairTasks:
    most = pairs_packed(target, PAIR_ROW * PAIR_BYTES)
    sizes = range(min(most, pairs.pairs), 0, -TILE_COLUMNS)
    tile = next(size for size in sizes if pairs.pairs % size == 0)
    parallel = forks and work([pairs.stage]) >= PARALLEL_WORK
    return given.completed_by(PairTasks(parallel=parallel, tile=tile))


def _choose_stores(stage: Stage, past: Mapping[SSAValue, Fraction]) -> None:
    parts = {n: past[out] for n, out in enumerate(stage.op.outs) if out in past}
    if parts and stage.schedule.nontemporal is None:
        part = max(parts.values())  # with so many rows the caches are just full
        rows = floor(part * prod(stage.op.extents[d] for d in rows_of(stage.op))) + 1 if part else 0
        is_open = joined_live_rows(stage.op, rows_of(stage.op)) is not None
        decide(stage, nontemporal=tuple(parts), nontemporal_from=rows if rows and is_open else None)


def _verify_op_lanes(op: Unstructured, lanes: int, target: Target) -> None:
    """Raises InputError for vectors of an unstructured op that the target has for no element."""
    kinds = [v.type.element_type for v in op.operands if isinstance(v.type, MemRefType)]
    most = target.lanes(min(kind.bitwidth for kind in kinds))  # pyright: ignore
    if lanes > max(1, most):
        raise illegal(op, f"lanes = {lanes}: target {target.name} has {most}")


def _verify_lanes(stage: Stage, target: Target) -> None:
    """Raises InputError for vectors of more lanes than the target has."""
    vectors, most = stage.schedule.vectorize, target.lanes(element_bits([stage], target))
    shape = Contraction.of(stage.op)
    if shape is not None and shape.panel is not None:
        # only the tail of a line is masked, which bytes without masks of their own can bear
        most = target.lanes(stage.bits)
    if stage.schedule.dot_pairs:
        if not target.has("avx512bf16"):
            raise illegal(stage.op, f"dot_pairs: target {target.name} has no dot products of bf16")
        most *= 2
    if vectors is not None and vectors.count > most:
        raise illegal(
            stage.op, f"vectorize: {vectors.count} lanes; target {target.name} has {most}"
        )


__all__ = ["ChooseSchedulePass", "PairTasksAttr", "UnstructuredTasksAttr", "choose_kernel"]
