"""How far products visit the operands that kernels in front of them make, by their schedules.

Packed keys and values are visited in whole panels up to the last that counts (`BoundedBlock`),
those of products in tasks of panels up to the columns that count, and both operands up to the terms
that are not 0 (`ProductEnds`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects import func
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.bounds import FIRST_COUNT, Bound
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.live_rows import MOST_PANEL, Digit
from lamina.dialects.loop.panels import panels_of
from lamina.dialects.loop.schedules import ProductTasks
from lamina.dialects.loop.zero_axes import axis_alone
from lamina.dialects.records import record
from lamina.passes.fusion.element_limits import Demand, Reach
from lamina.passes.schedule.bounded_block import BoundedBlock
from lamina.passes.schedule.kernel_parts import parts_of, schedules_of
from lamina.passes.schedule.limit_arguments import limits_of_arguments
from lamina.passes.schedule.live_rows import live_digits
from lamina.passes.schedule.product_ends import ProductEnds
from lamina.passes.schedule.product_plan import ProductPlan
from lamina.passes.schedule.stages import Stage, stages_of


@record
class Visited:
    """Positions of one dimension of an argument that a kernel reads: they end as the digit says."""

    axis: int
    digit: Digit


def visited_by(kernel: func.FuncOp) -> Mapping[int, frozenset[Visited]]:
    """What products read of the arguments that nothing else of a kernel reads, and what all reads
    of an argument stay within, such as those of rows that count."""
    parts = parts_of(kernel)
    found: dict[SSAValue, list[frozenset[Visited]]] = {}
    for part, tasks in zip(parts, schedules_of(kernel, parts), strict=True):
        if not isinstance(tasks, ProductTasks) or part.op is not None:
            continue
        plan = ProductPlan.of(stages_of([stage.op for stage in part.stages]), tasks)
        for stage, shape in plan.products.items():
            for place in (shape.a, shape.b):
                found.setdefault(stage.op.inputs[place], []).append(
                    frozenset(_visited(plan, stage, shape, place))
                )
    read = {
        value.index: frozenset.intersection(*own)
        for value, own in found.items()
        if isinstance(value, BlockArgument) and len(own) == len(list(value.uses))
    }
    for argument, limits in limits_of_arguments(kernel).items():
        read[argument] = read.get(argument, frozenset()) | _within(kernel, argument, limits)
    return {argument: ends for argument, ends in read.items() if ends}


def _within(kernel: func.FuncOp, argument: int, limits: Demand) -> frozenset[Visited]:
    """The dimensions of an argument of which all accesses stay below a number."""
    shape = shape_of(kernel.body.block.args[argument])
    axes = {at: n for n, at in enumerate(zip(row_major_strides(shape), shape, strict=True))}
    found: set[Visited] = set()
    for limit in limits:
        axis, end = axes.get((limit.stride, limit.extent)), limit.end
        if axis is None or limit.extent < 2 or not isinstance(end, Reach):
            continue
        if end == Reach(end.count) and isinstance(end.count, BlockArgument):
            found.add(Visited(axis, Digit(limit.extent, end.count.index)))
    return frozenset(found)


def _visited(plan: ProductPlan, stage: Stage, shape: Contraction, place: int) -> Iterator[Visited]:
    """What a product of a plan reads of one of its operands."""
    if place == shape.b and (panels := _panels_of(plan, stage, shape)) is not None:
        yield panels
    ends = ProductEnds.of(stage, shape, panel_mode=plan.panel_mode)
    if ends.terms is not None:
        axis = axis_alone(stage.op, place, ends.dim)
        if axis is not None:
            yield Visited(axis, ends.terms)
    if ends.panels is not None and ends.together == 1 and place == shape.b:
        axis = _axis_of(stage.op.read_maps[place], shape.inner_column, shape.panel or 1)
        if axis is not None:
            yield Visited(axis, ends.panels)


def _panels_of(plan: ProductPlan, stage: Stage, shape: Contraction) -> Visited | None:
    """What a product of a plan reads of its packed operand, if that ends at a number."""
    bounded = plan.bounded
    if bounded is None or stage not in bounded.dims or shape.pairs is not None or shape.task_packed:
        return None
    if not all(bound.is_upper for bound in bounded.bounds) or bounded.step > MOST_PANEL:
        return None
    dim, index_map = bounded.dims[stage], stage.op.read_maps[shape.b]
    counts = {n for bound in bounded.bounds if (n := _number(plan, bounded, bound)) is not None}
    unit = shape.panel or 1
    if dim != shape.inner_column:  # others are read if they are not 0
        counts &= {bounded.zeros[stage] - FIRST_COUNT} if stage in bounded.zeros else set()
        unit = 1
    axis = _axis_of(index_map, dim, unit)
    if axis is None or not counts:
        return None
    extent = shape_of(stage.op.inputs[shape.b])[axis]
    digit = Digit(extent, min(counts), bounded.step, bounded.step // unit)
    return Visited(axis, digit) if extent > digit.factor else None


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
    return digit.count if plan.runs_live_rows else None


def _axis_of(index_map: AffineMap, dim: int, unit: int) -> int | None:
    """The axis of a read along which a dimension goes in steps of so many positions."""
    for axis, expr in enumerate(index_map.results):
        if unit == 1:
            if isinstance(expr, AffineDimExpr) and expr.position == dim:
                others = [e for n, e in enumerate(index_map.results) if n != axis]
                return None if any(dim in e.used_dims() for e in others) else axis
        elif panels_of(expr) == (dim, unit):
            return axis
    return None


__all__ = ["Visited", "visited_by"]
