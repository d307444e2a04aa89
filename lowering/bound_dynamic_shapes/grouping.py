"""Padded dimensions that the program joins, and that stand apart here: nothing is moved.

A linear layer joins batch and length for a product, and splits them again behind it. Rows of the
product stand where batch and length had them, padding between them: that is a `Grouped` tensor.
For an op that knows nothing of groups its elements are moved together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from lamina.dialects.records import record
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.regrouping import regrouped
from lamina.lowering.bound_dynamic_shapes.size_runs import (
    NONE_EQUAL,
    Factors,
    Run,
    factors,
    runs,
    split_in_place,
)
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Grouped, Number


def count_told(own: Sequence[Number], sizes: Sequence[Number]) -> Mapping[SSAValue, Factors]:
    """The count that follows from the others where both products are equal and not 0.

    It is what one side alone has, once: of [n, d] and [n, q, 2] it is d, which is 2 * q.
    """
    sides = [factors(*own), factors(*sizes)]
    for (constant, counts), (other, others) in (sides, sides[::-1]):
        left = dict(counts)
        rest = dict(others)
        for count in left.keys() & rest.keys():
            shared = min(left[count], rest[count])
            left[count] -= shared
            rest[count] -= shared
        found = [(count, power) for count, power in left.items() if power]
        if len(found) == 1 and found[0][1] == 1 and constant and other % constant == 0:
            told = tuple((count, power) for count, power in rest.items() if power)
            return {found[0][0]: (other // constant, told)}
    return NONE_EQUAL


def quotients_told(
    own: Sequence[Number], sizes: Sequence[Number], b: BoundBuilder
) -> Mapping[SSAValue, Factors]:
    """The counts that are multiples of their quotients where both products are equal and not 0.

    Of [b, h, w] and [b, h // 4, 4, w // 4, 4] these are h and w: no multiple of a quotient is more
    than what was divided, so that all are equal where their products are.
    """
    sides = [dict(factors(*own)[1]), dict(factors(*sizes)[1])]
    told: dict[SSAValue, Factors] = {}
    for counts, others in (sides, sides[::-1]):
        for quotient in others.keys() - counts.keys():
            divided, by = b.state.quotients.get(quotient, (None, 0))
            if divided is not None and not divided.offset and list(divided.factors.values()) == [1]:
                (count,) = divided.factors
                if counts.get(count) == others[quotient] and count not in others:
                    told[count] = by, ((quotient, 1),)
    same = factors(*own, equal=told) == factors(*sizes, equal=told)
    return told if same else NONE_EQUAL


def constant_told(count: Count, told: Mapping[SSAValue, Factors]) -> int | None:
    """The number that a count is told to be."""
    if count is None or count not in told or told[count][1]:
        return None
    return told[count][0]


@record
class _Staying:
    """Dimensions of a new shape whose elements stay where they are: extents, counts, and of how
    many dimensions each is a group."""

    shape: list[int]
    sizes: list[Number | SSAValue | None]
    groups: list[int]


def regrouped_in_place(
    tensor: Bounded,
    sizes: Sequence[Number],
    b: BoundBuilder,
    equal: Mapping[SSAValue, Factors] = NONE_EQUAL,
) -> Bounded | Grouped | None:
    """The tensor with these sizes, if elements may stay where they are; None if not.

    Counts in `equal` are what it says, or there are no elements. In a run of dimensions, those
    behind the first have no padding, in either shape; or all become one, which is a group of them.
    """
    found = runs([b.size(tensor, dim) for dim in range(tensor.rank)], sizes, equal)
    if found is None:
        return None
    shape: list[int] = []
    kept: list[Number | SSAValue | None] = []
    groups: list[int] = []
    for run in found:
        if (stays := _staying(tensor, run, sizes)) is None:
            return None
        shape += stays.shape
        kept += stays.sizes
        groups += stays.groups
    made = b.bounded(b.reshape(tensor.value, shape), kept)
    return made if set(groups) <= {1} else Grouped(made, tuple(groups))


def _staying(tensor: Bounded, run: Run, sizes: Sequence[Number]) -> _Staying | None:
    """What a run of dimensions becomes where its elements stay; None if they have to move."""
    own, new = run
    padded = [dim for dim in own if tensor.sizes[dim] is not None]
    wide = [place for place in new if sizes[place].constant != 1]
    front = [dim for dim in own if tensor.shape[dim] != 1]
    if len(padded) < 2 and not (padded != front[:1] and len(padded) == len(wide) == 1):
        extents = split_in_place(tensor, run, sizes)
        if extents is None:
            return None
        return _Staying(extents, [sizes[place] for place in new], [1] * len(new))
    if len(wide) != 1:
        return None
    found = _Staying([], [], [])
    for place in new:
        part = own if place == wide[0] else range(0)
        found.shape.extend([tensor.shape[dim] for dim in part] or [1])
        found.sizes.extend([tensor.sizes[dim] for dim in part] or [None])
        found.groups.append(max(len(part), 1))
    return found


def moved_together(grouped: Grouped, b: BoundBuilder) -> Bounded:
    """The tensor without groups: elements stand in front of all padding."""
    turned = _before_it_was_turned(grouped)
    if turned is not None:
        source, order = turned
        moved = moved_together(source, b)
        value = b("permute.default", moved.value, order)
        return Bounded(value, tuple(moved.sizes[dim] for dim in order))
    sizes = [b.elements(grouped.tensor, dims) for dims in grouped.dims]
    return regrouped(grouped.tensor, sizes, b)


def _before_it_was_turned(grouped: Grouped) -> tuple[Grouped, list[int]] | None:
    """What a permutation made the tensor of, and in which order it has taken its groups; None where
    nothing is gained by moving elements before it.

    Whole rows behind a group are read at once, where elements that a turned tensor has side by side
    would be looked up one by one.
    """
    op = grouped.tensor.value.owner
    if not isinstance(op, SchemaOp) or op.name != "aten.permute.default":
        return None
    order: list[int] = op.arg("dims")
    taken = [order[dims.start : dims.stop] for dims in grouped.dims]
    if any(dims != list(range(dims[0], dims[0] + len(dims))) for dims in taken):
        return None
    places = sorted(range(len(taken)), key=lambda place: taken[place])
    sizes: list[Count] = [None] * len(order)
    for dim, source in enumerate(order):
        sizes[source] = grouped.tensor.sizes[dim]
    source = Grouped(Bounded(op.operands[0], tuple(sizes)), tuple(len(taken[p]) for p in places))
    if _run_behind(source) <= _run_behind(grouped):
        return None
    return source, [places.index(place) for place in range(len(taken))]


def _run_behind(grouped: Grouped) -> int:
    """How many elements lie side by side behind the last group of several dimensions."""
    last = max((dims.stop for dims in grouped.dims if len(dims) > 1), default=0)
    return prod(grouped.tensor.shape[last:])


def move_together(op: Operation, b: BoundBuilder) -> None:
    """Make of operands in groups tensors without them."""
    for operand in op.operands:
        if operand in b.state.grouped and operand not in b.state.tensors:
            b.state.tensors[operand] = moved_together(b.state.grouped[operand], b)
