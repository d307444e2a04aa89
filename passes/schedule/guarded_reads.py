"""Reads that touch nothing where a mask is false that the body chooses them by.

What a kernel reads of an argument may end at numbers of the call along several axes, though its
loops go on: panels of a product are whole. A body that chooses 0 there does not want the elements;
its loads are masked then, and stay within what there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.bounds import FIRST_COUNT, masks_of
from lamina.dialects.loop.kernel_nests import visited_rows
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.live_rows import Digit
from lamina.dialects.loop.masked_reads import Guard, masked_reads
from lamina.dialects.records import record
from lamina.passes.fusion.element_limits import Demand, Limit, Reach
from lamina.passes.schedule.compare import also
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.live_rows import live_digits
from lamina.passes.schedule.stages import Access, Stage

if TYPE_CHECKING:
    from lamina.passes.schedule.memory import Env, Memory
    from lamina.passes.schedule.step import Step

TRUE = IntegerAttr(1, i1)
VECTOR_CLAUSES = frozenset(
    {
        "order",
        "vectorize",
        "unroll",
        "prefetch",
        "prefetch_bytes",
        "prefetch_rows",
        "prefetch_tiles",
        "nontemporal",
        "nontemporal_from",
    }
)
"""What the schedule of a nest may say that is about its vectors, and what these ask of memory: of
others loads are not masked so."""


def kernel_masks(kernel: FuncOp) -> dict[SSAValue, int]:
    """The arguments that are false from the number in another argument on."""
    return {kernel.body.block.args[mask]: number for mask, number in masks_of(kernel).items()}


@record
class PanelGuard:
    """The last panel of an axis that is read in panels, as far as anybody needs it: up to the
    number in an argument of the kernel."""

    axis: int
    number: int


Guards = tuple[Guard | PanelGuard, ...]


def guarded_reads(stage: Stage, masks: Mapping[SSAValue, int]) -> Mapping[int, Guards]:
    """The reads of a stage whose loads end at numbers of the call, by their numbers: vectors of
    what is contiguous, of arguments of the kernel, in a nest that stores.

    Masks of the kernel guard them, or panels whose last columns nobody needs.
    """
    vectors = stage.schedule.vectorize
    if vectors is None or vectors.count == 1 or not stage.is_pointwise or stage.totals:
        return {}
    panels = {} if not visited_rows(stage.op) else _panels(stage, vectors.dim)
    if not (masks or panels) or stage.schedule.texts().keys() - VECTOR_CLAUSES:
        return {}
    masked = masked_reads(stage.op, masks)
    found = {
        number: _together(masked.get(number, ()), panels.get(number, ()))
        for number, access in enumerate(stage.reads)
        if isinstance(access.memory, BlockArgument)
        and access.stride(vectors.dim) == 1
        and not access.walks_open_axis(vectors.dim)
    }
    return {number: guards for number, guards in found.items() if guards}


def turned_guards(stage: Stage, masks: Mapping[SSAValue, int]) -> Mapping[int, Guards]:
    """The reads that a nest turns in tiles of which lines behind a number of the call are not
    loaded, by their numbers: the last one that there is is loaded again."""
    vectors, across = stage.schedule.vectorize, stage.schedule.transpose
    others = stage.schedule.texts().keys() - VECTOR_CLAUSES - {"transpose", "tile"}
    if vectors is None or across is None or not stage.is_pointwise or stage.totals or others:
        return {}
    masked = masked_reads(stage.op, masks)
    panels = _panels(stage, vectors.dim) if visited_rows(stage.op) else {}
    found: dict[int, Guards] = {}
    for number, access in enumerate(stage.reads):
        guards = _together(masked.get(number, ()), panels.get(number, ()))
        lines = [g for g in guards if access.axes[g.axis].coefficient(vectors.dim) == 1]
        turned = access.stride(across) == 1 and access.stride(vectors.dim) not in (0, 1)
        if lines and turned and access.pad is None and isinstance(access.memory, BlockArgument):
            found[number] = tuple(lines[:1])
    return found


def end_of_lines(
    emit: Emitter, stage: Stage, number: int, env: Env, memory: Memory
) -> Index | None:
    """How many lines of a tile that begins at a position are there to be read, of which there is
    one at least in front of it, or in it; None where all are."""
    guards = turned_guards(stage, memory.masks).get(number)
    if not guards:
        return None
    (guard,), access = guards, stage.reads[number]
    count = guard.number if isinstance(guard, PanelGuard) else memory.masks[_mask(stage, guard)]
    assert isinstance(access.memory, BlockArgument)
    known = None if memory.numbers is None else memory.numbers.values.get(FIRST_COUNT + count)
    if known is None:
        known = emit.read_index(memory.flat[access.memory.block.args[count]])
    end = emit.most(emit.least(known, access.shape[guard.axis]), 1)
    return emit.minus(end, emit.linear(access.axes[guard.axis], env))


def _together(masks: Sequence[Guard], panels: Sequence[PanelGuard]) -> Guards:
    """Masks, and the ends of panels along other axes."""
    axes = {guard.axis for guard in masks}
    return (*masks, *(guard for guard in panels if guard.axis not in axes))


def _panels(stage: Stage, lane: int) -> dict[int, tuple[PanelGuard, ...]]:
    """For each read the axes of which it takes panels, along the dimension of vectors."""
    digits = live_digits(stage.op)
    ended: dict[Linear, int] = {}
    for dim in visited_rows(stage.op):
        own, extent = digits.get(dim, ()), stage.extents[lane]
        if own == (Digit(stage.extents[dim], own[0].count, extent),) and own[0].count is not None:
            ended[Linear.of({dim: extent, lane: 1})] = own[0].count
    return {
        number: tuple(
            PanelGuard(axis, ended[form]) for axis, form in enumerate(access.axes) if form in ended
        )
        for number, access in enumerate(stage.reads)
        if access.pad is None and access.element != i1
    }


def guarded_limits(stage: Stage, value: BlockArgument) -> list[Demand]:
    """For each read of an argument by a stage the limits at which its loads end so."""
    kernel, shape = value.block.parent_op(), shape_of(value)
    assert isinstance(kernel, FuncOp)
    masks = kernel_masks(kernel)
    guards, strides = (
        guarded_reads(stage, masks) or turned_guards(stage, masks),
        row_major_strides(shape),
    )
    found: list[Demand] = []
    for number, access in enumerate(stage.reads):
        if access.memory is not value:
            continue
        own: set[Limit] = set()
        for guard in guards.get(number, ()):
            count = guard.number if isinstance(guard, PanelGuard) else masks[_mask(stage, guard)]
            end = Reach(value.block.args[count])
            own.add(Limit(strides[guard.axis], shape[guard.axis], end))
        found.append(frozenset(own))
    return found


def _mask(stage: Stage, guard: Guard) -> SSAValue:
    return stage.reads[guard.read].memory


def wanted(emit: Emitter, number: int, guards: Guards, at: Step, memory: Memory) -> Step:
    """The step with the lanes of a read that are wanted. What guards it is in the body already, and
    may be known to be true."""
    mask, any_of_them = at.mask, None
    for guard in guards:
        if isinstance(guard, PanelGuard):
            own = _within(emit, at.stage.reads[number], guard, at, memory)
        else:
            argument = at.stage.op.block.args[guard.read]
            lane = at.body.values[argument]
            owner = lane.value.owner
            if isinstance(owner, arith.ConstantOp) and owner.value == TRUE:
                continue
            if lane.uniform:
                any_of_them = also(emit, any_of_them, lane.value)
            own = at.body.vector(emit, argument)
        mask = also(emit, mask, own)
    if mask is at.mask and any_of_them is at.any_of_them:
        return at  # as of most reads
    return replace(at, mask=mask, any_of_them=any_of_them)


def _within(emit: Emitter, access: Access, guard: PanelGuard, at: Step, memory: Memory) -> SSAValue:
    """The lanes in front of the number at which an axis ends."""
    assert memory.numbers is not None
    end = emit.least(memory.numbers.values[FIRST_COUNT + guard.number], access.shape[guard.axis])
    first = emit.linear(access.axes[guard.axis], at.env)
    return emit.first_lanes(emit.minus(end, first), at.body.lanes)


__all__ = [
    "TRUE",
    "VECTOR_CLAUSES",
    "Guards",
    "end_of_lines",
    "guarded_limits",
    "guarded_reads",
    "kernel_masks",
    "turned_guards",
    "wanted",
]
