"""Slices of the nests of a task: which are its rows, and which are parts of loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.slices import Slice
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.stages import Stage, collapse

Bound = tuple[SSAValue, Slice]
"""A value, and the slice that it begins."""


def block_of(value: SSAValue) -> Block | None:
    """The block in which a value is made."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


def is_bound(entry: Slice, rows: Sequence[int]) -> bool:
    """Whether a slice is one row of the task, or several side by side."""
    return set(entry.dims) <= set(rows) and (not entry.extended or entry.step != 1)


def take_slices(stage: Stage) -> list[Bound]:
    """The slices of rows that have one position in a task: the rows of the stage (in place)."""
    op, rows = stage.op, rows_of(stage.op)
    found = list(zip(op.symbols, op.slices, strict=True))
    bound = [entry for entry in found if is_bound(entry[1], rows)]
    walked = [d for _, entry in found if entry.dims[-1] in rows for d in entry.dims]
    stage.rows = tuple(d for _, entry in bound for d in entry.dims)
    front = [d for d in walked if d not in stage.rows]
    rest = [d for d in range(len(op.extents)) if d not in stage.rows and d not in front]
    stage.inner = (*front, *rest)
    return bound


def inner_slices(stage: Stage) -> dict[int, Bound]:
    """The slices of a stage's loops, by dimension; those walked as one are joined (in place)."""
    found: dict[int, Bound] = {}
    for symbol, entry in zip(stage.op.symbols, stage.op.slices, strict=True):
        if set(entry.dims) <= set(stage.rows):
            continue
        if entry.step != 1:
            raise illegal(stage.op, f"slice of {entry.name}: steps are for rows side by side")
        (left,) = collapse([stage], [entry.dims])
        if len(left) > 1:
            raise illegal(stage.op, f"slice of {entry.name}: not every access walks them as one")
        found[left[0]] = symbol, entry
    return found


def verify_alike(stages: Sequence[Stage], bound: dict[Stage, list[Bound]]) -> None:
    """The nests of a task run the same rows, and walk the same ones as one."""
    known: list[object] | None = None
    for stage in stages:
        rows = rows_of(stage.op)
        places = {d: place for place, d in enumerate(rows)}
        said: list[object] = [
            (symbol, entry.size, entry.step, entry.extended, [places[d] for d in entry.dims])
            for symbol, entry in bound[stage]
        ]
        said += stage.op.steps
        said += [
            [places.get(d) for d in entry.dims]
            for entry in stage.op.slices
            if len(entry.dims) > 1 and entry not in [e for _, e in bound[stage]]
        ]
        if known is not None and said != known:
            raise illegal(stage.op, "its slices of rows are not those of a nest in front of it")
        known = said


def differ(one: Bound | None, other: Bound | None) -> bool:
    """Whether two slices are not the same positions of the loops that they are of."""
    if one is None or other is None:
        return one is not other
    return one[0] is not other[0] or (one[1].size, one[1].step) != (other[1].size, other[1].step)
