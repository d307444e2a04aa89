"""Within which limits nests look up: what indirect reads check, and positions that end."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from lamina.dialects.loop import GenericOp, IndexOp, ReadOp
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.read_limits import limits_of
from lamina.passes.fusion.element_limits import EVERYTHING, Demand, End, Limit, Points, Reach


def looked_up_limits(op: Operation, value: SSAValue, points: Points) -> list[Demand]:
    """For each time that a nest has a value as a source, the limits within which it looks up there:
    those that reads check, and of positions those of `points`, which the nest keeps to."""
    found: list[Demand] = []
    if not isinstance(op, GenericOp):
        return found
    for source, argument in zip(op.sources, op.block.args[len(op.inputs) :], strict=True):
        if source is not value:
            continue
        reads = [use.operation for use in argument.uses]
        demands = [_read_within(op, read, points) for read in reads if isinstance(read, ReadOp)]
        is_known = len(demands) == len(reads) > 0
        found.append(frozenset.intersection(*demands) if is_known else EVERYTHING)
    return found


def _read_within(op: GenericOp, read: ReadOp, points: Points) -> Demand:
    shape = shape_of(read.source)
    ends = zip(row_major_strides(shape), shape, read.indices, limits_of(op, read), strict=True)
    return frozenset(
        Limit(stride, extent, end)
        for stride, extent, index, limit in ends
        for end in (*_ends_of_position(index, extent, points), *([Reach(limit)] if limit else []))
    )


def _ends_of_position(index: SSAValue, extent: int, points: Points) -> list[End]:
    """Where an index of a read ends that is a position of its nest."""
    if not isinstance(index.owner, IndexOp):
        return []
    form = Linear.dim(index.owner.dim.value.data)
    whole = (p for p in points if p.stride == 1 and p.extent == p.period == extent)
    return [point.end for point in whole if point.form == form]
