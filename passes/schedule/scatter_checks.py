"""Checks of where a scatter writes: one comparison for points that count.

A scatter of padded updates asks for each point three things: whether it counts (its place is no
mark for what does not), whether its place is inside of the result, and whether it is among the rows
of that which are kept. Where the last one holds, so do the others; where it does not, nothing is
written, and no order of questions makes a difference but to which of them is asked always.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, cf
from xdsl.ir import SSAValue

from lamina.dialects.loop import IndexOp, ScatterOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.body_ops import out_of_range
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.passes.schedule.compare import compare
from lamina.passes.schedule.emitter import Emitter, Index

_NOT_EQUAL = 1
"""`ne` of `arith.cmpi`."""


def kept_place(op: ScatterOp, kept: Sequence[Index | None], count: int) -> int | None:
    """Which of the first `count` places alone has to be compared with what is kept, and says by
    that whether the point writes; None where more is to be asked."""
    asked = [n for n, place in enumerate(op.places[:count]) if not _is_inside(op, place, n)]
    ends = [n for n, end in enumerate(kept[:count]) if end is not None]
    if len(asked) != 1 or asked != ends:
        return None
    (number,) = asked
    is_implied = op.mask is None or _is_mark(op, op.mask, number)
    return number if is_implied else None


def _is_inside(op: ScatterOp, place: SSAValue, number: int) -> bool:
    """Whether a place is a position of the domain, all of which are inside of the result."""
    owner = place.owner
    return (
        isinstance(owner, IndexOp) and op.extents[owner.dim.value.data] <= shape_of(op.into)[number]
    )


def _is_mark(op: ScatterOp, mask: SSAValue, number: int) -> bool:
    """Whether a mask is false at one place only, which is outside of the result."""
    test, place = mask.owner, op.places[number].owner
    if not isinstance(test, arith.CmpiOp) or not isinstance(place, arith.IndexCastOp):
        return False
    mark = constant_integer(test.rhs)
    return (
        test.predicate.value.data == _NOT_EQUAL
        and test.lhs is place.input
        and mark is not None
        and mark >= shape_of(op.into)[number]
    )


def write_kept(
    emit: Emitter,
    place: tuple[SSAValue, Index, int],
    mask: SSAValue | None,
    write: Callable[[Emitter], None],
) -> None:
    """Write where a place, an index, is below the end of what is kept; check it against the extent
    elsewhere, where the mask is true. `place` has it, that end, and the extent."""
    index, end, extent = place
    fits = compare(emit, index, emit.value(end), "ult")

    def check(behind: Emitter) -> None:
        limit = compare(behind, index, behind.value(extent), "ult")
        behind.run(cf.AssertOp(limit, out_of_range(extent)))

    def check_if_true(behind: Emitter) -> None:
        behind.branch(mask, check) if mask is not None else check(behind)

    emit.branch(fits, write, check_if_true)
