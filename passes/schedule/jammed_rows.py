"""Tasks of rows of which some count: those that run side by side, and what is left of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.bounds import ENDS
from lamina.dialects.loop.live_rows import LiveRows
from lamina.dialects.loop.schedules import RowTasks
from lamina.dialects.loop.slices import Slice
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.live_rows import joined_live_rows
from lamina.passes.schedule.stages import Stage


def has_gaps(live: LiveRows) -> bool:
    """Whether rows that count lie behind others that do not."""
    return any(digit.count is not None for digit in live.digits[1:])


def divided_rows(stage: Stage, groups: dict[int, tuple[int, ...]]) -> LiveRows | None:
    """The digits of the loop that tasks divide, if some of its positions do not count."""
    if not stage.inner or stage.inner[0] not in groups:
        return None
    return joined_live_rows(stage.op, groups[stage.inner[0]])


def runs_all_rows(
    stages: Sequence[Stage], group: Mapping[int, tuple[int, ...]], tasks: RowTasks
) -> bool:
    """Whether tasks of rows side by side run those that do not count, too.

    `group` says of the rows of the first stage what they are made of, once they are joined.
    """
    if (tasks.jam or 1) == 1:
        return False
    first = stages[0]
    rows = joined_live_rows(first.op, [d for dim in first.rows for d in group.get(dim, (dim,))])
    ends = may_divide_jammed(stages) and divided_rows(first, dict(group)) is None
    return not ends or rows is None or has_gaps(rows)


def may_divide_jammed(stages: Sequence[Stage]) -> bool:
    """Whether rows side by side and single ones may be two loops: other loops of nests that stand
    in several would not end any more where `lamina.ends` says."""
    return not any(ENDS in stage.op.attributes for stage in stages)


def copies_of(emit: Emitter, stages: Sequence[Stage]) -> list[GenericOp]:
    """The nests once more, for tasks of another loop, with buffers of their own."""
    buffers: dict[SSAValue, SSAValue] = {}
    for value in {v: None for stage in stages for v in stage.op.operands}:
        if isinstance(value.owner, memref.AllocOp):
            buffers[value] = emit.add(value.owner.clone())
    return [stage.op.clone(buffers) for stage in stages]


def divide_jammed(
    emit: Emitter,
    stages: list[Stage],
    groups: Sequence[Mapping[int, tuple[int, ...]]],
    together: int,
    rows: Index,
    *,
    parallel: bool | None,
) -> None:
    """Append a loop over so many rows that count, `together` at a time, and one over what is left.

    Rows side by side are as far apart as they can be: each goes on where it ended in the task
    before, so that memory is read as so many streams.
    """
    many = emit.quotient(rows, together)
    bounds = [
        tuple(d for dim in stage.rows for d in group[dim])
        for stage, group in zip(stages, groups, strict=True)
    ]
    several = _Rows(together, list(zip(copies_of(emit, stages), bounds, strict=True)), many)
    one = _Rows(1, list(zip((stage.op for stage in stages), bounds, strict=True)))
    emit.tasks(many, several.run, parallel=parallel)
    emit.each(emit.times(many, together), rows, 1, one.run)


@record
class _Rows:
    """Nests, with the dimensions that are their rows, for so many of these, `step` apart."""

    size: int
    nests: Sequence[tuple[GenericOp, tuple[int, ...]]]
    step: Index = 1

    def run(self, emit: Emitter, number: Index) -> None:
        """Append the nests, sliced for one group of rows."""
        start = emit.value(number)
        steps = () if isinstance(self.step, int) else (self.step,)
        for nest, dims in self.nests:
            entry = Slice(dims, self.size, None) if steps else Slice.at(*dims)
            nest.slice_at([entry], [start], steps)
            emit.run(nest)
