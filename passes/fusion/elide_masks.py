"""`elide-masks`: values that nobody reads where a mask is false are read as they are.

A cache that grows is padded with zeros behind the positions that count, since sums of products run
to the end. Where such sums end at the number of a call (`lamina.cut`), what is behind is read no
more: of the nest

    %m = loop.generic (i, j) reads(%mask[i], %x[i, j]) ... lamina.nest = #loop.nest<rows = [d0, d1], live = [arg3 of 64, 8]>

that chooses between %x and 0 by a mask of the positions below argument 3, all rows that count are
%x's. If %x is another result of the kernel, or an argument, callers take that, and nothing is
stored again.
"""  # noqa: E501 - a nest on one line

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.bounded_dims import mask_bound
from lamina.dialects.loop.bounds import FIRST_COUNT, Bound, masks_of
from lamina.dialects.loop.counted_dims import noted_ends
from lamina.dialects.loop.kernel_nests import live_rows_of, rows_of
from lamina.dialects.loop.linear import Linear
from lamina.passes.fusion.drop_row_masks import chosen_read
from lamina.passes.fusion.outline_kernels import kernel_calls


class ElideMasksPass(ModulePass):
    """Have callers read what a mask chooses from, where it is true wherever anything is read."""

    name = "elide-masks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel, calls in kernel_calls(op).items():
            masks: dict[SSAValue, int] = {
                kernel.body.block.args[m]: n for m, n in masks_of(kernel).items()
            }
            for nest in block_ops(kernel.body.block) if masks and calls else ():
                if isinstance(nest, GenericOp) and kernel.parent is not None:
                    _elide(kernel, nest, masks, calls)


def _elide(
    kernel: func.FuncOp, nest: GenericOp, masks: dict[SSAValue, int], calls: list[func.CallOp]
) -> None:
    end = kernel.body.block.last_op
    assert isinstance(end, func.ReturnOp)
    returned = list(end.operands)
    value = _chosen(nest, masks)
    if value is None or nest.res[0] not in returned:
        return
    if not isinstance(value, BlockArgument) and value not in returned:
        return
    place = returned.index(nest.res[0])
    for call in calls:
        given = (
            call.arguments[value.index]
            if isinstance(value, BlockArgument)
            else call.res[returned.index(value)]
        )
        call.res[place].replace_all_uses_with(given)
    nest.res[0].replace_all_uses_with(value)
    end.operands = [v for n, v in enumerate(returned) if n != place]
    kernel.update_function_type()
    for number, call in enumerate(calls):
        calls[number] = _without(call, place)
    Rewriter.erase_op(nest)
    if not end.operands:
        for call in calls:
            Rewriter.erase_op(call)
        Rewriter.erase_op(kernel)


def _without(call: func.CallOp, place: int) -> func.CallOp:
    """The same call without a result that nobody uses."""
    kept = [value for n, value in enumerate(call.res) if n != place]
    new = func.CallOp(call.callee, list(call.arguments), [value.type for value in kept])
    new.attributes.update(call.attributes)
    new.location = call.location
    Rewriter.replace_op(call, new, [*new.res[:place], None, *new.res[place:]])
    return new


def _chosen(nest: GenericOp, masks: dict[SSAValue, int]) -> SSAValue | None:
    """What a nest chooses from, point by point, by a mask that is true at all that is read."""
    chosen = chosen_read(nest)
    if chosen is None or nest.inputs[chosen[0]] not in masks:
        return None
    condition, place = chosen
    value = nest.inputs[place]
    read, written = (
        forms_of(index_map, nest.extents)
        for index_map in (nest.read_maps[place], nest.write_maps[0])
    )
    if read is None or read != written or value.type != nest.res[0].type:
        return None
    ends = _read_within(nest)
    if any(mask_bound(nest, condition, dim, masks) in own for dim, own in ends.items()):
        return value
    return None


def _read_within(nest: GenericOp) -> dict[int, set[Bound]]:
    """Numbers of the call at which what is read of each dimension ends."""
    found = {dim: set(bounds) for dim, bounds in noted_ends(nest).items()}
    live, rows = live_rows_of(nest), rows_of(nest)
    if live is not None and [d.extent for d in live.digits] == [nest.extents[r] for r in rows]:
        for dim, digit in zip(rows, live.digits, strict=True):
            if digit.is_count:
                assert digit.count is not None
                own = Bound(True, Linear.dim(FIRST_COUNT + digit.count))
                found.setdefault(dim, set()).add(own)
    return found


__all__ = ["ElideMasksPass"]
