"""Masks of several dimensions that are false from a number of the call on, along one of them.

A mask of all pairs, such as of positions in one document, is more than the positions that count:
it is asked everywhere. But where keys end it ends, too, and so do the loops of who chooses by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, i1, i64
from xdsl.ir import BlockArgument

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.bounds import ZEROS, zeros_of
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.zero_axes import axis_alone
from lamina.passes.fusion.element_limits import Demand, Reach

Zeros = frozenset[tuple[int, int, int]]
"""Arguments that are 0, or false, along an axis from the number in another argument on."""


def false_masks(
    nests: Sequence[GenericOp], limits_of: Callable[[int], Demand], known: dict[Reach, int]
) -> Zeros:
    """Masks that end so, along dimensions beside the rows of nests that read them.

    `limits_of` gives the limits outside of which an argument is 0 in all calls; `known` has the
    arguments that are numbers, or become some; others are put there.
    """
    (block,) = {nest.parent for nest in nests}
    assert block is not None
    found: set[tuple[int, int, int]] = set()
    for nest in nests:
        for place, read in enumerate(nest.inputs):
            if not isinstance(read, BlockArgument) or not _is_wide_mask(read):
                continue
            for dim in range(len(nest.extents)):
                axis = axis_alone(nest, place, dim)
                if axis is None or dim in rows_of(nest):
                    continue
                for end in _ends(read, axis, limits_of(read.index)):
                    number = known.setdefault(end, len(block.args) + len(known))
                    found.add((read.index, axis, number))
    return frozenset(found)


def _is_wide_mask(value: BlockArgument) -> bool:
    kind = value.type
    return getattr(kind, "element_type", None) == i1 and len(shape_of(value)) > 1


def _ends(mask: BlockArgument, axis: int, limits: Demand) -> list[Reach]:
    """The first of the numbers from which on a mask is false along an axis, if there are any."""
    at = row_major_strides(shape_of(mask))[axis], shape_of(mask)[axis]
    ends = [
        limit.end
        for limit in limits
        if (limit.stride, limit.extent) == at
        and isinstance(limit.end, Reach)
        and limit.end == Reach(limit.end.count)
    ]
    return sorted(ends, key=lambda end: end.numbers)[:1]


def note_zeros_of(kernel: func.FuncOp, found: Zeros) -> None:
    """Note what is known beside what a kernel says (`lamina.zeros`)."""
    if found:
        flat = [number for triple in sorted(found | zeros_of(kernel)) for number in triple]
        kernel.attributes[ZEROS] = DenseArrayBase.from_list(i64, flat)


__all__ = ["false_masks", "note_zeros_of"]
