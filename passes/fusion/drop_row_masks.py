"""`drop-row-masks`: sums of products are cut at numbers of the call, where row operands are masked.

In a version that has room for larger sizes the terms of a product are masked, so that those behind
a call's number are 0: rows are copied for that, block by block. Where the packed operand is 0 there
as well, the sum may be cut at the number instead, and what is behind is not read:

    %m = loop.generic (i, k) reads(%mask[k], %x[i, k]) ... lamina.ends = [... counts [5]]
    %r = loop.generic (i, j, k) reads(%m[i, k], %packed[...]) ... lamina.ends = [... counts [5]]

becomes, if the first nest chooses between %x and 0,

    %r = loop.generic (i, j, k) reads(%x[i, k], %packed[...]) ... lamina.cut = ... counts [5]>
"""

from __future__ import annotations

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, FloatAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, YieldOp
from lamina.dialects.loop.access import (
    Forms,
    flatten,
    forms_of,
    map_of,
    producer_dims,
    shape_of,
    substitute,
)
from lamina.dialects.loop.bounded_dims import bounds_of, mask_bound
from lamina.dialects.loop.bounds import CUT, ENDS, FIRST_COUNT, Bound, BoundsAttr, masks_of
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.counted_dims import noted_ends
from lamina.dialects.loop.linear import Linear
from lamina.dialects.records import record
from lamina.passes.kernel_passes import KernelPass
from lamina.passes.loop.loop_rewriting import rebuild


class DropRowMasksPass(KernelPass):
    """Cut sums of products at numbers of the call instead of masking their row operands."""

    name = "drop-row-masks"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        block = kernel.body.block
        masks: dict[SSAValue, int] = {block.args[m]: n for m, n in masks_of(kernel).items()}
        for nest in block_ops(block) if masks else ():
            if isinstance(nest, GenericOp) and (mask := _Mask.of(nest, masks)) is not None:
                _drop(mask)


@record
class _Mask:
    """A nest that makes one of its reads 0 from a number on, along one dimension."""

    nest: GenericOp
    read: int
    """What it reads below the number."""
    dim: int
    number: int
    """The argument of the kernel that has it."""

    @staticmethod
    def of(nest: GenericOp, masks: dict[SSAValue, int]) -> _Mask | None:
        """What a nest is, if it chooses between a read and 0 by one of `masks`, and ends there."""
        chosen = chosen_read(nest)
        if chosen is None:
            return None
        condition, read = chosen
        for dim, bounds in noted_ends(nest).items():
            bound = mask_bound(nest, condition, dim, masks)
            if bound is not None and bound in bounds:
                return _Mask(nest, read, dim, masks[nest.inputs[condition]])
        return None

    @property
    def bound(self) -> Bound:
        """Where what counts ends."""
        return Bound(True, Linear.dim(FIRST_COUNT + self.number))


def chosen_read(nest: GenericOp) -> tuple[int, int] | None:
    """The numbers of the reads of a nest that is `select(condition, value, 0.0)`: the condition's,
    and the value's. None for other nests."""
    if not nest.is_pointwise or len(nest.res) != 1 or nest.sources or len(nest.inputs) != 2:
        return None
    last = nest.block.last_op
    if any(nest.pad_values) or not isinstance(last, YieldOp):
        return None
    choice, arguments = last.values[0].owner, nest.block.args
    if not isinstance(choice, arith.SelectOp) or choice.cond not in arguments:
        return None
    zero = choice.rhs.owner
    if choice.lhs not in arguments or not isinstance(zero, arith.ConstantOp):
        return None
    is_zero = isinstance(zero.value, FloatAttr) and zero.value.value.data == 0.0
    return (choice.cond.index, choice.lhs.index) if is_zero else None  # pyright: ignore[reportAttributeAccessIssue]


def _drop(mask: _Mask) -> None:
    """Let the products that alone read a mask's result read what it masks, if they all can."""
    readers = [use.operation for use in mask.nest.res[0].uses]
    found = {reader: _cut_of(reader, mask) for reader in dict.fromkeys(readers)}
    if not found or len(found) < len(readers):
        return
    for reader, own in found.items():
        if own is None or not isinstance(reader, GenericOp):
            return
    for reader, own in found.items():
        assert own is not None and isinstance(reader, GenericOp)
        _cut(reader, mask, *own)
    Rewriter.erase_op(mask.nest)


def _cut_of(reader: object, mask: _Mask) -> tuple[int, int, Forms] | None:
    """Of a product whose sum ends where a mask does: its row operand, the dimension that it sums
    over, and where it reads what is masked, if terms are neighbours there. None for others."""
    shape = Contraction.of(reader) if isinstance(reader, GenericOp) else None
    if shape is None or shape.panel is None or shape.pairs is not None or shape.task_packed:
        return None
    op, nest = shape.op, mask.nest
    if op.inputs[shape.a] is not nest.res[0] or op.pad_values[shape.a] is not None:
        return None
    seen = forms_of(op.read_maps[shape.a], op.extents)
    masked = forms_of(nest.read_maps[mask.read], nest.extents)
    position = None if seen is None else producer_dims(nest, seen)
    if masked is None or position is None:
        return None
    dim = position[mask.dim].pure_dim
    if dim is None or position[mask.dim] != Linear.dim(dim):
        return None
    if [d for d in shape.summed if op.extents[d] != 1] != [dim]:
        return None
    if mask.bound not in noted_ends(op).get(dim, ()):
        return None
    forms = tuple(substitute(form, position) for form in masked)
    offset = flatten(forms, shape_of(nest.inputs[mask.read]))
    return (shape.a, dim, forms) if offset.coefficient(dim) == 1 else None


def _cut(op: GenericOp, mask: _Mask, operand: int, dim: int, forms: Forms) -> None:
    """Have a product read what is masked, and end its sum at the number."""
    inputs, maps = list(op.inputs), list(op.read_maps)
    inputs[operand] = mask.nest.inputs[mask.read]
    maps[operand] = map_of(forms, len(op.extents))
    new = rebuild(op, inputs=inputs, input_maps=maps)
    new.attributes[CUT] = bounds_of(new, dim, [mask.bound])
    noted = new.attributes[ENDS]
    assert isinstance(noted, ArrayAttr)
    left = [e for e in noted if isinstance(e, BoundsAttr) and e.dim.value.data != dim]
    new.attributes.pop(ENDS)
    if left:
        new.attributes[ENDS] = ArrayAttr(left)
