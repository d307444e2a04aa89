"""What is known of the memory of a kernel, by what names it, outside of bounds of dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from xdsl.ir import SSAValue

from lamina.dialects.loop.bounds import Bound
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.outside_values import Value
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
