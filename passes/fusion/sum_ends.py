"""Where sums of products end whose row operand a nest of the same kernel masks (`lamina.ends`).

Two products behind each other by matrices of open size sum over sizes that have nothing to do with
each other, so that no bound is that of the whole kernel (`lamina.bounds`). The loops of each nest
end for themselves then: of what masks the operand, of the sum, and of the columns that the product
in front makes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i64
from xdsl.ir import BlockArgument, SSAValue

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.bounded_dims import counted_dims
from lamina.dialects.loop.bounds import BOUNDS, FIRST_COUNT, ZEROS, Bound, BoundsAttr, zeros_of
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.counted_dims import counts_of
from lamina.dialects.loop.kernel_nests import summed_rows
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.zero_axes import axis_alone
from lamina.passes.fusion.element_limits import Reach
from lamina.passes.fusion.kernel_ends import (
    KernelCall,
    Numbers,
    common_masks,
    kept_bounds,
    note_found,
)
from lamina.passes.fusion.zero_operands import zeros_in

_Products = Mapping[GenericOp, Contraction]
_Zeros = frozenset[tuple[int, int, int]]
"""Arguments that are 0 along an axis from the number in another argument on."""


def note_sum_ends(
    kernel: func.FuncOp,
    nests: Sequence[GenericOp],
    calls: Sequence[KernelCall],
    numbers: dict[Reach, int],
) -> bool:
    """Note where loops of a kernel of packed products end, if the sum of one does; whether it does.

    Numbers at which there are bounds are left to these. Products in pairs, and those whose tasks
    pack, add up all terms; integers are left alone, as nests that run on may divide by what is left
    out.
    """
    products = {n: shape for n in nests if is_packed(n) and (shape := Contraction.of(n))}
    if not products or any(map(summed_rows, nests)) or not all(map(_may_end, products.values())):
        return False
    arguments = kernel.body.block.args
    known = Numbers(len(arguments), calls, dict(numbers))
    masks = {mask: known.of(Reach(count)) for mask, count in common_masks(calls)}
    if not masks:
        return False
    given: dict[SSAValue, int] = {arguments[m]: number for m, number in masks.items()}
    kept = {nest: kept_bounds(nest, calls, known) for nest in nests}
    zeros = _packed_zeros(products, calls, known)
    counted = counted_dims(nests, given, counts_of(kernel.body.block), kept, zeros)
    bounded = _bounded(nests)
    found = {nest: _level(dims, bounded) for nest, dims in counted.items()}
    used = _used_zeros(products, found)
    if not used:
        return False
    renamed = note_found(kernel, found, known, masks, numbers)
    noted = {(at, axis, renamed.get(number, number)) for at, axis, number in used}
    flat = [number for triple in sorted(noted | zeros_of(kernel)) for number in triple]
    kernel.attributes[ZEROS] = DenseArrayBase.from_list(i64, flat)
    return True


def _may_end(shape: Contraction) -> bool:
    """Whether a sum of products can end at a number."""
    is_whole = isinstance(shape.op.yielded[0].type, IntegerType)
    return shape.pairs is None and not shape.task_packed and not is_whole


def _packed_zeros(products: _Products, calls: Sequence[KernelCall], known: Numbers) -> _Zeros:
    """Where packed operands end in zeros along the only dimension that their product sums over."""
    found: set[tuple[int, int, int]] = set()
    for nest, shape in products.items():
        wide = [d for d in shape.summed if nest.extents[d] != 1]
        if len(wide) == 1:
            ends = zeros_in(nest, shape.b, wide[0], calls)
            found |= {(*at, known.of(end)) for end, at in ends.items()}
    return frozenset(found)


def _used_zeros(
    products: _Products, found: Mapping[GenericOp, Mapping[int, set[Bound]]]
) -> set[tuple[int, int, int]]:
    """The zeros of packed operands at whose numbers sums end."""
    used: set[tuple[int, int, int]] = set()
    for nest, shape in products.items():
        read = nest.inputs[shape.b]
        for dim in shape.summed:
            axis = axis_alone(nest, shape.b, dim)
            if isinstance(read, BlockArgument) and axis is not None:
                ends = map(_number, found[nest].get(dim, ()))
                used |= {(read.index, axis, number) for number in ends if number is not None}
    return used


def _level(dims: Mapping[int, set[Bound]], bounded: frozenset[int]) -> dict[int, set[Bound]]:
    """The bounds that are a number of the call alone, and none of those that are `bounded`."""
    return {
        dim: {b for b in given if (number := _number(b)) is not None and number not in bounded}
        for dim, given in dims.items()
    }


def _number(bound: Bound) -> int | None:
    """The argument whose number alone a bound is."""
    ((dim, _), *_) = bound.form.terms
    return dim - FIRST_COUNT if bound.form == Linear.dim(dim) and dim >= FIRST_COUNT else None


def _bounded(nests: Sequence[GenericOp]) -> frozenset[int]:
    """The numbers at which bounds are: who has these reads whole panels, behind the number too."""
    noted = (nest.attributes.get(BOUNDS) for nest in nests)
    return frozenset(n for own in noted if isinstance(own, BoundsAttr) for n in own.arguments)


__all__ = ["note_sum_ends"]
