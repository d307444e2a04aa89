"""Whether a kernel reads behind the rows of an argument that count: what is not there to be read.

Loops over rows and summed dimensions end where a call's sizes do, but in products, which take
whole blocks of rows and panels, in tiles that are jammed, and in unstructured ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.dialects import func
from xdsl.ir import SSAValue

from lamina.dialects.loop import GenericOp, IndexOp, ReadOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.bounds import ENDS, FIRST_COUNT, ends_of
from lamina.dialects.loop.counted_rows import row_number
from lamina.dialects.loop.kernel_nests import live_rows_of, rows_of, summed_rows
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.live_rows import Digit
from lamina.dialects.loop.schedules import RowTasks, RowTasksAttr
from lamina.passes.schedule.jammed_rows import runs_all_rows
from lamina.passes.schedule.kernel_parts import Part
from lamina.passes.schedule.live_rows import live_digits
from lamina.passes.schedule.loop_ends import common_ends
from lamina.passes.schedule.nest_steps import has_step
from lamina.passes.schedule.parallelize import row_groups
from lamina.passes.schedule.stages import stages_of, take_inner
from lamina.passes.schedule.sweeps import scheduled_sweeps


def reads_behind(
    kernel: func.FuncOp, parts: Sequence[tuple[Part, Any]], argument: int, count: int
) -> bool:
    """Whether a kernel on buffers, of such `parts` with their schedules, may read an argument where
    the position along its first axis is not below the number in another argument, `count`, which is
    1 at least.

    False is a promise; True may be said of kernels that do not.
    """
    memory = kernel.body.block.args[argument]
    nests = {nest for use in memory.uses if isinstance(nest := use.operation, GenericOp)}
    if any(use.operation not in nests for use in memory.uses):
        return True
    readers = {nest for nest in nests if memory in (*nest.inputs, *nest.sources)}
    if not all(0 in nest.extents or _may_end(nest, count) for nest in readers):
        return True
    for part, tasks in parts:
        own = [stage.op for stage in part.stages if stage.op in readers]
        readers.difference_update(own)
        by_rows = part.kind is RowTasksAttr
        if own and not (by_rows and _ends_there(part, tasks, own, memory, count)):
            return True
    return any(0 not in nest.extents for nest in readers)


def _may_end(nest: GenericOp, count: int) -> bool:
    """Whether rows, or anything else, of a nest end at a number."""
    live = live_rows_of(nest)
    return ENDS in nest.attributes or (live is not None and count in live.counts)


def _ends_there(
    part: Part, tasks: RowTasks, nests: list[GenericOp], memory: SSAValue, count: int
) -> bool:
    """Whether nests of a part read memory below the number alone."""
    stages: list[Any] = stages_of([stage.op for stage in part.stages])  # they will be changed
    if any(has_step(stage.op) for stage in stages):
        return False
    schedules = [stage.schedule for stage in stages]
    turned = any(s.jam is not None for s in schedules)
    summing = next((s.op for s in stages if summed_rows(s.op)), None)
    groups = row_groups(stages)
    if summing is None:
        take_inner(stages, tasks.inner or ())
    turned = turned or runs_all_rows(stages, groups[0], tasks)
    ended = common_ends(scheduled_sweeps(stages)) is not None
    return all(
        _is_live(nest, form, count, turned=turned, summing=summing)
        or (ended and _is_ended(nest, form, count))
        for nest in nests
        for form in _first_axes(nest, memory)
    )


def _first_axes(nest: GenericOp, memory: SSAValue) -> list[Linear | None]:
    """The positions along the first axis that a nest reads some memory at; None if not known."""
    found: list[Linear | None] = []
    for value, index_map, pad in zip(nest.inputs, nest.read_maps, nest.pad_values, strict=True):
        if value is memory:
            forms = forms_of(index_map, nest.extents)
            found.append(_of_several(nest, forms[0]) if forms and pad is None else None)
    for value, argument in zip(nest.sources, nest.block.args[len(nest.inputs) :], strict=True):
        if value is not memory:
            continue
        for use in argument.uses:
            read = use.operation
            index = read.indices[0].owner if isinstance(read, ReadOp) and read.indices else None
            is_position = isinstance(index, IndexOp)
            found.append(Linear.dim(index.dim.value.data) if is_position else None)
    return found


def _of_several(nest: GenericOp, form: Linear) -> Linear:
    """A position without dimensions of one, such as parts of a sum that are as many as lines."""
    terms = {dim: factor for dim, factor in form.terms if nest.extents[dim] != 1}
    return Linear.of(terms, form.constant)


def _is_live(
    nest: GenericOp, form: Linear | None, count: int, *, turned: bool, summing: GenericOp | None
) -> bool:
    """Whether a position is one of a row, rows of which end at the number."""
    live = live_rows_of(nest)
    if form is None or live is None or turned:
        return False
    if summing is not None:
        turns = prod(summing.extents[d] for d in summed_rows(summing))
        whole = len(live.digits) == 1 and form == row_number(nest)
        return whole and live.turns(turns) == count
    dim = form.pure_dim
    if dim is None or form != Linear.dim(dim) or dim not in rows_of(nest):
        return False
    return live_digits(nest).get(dim) == (Digit(nest.extents[dim], count),)


def _is_ended(nest: GenericOp, form: Linear | None, count: int) -> bool:
    """Whether a position is below the number wherever a loop of the nest comes."""
    if form is None:
        return False
    number = Linear.dim(FIRST_COUNT + count)
    return any(
        form.add(bound.form) == Linear.dim(dim).add(number)
        for dim, bounds in ends_of(nest, nest.extents).items()
        for bound in bounds
    )
