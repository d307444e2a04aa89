"""`limit-panels`: kernels that pack end at the panels that products read.

Attention over keys of which some count visits whole panels of them, up to the last one in which any
does (`BoundedBlock`): its schedule says so. What packs keys and values in front of it needs to make
no more, so that rows of its nest end there:

    %k: live = [arg4 of 16, 12, arg5 ceildiv 32 of 16, 64, 32]

Keys behind the last one that counts, but in its panel, are packed: a mask makes them zeros. A
product that sums over values reads none behind their panel if all of them are 0 (`lamina.zeros`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, i64
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineDimExpr, AffineMap
from xdsl.passes import ModulePass

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.bounds import FIRST_COUNT, Bound
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.kernel_nests import live_rows_of, rows_of, set_live_rows
from lamina.dialects.loop.live_rows import MOST_PANEL, Digit, LiveRows, LiveRowsAttr
from lamina.dialects.loop.schedules import ProductTasks, RowTasks
from lamina.passes.cost.team_cost import LIVE, live_of_kernel
from lamina.passes.fusion.outline_kernels import kernel_functions
from lamina.passes.schedule.bounded_block import BoundedBlock
from lamina.passes.schedule.kernel_parts import parts_of, schedules_of
from lamina.passes.schedule.live_rows import live_digits
from lamina.passes.schedule.parallelize import row_groups
from lamina.passes.schedule.product_kernel import tile_rows
from lamina.passes.schedule.product_rows import ProductPlan
from lamina.passes.schedule.stages import stages_of

_NUMBER = MemRefType(i64, [])


@dataclass(frozen=True)
class LimitPanelsPass(ModulePass):
    """End the rows of kernels that pack at the panels that all readers of these visit."""

    name = "limit-panels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {kernel.sym_name.data: kernel for kernel in kernel_functions(op)}
        for kernel in kernels.values():
            _forget(kernel)  # it is no choice: what does not follow is not so
        read = {name: _read_panels(kernel) for name, kernel in kernels.items()}
        if not any(read.values()):
            return
        calls: dict[str, list[func.CallOp]] = {}
        for inner in op.walk():
            if isinstance(inner, func.CallOp):
                calls.setdefault(inner.callee.string_value(), []).append(inner)
        for name, kernel in kernels.items():
            _limit(kernel, calls.get(name, []), read, kernels)


@dataclass(frozen=True)
class _Panels:
    """Positions of one dimension of an argument that a kernel reads: they end as the digit says."""

    axis: int
    digit: Digit


ReadPanels = Mapping[str, Mapping[int, _Panels]]
"""Of kernels, those of their arguments."""
Kernels = Mapping[str, func.FuncOp]


def _forget(kernel: func.FuncOp) -> None:
    for nest in kernel.body.block.ops:
        live = live_rows_of(nest) if isinstance(nest, GenericOp) else None
        if live is None or all(digit.panel == 1 for digit in live.digits):
            continue
        digits = (digit if digit.panel == 1 else Digit(digit.extent) for digit in live.digits)
        left = LiveRows(tuple(digits))
        set_live_rows(nest, left if left.counts else None)


def _read_panels(kernel: func.FuncOp) -> Mapping[int, _Panels]:
    """What products read of the arguments that nothing else reads, where they end at a number."""
    parts = parts_of(kernel)
    found: dict[SSAValue, list[_Panels]] = {}
    for part, tasks in zip(parts, schedules_of(kernel, parts), strict=True):
        if isinstance(tasks, ProductTasks) and part.op is None:
            plan = ProductPlan.of(part, tasks)
            for stage, shape in plan.products.items():
                panels = _panels_of(plan, stage.op, shape)
                if panels is not None:
                    found.setdefault(stage.op.inputs[shape.b], []).append(panels)
    return {
        value.index: panels[0]
        for value, panels in found.items()
        if isinstance(value, BlockArgument)
        and len(panels) == len(list(value.uses))
        and len(set(panels)) == 1
    }


def _panels_of(plan: ProductPlan, nest: GenericOp, shape: Contraction) -> _Panels | None:
    """What a product of a plan reads of its packed operand, if that ends at a number."""
    bounded = plan.bounded
    stage = next(stage for stage in plan.stages if stage.op is nest)
    if bounded is None or stage not in bounded.dims or shape.pairs is not None or shape.task_packed:
        return None
    if not all(bound.is_upper for bound in bounded.bounds) or bounded.step > MOST_PANEL:
        return None
    dim, index_map = bounded.dims[stage], nest.read_maps[shape.b]
    counts = {n for bound in bounded.bounds if (n := _number(plan, bounded, bound)) is not None}
    unit = shape.panel or 1
    if dim != shape.inner_column:  # others are read if they are not 0
        counts &= {bounded.zeros[stage] - FIRST_COUNT} if stage in bounded.zeros else set()
        unit = 1
    axis = _axis_of(index_map, dim, unit)
    if axis is None or not counts:
        return None
    extent = shape_of(nest.inputs[shape.b])[axis]
    digit = Digit(extent, min(counts), bounded.step, bounded.step // unit)
    return _Panels(axis, digit) if extent > digit.factor else None


def _number(plan: ProductPlan, bounded: BoundedBlock, bound: Bound) -> int | None:
    """The argument whose number the blocks of rows that count never pass, by an upper bound.

    It is that number, or the position behind each row, and rows end there.
    """
    ((dim, step), *others) = bound.form.terms or ((-1, 0),)
    if others or step != 1:
        return None
    if dim >= FIRST_COUNT:
        return dim - FIRST_COUNT if bound.form.constant <= 0 else None
    row = bounded.stage.rows[-1]
    (digit, *inner) = live_digits(bounded.stage.op).get(row, (Digit(1),))
    if dim != row or bound.form.constant > 1 or inner or not digit.is_count:
        return None
    return digit.count if tile_rows(plan.products, plan.blocks) == 1 else None


def _axis_of(index_map: AffineMap, dim: int, unit: int) -> int | None:
    """The axis of a read along which a dimension goes in steps of so many positions."""
    for axis, expr in enumerate(index_map.results):
        if unit == 1:
            if isinstance(expr, AffineDimExpr) and expr.position == dim:
                others = [e for n, e in enumerate(index_map.results) if n != axis]
                return None if any(dim in e.used_dims() for e in others) else axis
        elif (
            isinstance(expr, AffineBinaryOpExpr)
            and expr.kind == AffineBinaryOpKind.FloorDiv
            and isinstance(expr.lhs, AffineDimExpr)
            and expr.lhs.position == dim
            and str(expr.rhs) == str(unit)
        ):
            return axis
    return None


def _limit(
    kernel: func.FuncOp, calls: Sequence[func.CallOp], read: ReadPanels, kernels: Kernels
) -> None:
    """End the rows of a kernel that makes panels, where all its calls agree on it."""
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
    ends = [_end_of(call, out.index, read, kernels) for call in calls]
    panels = {None if end is None else end[0] for end in ends}
    if len(panels) != 1 or None in panels:
        return
    (agreed,) = panels
    assert agreed is not None
    live = _ended(nest, agreed)
    if live is None:
        return
    before = row_groups(stages_of([nest])), live_rows_of(nest)
    values = [end[1] for end in ends if end is not None]
    number = next((n for n in _numbers(kernel) if _gives(calls, values, n)), None)
    place = min(a.index for a in kernel.body.block.args if a in nest.outs)
    new = LiveRows(tuple(_renumbered(d, place if number is None else number) for d in live.digits))
    set_live_rows(nest, new)
    if row_groups(stages_of([nest])) != before[0]:  # its schedule would mean other loops
        set_live_rows(nest, before[1])
        return
    if number is None:
        _give(kernel, calls, values, place)
    if (own := live_of_kernel(kernel)) is not None:
        kernel.attributes[LIVE] = LiveRowsAttr(own)


_OPEN = 1 << 20
"""Stands for the argument of a kernel in which the number will be."""


def _renumbered(digit: Digit, number: int) -> Digit:
    return replace(digit, count=number) if digit.count == _OPEN else digit


def _end_of(
    call: func.CallOp, place: int, read: ReadPanels, kernels: Kernels
) -> tuple[_Panels, SSAValue] | None:
    """What is read of what a call makes, and the number at which it ends."""
    made = call.arguments[place]
    if isinstance(made, BlockArgument):
        return None  # who calls the program reads it
    found: set[tuple[_Panels, SSAValue]] = set()
    for use in made.uses:
        reader = use.operation
        if reader is call and use.index == place:
            continue
        if not isinstance(reader, func.CallOp) or reader.parent is not call.parent:
            return None
        panels = read.get(reader.callee.string_value(), {}).get(use.index)
        if panels is None:
            return None
        assert panels.digit.count is not None
        digit = replace(panels.digit, count=_OPEN)
        found.add((replace(panels, digit=digit), reader.arguments[panels.digit.count]))
    if len(found) != 1:
        return None
    (end,) = found
    return end if _is_known(end[1], call, kernels) else None


def _is_known(number: SSAValue, call: func.CallOp, kernels: Kernels) -> bool:
    """Whether a number is in memory where a kernel is called."""
    if isinstance(number, BlockArgument):
        return number.block is call.parent
    block = call.parent
    assert isinstance(block, Block)
    makers = [use.operation for use in number.uses if _writes(use.operation, use.index, kernels)]
    return bool(makers) and all(
        maker.parent is block and maker.is_before_in_block(call) for maker in makers
    )


def _writes(op: Operation, place: int, kernels: Kernels) -> bool:
    """Whether an op may write to an operand: a kernel does so to its results."""
    kernel = kernels.get(op.callee.string_value()) if isinstance(op, func.CallOp) else None
    if kernel is None:
        return True
    uses = kernel.body.block.args[place].uses
    return any(use.operation.name != GenericOp.name for use in uses) or any(
        kernel.body.block.args[place] in use.operation.outs  # pyright: ignore
        for use in uses
    )


def _ended(nest: GenericOp, panels: _Panels) -> LiveRows | None:
    """The digits of a nest's rows that end so along a dimension of what it writes."""
    results = nest.write_maps[0].results
    expr, rows = results[panels.axis], rows_of(nest)
    if not isinstance(expr, AffineDimExpr) or expr.position not in rows:
        return None
    dim = expr.position
    if sum(dim in other.used_dims() for other in results) != 1:
        return None
    extents = [nest.extents[d] for d in rows]
    if nest.extents[dim] != panels.digit.extent:
        return None
    live = live_rows_of(nest)
    whole = [(Digit(extent),) if extent > 1 else () for extent in extents]
    digits = whole if live is None else live.by_row(extents)
    if digits is None or any(digit.count is not None for digit in digits[rows.index(dim)]):
        return None
    digits[rows.index(dim)] = (panels.digit,)
    return LiveRows(tuple(digit for own in digits for digit in own))


def _numbers(kernel: func.FuncOp) -> list[int]:
    return [a.index for a in kernel.body.block.args if a.type == _NUMBER]


def _gives(calls: Sequence[func.CallOp], values: Sequence[SSAValue], place: int) -> bool:
    return all(c.arguments[place] is v for c, v in zip(calls, values, strict=True))


def _give(
    kernel: func.FuncOp, calls: Sequence[func.CallOp], values: Sequence[SSAValue], place: int
) -> None:
    """Make numbers an argument of a kernel, in front of its results."""
    argument = kernel.body.block.insert_arg(_NUMBER, place)
    argument.name_hint = "count"
    for call, value in zip(calls, values, strict=True):
        operands = list(call.operands)
        call.operands = [*operands[:place], value, *operands[place:]]
    kernel.update_function_type()


__all__ = ["LimitPanelsPass"]
