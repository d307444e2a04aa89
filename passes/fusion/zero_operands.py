"""Operands of packed products that end in zeros, where sizes of calls are (`lamina.zeros`).

A product need not add up what is 0 times 0, nor read it: its sum may end at the number.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import BlockArgument

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.bounds import BOUNDS, ZEROS, BoundsAttr, zeros_of
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.zero_axes import axis_alone
from lamina.passes.fusion.element_limits import Reach
from lamina.passes.fusion.kernel_ends import KernelCall, Numbers

Zeros = dict[Reach, tuple[int, int]]
"""For each number an argument that is 0 from there on, and the dimension of it."""


def note_zeros(
    kernel: func.FuncOp,
    nests: Sequence[GenericOp],
    calls: Sequence[KernelCall],
    numbers: dict[Reach, int],
) -> None:
    """Note which operands of products end in zeros along a dimension that these sum over.

    All calls agree on it. Where a mask bounds the dimension, the packed operand is asked alone, for
    numbers that are arguments of the kernel, or become some; else both are.
    """
    arguments = kernel.body.block.args
    known = Numbers(len(arguments), calls, dict(numbers))
    most = len(arguments) + len(numbers)
    found: set[tuple[int, int, int]] = set(zeros_of(kernel))
    for nest in nests:
        shape, bounds = Contraction.of(nest), nest.attributes.get(BOUNDS)
        if shape is None or shape.panel is None:
            continue
        wide = [d for d in shape.summed if nest.extents[d] != 1]
        if isinstance(bounds, BoundsAttr):
            right = zeros_in(nest, shape.b, bounds.dim.value.data, calls)
            found |= {(*at, n) for end, at in right.items() if (n := known.of(end)) < most}
        elif len(wide) == 1:
            left, right = (zeros_in(nest, place, wide[0], calls) for place in (shape.a, shape.b))
            common = [end for end in left if end in right]
            for end in common[:1]:
                number = known.of(end)
                if number >= len(arguments):
                    number = numbers.setdefault(end, len(arguments) + len(numbers))
                found |= {(*left[end], number), (*right[end], number)}
    if found:
        flat = [number for triple in sorted(found) for number in triple]
        kernel.attributes[ZEROS] = DenseArrayBase.from_list(i64, flat)


def zeros_in(nest: GenericOp, place: int, dim: int, calls: Sequence[KernelCall]) -> Zeros:
    """Where a read of a product ends in zeros along a dimension; the order is that of offsets."""
    read, axis = nest.inputs[place], axis_alone(nest, place, dim)
    if not isinstance(read, BlockArgument) or axis is None:
        return {}
    at = row_major_strides(shape_of(read))[axis], shape_of(read)[axis]
    limits = frozenset.intersection(*(c.zeros.get(read.index, frozenset()) for c in calls))
    ends = (
        limit.end
        for limit in limits
        if (limit.stride, limit.extent) == at
        and isinstance(limit.end, Reach)
        and all(call.knows(limit.end.count) for call in calls)
    )
    return dict.fromkeys(sorted(ends, key=lambda e: e.numbers), (read.index, axis))
