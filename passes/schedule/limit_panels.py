"""`limit-panels`: kernels that make operands of products end where these are read to an end.

Attention over keys of which some count visits whole panels of them, up to the last one in which any
does: its schedule says so. What packs keys and values in front of it needs to make no more, so that
rows of its nest end there:

    %k: live = [arg4 of 16, 12, arg5 ceildiv 32 of 16, 64, 32], visited = [d2]

Keys behind the last one that counts, but in its panel, are packed: a mask makes them zeros. A
product that sums over values reads none behind their panel if all of them are 0 (`lamina.zeros`).
So it is with products by matrices of open size, whose columns and terms end in a call.

What rows that count read of an argument ends with them as well (`limits_of_arguments`), such as
places at which they look up: these are demanded whole as long as schedules are not known, since
none may be looked up that was never made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import prod

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, i64
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.passes import ModulePass

from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.kernel_nests import (
    live_rows_of,
    rows_of,
    set_live_rows,
    set_visited_rows,
    visited_rows,
)
from lamina.dialects.loop.live_rows import Digit, LiveRows, LiveRowsAttr
from lamina.dialects.loop.schedules import RowTasks
from lamina.dialects.records import record
from lamina.passes.cost.team_cost import LIVE, live_of_kernel
from lamina.passes.fusion.outline_kernels import kernel_calls, kernel_functions
from lamina.passes.schedule.call_extents import drop_extents
from lamina.passes.schedule.kernel_parts import parts_of, schedules_of
from lamina.passes.schedule.live_rows import live_digits
from lamina.passes.schedule.parallelize import row_groups
from lamina.passes.schedule.stages import stages_of
from lamina.passes.schedule.visited_panels import Visited, visited_by

_NUMBER = MemRefType(i64, [])


class LimitPanelsPass(ModulePass):
    """End the rows of kernels that make operands of products where all readers of these do."""

    name = "limit-panels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {kernel.sym_name.data: kernel for kernel in kernel_functions(op)}
        for kernel in kernels.values():
            _forget(kernel)  # it is no choice: what does not follow is not so
        if not any(a.type == _NUMBER for k in kernels.values() for a in k.body.block.args):
            return
        readers = _Readers(kernels)
        # From the last one on: of what a kernel makes for one that ends less is read, too.
        for kernel, calls in reversed(kernel_calls(op).items()):
            _limit(kernel, calls, readers)
            readers.forget(kernel)


@record
class _Readers:
    """The kernels of a program, and what each visits of its arguments."""

    kernels: Mapping[str, func.FuncOp]
    _known: dict[str, Mapping[int, frozenset[Visited]]] = field(
        default_factory=dict[str, Mapping[int, frozenset[Visited]]]
    )

    def visited(self, name: str, place: int) -> frozenset[Visited]:
        """What a kernel visits of an argument; nothing is known of functions that are none."""
        if name not in self.kernels:
            return frozenset()
        if name not in self._known:
            self._known[name] = visited_by(self.kernels[name])
        return self._known[name].get(place, frozenset())

    def forget(self, kernel: func.FuncOp) -> None:
        """Another kernel may end elsewhere now."""
        self._known.pop(kernel.sym_name.data, None)


_Ends = Mapping[Visited, SSAValue]
"""Dimensions of what a call makes, and the numbers at which all that is read of them ends; the
digits are those of argument 0."""


def _forget(kernel: func.FuncOp) -> None:
    for nest in kernel.body.block.ops:
        if not isinstance(nest, GenericOp) or not visited_rows(nest):
            continue
        digits = live_digits(nest)
        digits |= {dim: (Digit(nest.extents[dim]),) for dim in visited_rows(nest)}
        left = LiveRows(tuple(digit for own in digits.values() for digit in own))
        set_live_rows(nest, left if left.counts else None)


def _limit(kernel: func.FuncOp, calls: Sequence[func.CallOp], readers: _Readers) -> None:
    """End the rows of a kernel that makes an operand, where all its calls agree on it."""
    parts = parts_of(kernel)
    tasks = schedules_of(kernel, parts)
    if not calls or len(parts) != 1 or not isinstance(tasks[0], RowTasks):
        return
    nests = [stage.op for stage in parts[0].stages]
    nest = nests[0]
    if len(nests) != 1 or not nest.is_pointwise or len(nest.outs) != 1:
        return
    out = nest.outs[0]
    if not isinstance(out, BlockArgument) or out.has_more_than_one_use():
        return
    found = [_ends_of(call, call.arguments[out.index], readers) for call in calls]
    agreed = set[Visited].intersection(*(set(ends) for ends in found))
    for end in sorted(agreed, key=lambda e: e.axis):
        _limit_row(kernel, nest, calls, end, [ends[end] for ends in found])
    if visited_rows(nest) and (own := live_of_kernel(kernel)) is not None:
        kernel.attributes[LIVE] = LiveRowsAttr(own)


def _limit_row(
    kernel: func.FuncOp,
    nest: GenericOp,
    calls: Sequence[func.CallOp],
    end: Visited,
    values: Sequence[SSAValue],
) -> None:
    """End one row of a nest, at a number that is, or becomes, an argument of its kernel."""
    arguments = kernel.body.block.args
    number = next((a.index for a in arguments if _gives(a, calls, values)), None)
    place = min(a.index for a in arguments if a in nest.outs)
    given = replace(end.digit, count=place if number is None else number)
    ended = _ended(nest, replace(end, digit=given))
    if ended is None:
        return
    dim, live = ended
    before, visited = live_rows_of(nest), visited_rows(nest)
    groups = row_groups(stages_of([nest]))
    set_visited_rows(nest, live, [*visited, dim])
    if row_groups(stages_of([nest])) != groups:  # its schedule would mean other loops
        set_live_rows(nest, before)
        if before is not None:
            set_visited_rows(nest, before, visited)
    elif number is None:
        _give(kernel, calls, values, place)


def _gives(
    argument: BlockArgument, calls: Sequence[func.CallOp], values: Sequence[SSAValue]
) -> bool:
    """Whether an argument is a number in all calls."""
    given = (call.arguments[argument.index] for call in calls)
    return argument.type == _NUMBER and all(map(_is, given, values))


def _is(one: SSAValue, other: SSAValue) -> bool:
    return one is other


def _ends_of(call: func.CallOp, made: SSAValue, readers: _Readers) -> _Ends:
    """Where all that is read of what a call makes ends, and is known to in front of it."""
    if isinstance(made, BlockArgument):
        return {}  # who calls the program reads it
    found: list[_Ends] = []
    for use in made.uses:
        reader = use.operation
        if reader is call:
            continue
        if isinstance(reader, ReshapeOp):
            found.append(_before(reader, _ends_of(call, reader.result, readers)))
            continue
        if not isinstance(reader, func.CallOp) or reader.parent is not call.parent:
            return {}
        visited = readers.visited(reader.callee.string_value(), use.index)
        found.append(
            {
                replace(end, digit=replace(end.digit, count=0)): reader.arguments[number]
                for end in visited
                if (number := end.digit.count) is not None
            }
        )
    first, *others = found or [{}]
    return {
        end: value
        for end, value in first.items()
        if all(end in other and other[end] is value for other in others)
        and _is_known(value, call, readers)
    }


def _before(op: ReshapeOp, ends: _Ends) -> _Ends:
    """The same of what is reshaped: of dimensions that stay, with as many elements behind them."""
    shape, result = shape_of(op.source), shape_of(op.result)
    places = {
        (extent, prod(shape[axis + 1 :])): axis for axis, extent in enumerate(shape) if extent > 1
    }
    return {
        replace(end, axis=places[at]): value
        for end, value in ends.items()
        if (at := (result[end.axis], prod(result[end.axis + 1 :]))) in places
    }


def _is_known(number: SSAValue, call: func.CallOp, readers: _Readers) -> bool:
    """Whether a number is in memory where a kernel is called."""
    block = call.parent
    if isinstance(number, BlockArgument):
        return number.block is block
    assert isinstance(block, Block)
    makers = [use.operation for use in number.uses if _writes(use.operation, use.index, readers)]
    return bool(makers) and all(
        maker.parent is block and maker.is_before_in_block(call) for maker in makers
    )


def _writes(op: Operation, place: int, readers: _Readers) -> bool:
    """Whether an op may write to an operand: a kernel does so to its results."""
    name = op.callee.string_value() if isinstance(op, func.CallOp) else ""
    if name not in readers.kernels:
        return True
    value = readers.kernels[name].body.block.args[place]
    users = [use.operation for use in value.uses]
    return not all(isinstance(user, GenericOp) and value not in user.outs for user in users)


def _ended(nest: GenericOp, end: Visited) -> tuple[int, LiveRows] | None:
    """The row of a nest that goes along a dimension of what it writes, and the digits of all rows
    if it ends as is said. None if it does not, or ends already."""
    results, rows = nest.write_maps[0].results, rows_of(nest)
    expr = results[end.axis]
    if not isinstance(expr, AffineDimExpr) or expr.position not in rows:
        return None
    dim = expr.position
    if sum(dim in other.used_dims() for other in results) != 1:
        return None
    if nest.extents[dim] != end.digit.extent:
        return None
    digits = live_digits(nest)
    if not digits and live_rows_of(nest) is not None:
        return None  # rows that are no dimensions of their own
    if any(digit.count is not None for digit in digits.get(dim, ())):
        return None
    whole = {d: (Digit(nest.extents[d]),) if nest.extents[d] > 1 else () for d in rows}
    digits = {**(digits or whole), dim: (end.digit,)}
    return dim, LiveRows(tuple(digit for own in digits.values() for digit in own))


def _give(
    kernel: func.FuncOp, calls: Sequence[func.CallOp], values: Sequence[SSAValue], place: int
) -> None:
    """Make numbers an argument of a kernel, in front of its results."""
    drop_extents(kernel)  # passes behind this one note them anew, by the numbers of arguments
    argument = kernel.body.block.insert_arg(_NUMBER, place)
    argument.name_hint = "count"
    for call, value in zip(calls, values, strict=True):
        operands = list(call.operands)
        call.operands = [*operands[:place], value, *operands[place:]]
    kernel.update_function_type()


__all__ = ["LimitPanelsPass"]
