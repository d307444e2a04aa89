"""Padded dimensions that the program joins, and that stand apart here: nothing is moved.

A linear layer joins batch and length for a product, and splits them again behind it. Rows of the
product stand where batch and length had them, padding between them: that is a `Grouped` tensor.
For an op that knows nothing of groups its elements are moved together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.regrouping import regrouped
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Grouped, Number

Factors = tuple[int, tuple[tuple[SSAValue, int], ...]]
"""A constant, and counts with exponents."""
_NONE_EQUAL: Mapping[SSAValue, Factors] = {}
Run = tuple[range, range]
"""Neighbouring dimensions of a tensor, and those of its new shape that hold the same elements."""


def factors(*numbers: Number, equal: Mapping[SSAValue, Factors] = _NONE_EQUAL) -> Factors:
    """The product of numbers as a constant times counts; of counts in `equal`, what they are."""
    constant, counts = 1, dict[SSAValue, int]()
    pending: list[Any] = [number.value for number in numbers]
    while pending:
        value = pending.pop()
        owner = value.owner if isinstance(value, SSAValue) else None
        if not isinstance(value, SSAValue):
            constant *= int(value)
        elif value in equal:
            constant *= equal[value][0]
            for count, power in equal[value][1]:
                counts[count] = counts.get(count, 0) + power
        elif isinstance(owner, Operation) and owner.name == "aten.mul.Tensor":
            pending += owner.operands
        elif isinstance(owner, SchemaOp) and owner.name == "aten.mul.Scalar":
            pending += [owner.operands[0], owner.arg("other")]
        elif isinstance(owner, SchemaOp) and owner.name == "aten.scalar_tensor.default":
            pending.append(owner.arg("s"))
        else:
            counts[value] = counts.get(value, 0) + 1
    return constant, tuple(sorted(counts.items(), key=lambda item: id(item[0])))


def _divides(one: Factors, other: Factors) -> bool:
    counts = dict(other[1])
    return (
        one[0] != 0
        and other[0] % one[0] == 0
        and all(counts.get(value, 0) >= power for value, power in one[1])
    )


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
    return _NONE_EQUAL


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
    return told if same else _NONE_EQUAL


def constant_told(count: Count, told: Mapping[SSAValue, Factors]) -> int | None:
    """The number that a count is told to be."""
    if count is None or count not in told or told[count][1]:
        return None
    return told[count][0]


def runs(
    own: Sequence[Number],
    sizes: Sequence[Number],
    equal: Mapping[SSAValue, Factors] = _NONE_EQUAL,
) -> list[Run] | None:
    """The shortest runs of dimensions that hold as many elements; None if they are not known to.

    Counts in `equal` are what it says.
    """
    found: list[Run] = []
    first = last = at = end = 0
    while last < len(own) or end < len(sizes):
        last, end = min(last + 1, len(own)), min(end + 1, len(sizes))
        while True:
            held = factors(*own[first:last], equal=equal)
            wanted = factors(*sizes[at:end], equal=equal)
            if held == wanted:
                break
            if _divides(held, wanted) and last < len(own):
                last += 1
            elif _divides(wanted, held) and end < len(sizes):
                end += 1
            else:
                return None
        found.append((range(first, last), range(at, end)))
        first, at = last, end
    return found


def regrouped_in_place(
    tensor: Bounded,
    sizes: Sequence[Number],
    b: BoundBuilder,
    equal: Mapping[SSAValue, Factors] = _NONE_EQUAL,
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
    for own, new in found:
        padded = [dim for dim in own if tensor.sizes[dim] is not None]
        wide = [place for place in new if sizes[place].constant != 1]
        front = [dim for dim in own if tensor.shape[dim] != 1]
        if len(padded) > 1 or (padded != front[:1] and len(padded) == len(wide) == 1):
            if len(wide) != 1:
                return None
            for place in new:
                part = own if place == wide[0] else range(0)
                shape += [tensor.shape[dim] for dim in part] or [1]
                kept += [tensor.sizes[dim] for dim in part] or [None]
                groups.append(max(len(part), 1))
            continue
        extents = [sizes[place].constant for place in new]
        open_places = [place for place in new if sizes[place].constant is None]
        if padded or open_places:
            if (padded and padded != front[:1]) or open_places != wide[:1]:
                return None
            room = prod(tensor.shape[dim] for dim in own)
            behind = prod(extent for extent in extents if extent is not None)
            if not behind or room % behind:
                return None
            extents = [room // behind if extent is None else extent for extent in extents]
        shape += [extent for extent in extents if extent is not None]
        kept += [sizes[place] for place in new]
        groups += [1] * len(new)
    made = b.bounded(b.reshape(tensor.value, shape), kept)
    return made if set(groups) <= {1} else Grouped(made, tuple(groups))


def same_product(one: Sequence[Number], other: Sequence[Number]) -> bool:
    """Whether both are made of equal constants and counts: a product may be computed twice."""
    return factors(*one) == factors(*other)


def moved_together(grouped: Grouped, b: BoundBuilder) -> Bounded:
    """The tensor without groups: elements stand in front of all padding."""
    sizes = [b.elements(grouped.tensor, dims) for dims in grouped.dims]
    return regrouped(grouped.tensor, sizes, b)


def move_together(op: Operation, b: BoundBuilder) -> None:
    """Make of operands in groups tensors without them."""
    for operand in op.operands:
        if operand in b.state.grouped and operand not in b.state.tensors:
            b.state.tensors[operand] = moved_together(b.state.grouped[operand], b)
