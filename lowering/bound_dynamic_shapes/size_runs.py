"""Sizes as products, and runs of dimensions that hold as many elements in two shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number

Factors = tuple[int, tuple[tuple[SSAValue, int], ...]]
"""A constant, and counts with exponents."""
NONE_EQUAL: Mapping[SSAValue, Factors] = {}
Run = tuple[range, range]
"""Neighbouring dimensions of a tensor, and those of its new shape that hold the same elements."""


def factors(*numbers: Number, equal: Mapping[SSAValue, Factors] = NONE_EQUAL) -> Factors:
    """The product of numbers as a constant times counts; of counts in `equal`, what they are."""
    constant, counts = 1, dict[SSAValue, int]()
    pending: list[Any] = [number.value for number in numbers]
    while pending:
        value = pending.pop()
        if type(value) is int:
            constant *= value
            continue
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


def same_product(one: Sequence[Number], other: Sequence[Number]) -> bool:
    """Whether both are made of equal constants and counts: a product may be computed twice."""
    return factors(*one) == factors(*other)


def runs(
    own: Sequence[Number],
    sizes: Sequence[Number],
    equal: Mapping[SSAValue, Factors] = NONE_EQUAL,
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
            # Each side lacks what the other one has and it has not.
            grows, other_grows = not _divides(wanted, held), not _divides(held, wanted)
            if (grows and last == len(own)) or (other_grows and end == len(sizes)):
                return None
            last, end = last + grows, end + other_grows
        found.append((range(first, last), range(at, end)))
        first, at = last, end
    return found


def split_in_place(tensor: Bounded, run: Run, sizes: Sequence[Number]) -> list[int] | None:
    """The extents of a run's new dimensions where its elements stay; None if they have to move.

    They stay where nothing but the first dimension that is wider than 1 has padding, in either
    shape.
    """
    own, new = run
    padded = [dim for dim in own if tensor.sizes[dim] is not None]
    wide = [place for place in new if sizes[place].constant != 1]
    front = [dim for dim in own if tensor.shape[dim] != 1]
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
    return [extent for extent in extents if extent is not None]
