"""What is known of the memory of a kernel, by what names it, outside of bounds of dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from xdsl.dialects.builtin import MemRefType, TensorType, i1
from xdsl.ir import SSAValue

from lamina.dialects.loop.bounds import FIRST_COUNT, Bound
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.outside_values import Number, Value
from lamina.dialects.records import mutable_record


@mutable_record
class KernelFacts:
    """Facts of the nests of a kernel that were followed so far."""

    rewritten: frozenset[SSAValue]
    """What several nests write: nothing is known of it."""
    outside: dict[SSAValue, dict[tuple[int, Bound], Value]] = field(default_factory=dict)
    """What stands outside a bound of one axis."""
    row: dict[SSAValue, Value] = field(default_factory=dict)
    """What stands in each row, of results with one element a row."""
    masks: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Arguments that are false from the number in another argument on."""
    counts: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Arguments that are numbers, with which positions may be compared."""
    wide: bool = False
    """Whether all is looked for, not just what masks of attention give."""
    zeros: frozenset[tuple[int, int, int]] = frozenset()
    """Arguments that are 0 along an axis from the number in another argument on."""
    zero_reads: dict[tuple[GenericOp, int, int, Bound], None] = field(
        default_factory=dict[tuple[GenericOp, int, int, Bound], None]
    )
    """Of products: reads that are 0 outside a bound of a dimension that is summed."""


def false_outside(
    nests: Sequence[GenericOp], zeros: frozenset[tuple[int, int, int]]
) -> dict[SSAValue, dict[tuple[int, Bound], Value]]:
    """What `KernelFacts.outside` says of the arguments of a kernel that are truth values, by what
    is known to end in zeros (`lamina.zeros`)."""
    found: dict[SSAValue, dict[tuple[int, Bound], Value]] = {}
    block = nests[0].parent if nests else None
    if block is None:
        return found
    for argument, axis, number in zeros:
        value = block.args[argument]
        kind = value.type
        if isinstance(kind, TensorType | MemRefType) and kind.element_type == i1:
            bound = Bound(True, Linear.dim(FIRST_COUNT + number))
            found.setdefault(value, {})[axis, bound] = Number(0.0)
    return found
