"""Tiles of a loop that ends at a size of the call: none reaches behind what counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm, prod

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.live_rows import LiveRows
from lamina.dialects.loop.slices import Slice
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


def tile_sizes(divided: LiveRows, width: int, lanes: int = 1) -> list[int] | None:
    """Sizes of tiles of a lone loop, each a multiple of the next, that end where what counts does:
    the width of a task, whole vectors, and what one number of the first digit stands for. None if
    no such tiles do."""
    first, *rest = divided.digits
    unit = prod(digit.extent for digit in rest)
    if first.count is None or any(digit.count is not None for digit in rest):
        return None
    if unit % width == 0:
        return [width]
    vector = lcm(unit, lanes)
    sizes = {width, unit, vector if width % vector == 0 else unit}
    return sorted(sizes, reverse=True) if width % unit == 0 else None


def copies_of(emit: Emitter, stages: Sequence[Stage]) -> list[GenericOp]:
    """The nests once more, for tasks of another loop, with buffers of their own."""
    buffers: dict[SSAValue, SSAValue] = {}
    for value in {v: None for stage in stages for v in stage.op.operands}:
        if isinstance(value.owner, memref.AllocOp):
            buffers[value] = emit.add(value.owner.clone())
    return [stage.op.clone(buffers) for stage in stages]


def divide_live(
    emit: Emitter,
    stages: list[Stage],
    groups: Sequence[Mapping[int, tuple[int, ...]]],
    sizes: Sequence[int],
    rows: tuple[Index, int],
    *,
    parallel: bool | None,
) -> None:
    """Append loops over tiles of what counts of a lone loop: as many of the first size as it has,
    then smaller ones for the rest, up to the last row that counts and no further.

    `rows` is how many of these there are, and how many positions of the loop each stands for.
    """
    count, unit = rows
    done: tuple[Index, int] = (0, sizes[0])
    for place, size in enumerate(sizes):
        is_last = place == len(sizes) - 1
        nests = [stage.op for stage in stages] if is_last else copies_of(emit, stages)
        tile = _Tile(size, list(zip(nests, stages, groups, strict=True)))
        end = emit.quotient(emit.times(count, max(1, unit // size)), max(1, size // unit))
        if place == 0:
            emit.tasks(end, tile.run, parallel=parallel)
        else:
            emit.each(emit.times(done[0], done[1] // size), end, 1, tile.run)
        done = end, size


def divide_jammed(
    emit: Emitter,
    stages: list[Stage],
    groups: Sequence[Mapping[int, tuple[int, ...]]],
    together: int,
    rows: Index,
    *,
    parallel: bool | None,
) -> None:
    """Append a loop over so many rows that count, `together` neighbours at a time, and one over
    what is left."""
    many = emit.quotient(rows, together)
    bounds = [
        tuple(d for dim in stage.rows for d in group[dim])
        for stage, group in zip(stages, groups, strict=True)
    ]
    several = _Rows(together, list(zip(copies_of(emit, stages), bounds, strict=True)))
    one = _Rows(1, list(zip((stage.op for stage in stages), bounds, strict=True)))
    emit.tasks(many, several.run, parallel=parallel)
    emit.each(emit.times(many, together), rows, 1, one.run)


@dataclass(frozen=True)
class _Rows:
    """Nests, with the dimensions that are their rows, for so many neighbours."""

    size: int
    nests: Sequence[tuple[GenericOp, tuple[int, ...]]]

    def run(self, emit: Emitter, number: Index) -> None:
        """Append the nests, sliced for one group of rows."""
        start = emit.value(emit.times(number, self.size))
        for nest, dims in self.nests:
            nest.slice_at([Slice(dims, self.size) if self.size > 1 else Slice.at(*dims)], [start])
            emit.run(nest)


@dataclass(frozen=True)
class _Tile:
    """Nests, with what they are made of, for tiles of a size."""

    size: int
    nests: Sequence[tuple[GenericOp, Stage, Mapping[int, tuple[int, ...]]]]

    def run(self, emit: Emitter, number: Index) -> None:
        """Append the nests, sliced for one tile."""
        start = emit.value(emit.times(number, self.size))
        for nest, stage, group in self.nests:
            first, *others = [dim for dim in stage.inner if dim in group]
            whole = [Slice(group[dim], stage.extents[dim]) for dim in others]
            starts = [start, *(emit.value(0) for _ in whole)]
            nest.slice_at([Slice(group[first], self.size), *whole], starts)
            emit.run(nest)
