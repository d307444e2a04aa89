"""What ops that are kernels of their own demand of their operands, by what is demanded of them.

Of a scan, points behind the last that is demanded are not, nor are they along its dimension; of a
sort and of transforms rows are as they are of a nest, of segments the segments. Padding that a sort
puts last is not demanded where nothing reads so far, or where the first elements are asked for. A
scatter copies what is demanded of its result; no more of its places is demanded than of its values,
as no schedule runs other points. Other operands that say where to read, or whether to fail, are
demanded whole, as of nests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf, isnan
from typing import Any

from xdsl.dialects.builtin import IntegerType, Signedness, i1
from xdsl.ir import BlockArgument, Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import (
    FourierOp,
    GenericOp,
    IndexOp,
    ReadOp,
    ReshapeOp,
    ScanOp,
    ScatterOp,
    SegmentReduceOp,
    SortOp,
    YieldOp,
)
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.linear import Linear, linear
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.op_effects import is_free_of_effects
from lamina.passes.fusion.demanded_elements import Demands, NestDemand, before_reshape
from lamina.passes.fusion.element_limits import (
    ALL_POINTS,
    EVERYTHING,
    Demand,
    PointLimit,
    Points,
    Reach,
    Touched,
    agreed,
)
from lamina.passes.fusion.masked_points import MaskedPoints
from lamina.passes.fusion.padding_values import PaddingValues, read_paddings
from lamina.passes.fusion.row_counts import CountFacts
from lamina.passes.fusion.row_limits import RowLimit, row_limits
from lamina.passes.fusion.undefined_padding import decisive_operands

Unstructured = ScanOp | ScatterOp | SegmentReduceOp | SortOp | FourierOp


class UnstructuredDemand:
    """Of one op: the points that are demanded, and what these demand."""

    def __init__(
        self, op: Unstructured, results: Sequence[Demand | None], facts: CountFacts
    ) -> None:
        self.op = op
        self._results = results
        found = [
            None if demand is None else elements_written(op, value).points(demand)
            for value, demand in zip(op.res, results, strict=True)
        ]
        self.points: Points = frozenset(
            point for point in agreed(found) or ALL_POINTS if _is_kept(op, point, facts)
        )
        """The limits within which all points lie that are demanded of any result."""
        if isinstance(op, ScatterOp) and results[0] is not None:
            self.points |= _kept_updates(op, results[0], facts)
        if isinstance(op, SortOp):
            ends = {limit.end for limit in self.taken}
            self.points |= _taken_elements(op, facts, ends)

    @property
    def rows(self) -> frozenset[RowLimit]:
        """The limits of its rows."""
        return row_limits(self.points, self.op.possible_rows, self.op.row_extents)

    @property
    def copied(self) -> frozenset[RowLimit]:
        """Of a scatter: the limits of the dimensions of what it copies."""
        if not isinstance(self.op, ScatterOp) or (demand := self._results[0]) is None:
            return frozenset()
        shape = shape_of(self.op.into)
        points = _whole(shape).points(demand)
        return row_limits(points, range(len(shape)), shape)

    @property
    def taken(self) -> frozenset[RowLimit]:
        """Of a sort that is asked for first elements: the limits of these."""
        op = self.op
        if not isinstance(op, SortOp) or op.window is None or op.window[0] != 0:
            return frozenset()
        count, last = op.window[1], len(op.row_extents) - 1
        points = agreed(
            [
                None if demand is None else _whole(shape_of(value)).points(demand)
                for value, demand in zip(op.res, self._results, strict=True)
            ]
        )
        along = [p for p in points or () if p.form == Linear.dim(last) and p.extent == count]
        here = (replace(point, form=Linear.dim(0)) for point in along if point.stride == 1)
        return row_limits(frozenset(here), [0], [count])

    def add_to(self, demands: Demands) -> None:
        """Note what is demanded of the operands."""
        op = self.op
        taken = set[SSAValue]()
        for value, touched in elements_read(op):
            taken.add(value)
            demands.need(value, touched.limits(self.points))
        if isinstance(op, ScatterOp):
            taken.add(op.into)
            demanded = self._results[0]
            demands.need(op.into, EVERYTHING if demanded is None else demanded)
        whole = _decisive(op) if isinstance(op, OrderedNest) else set[SSAValue]()
        for value in op.operands:
            if value not in taken or value in whole:
                demands.need(value, EVERYTHING)


def demanded_points(op: Operation, demands: Demands, facts: CountFacts) -> AnyDemand | None:
    """Note in `demands` what an op demands of its operands, by what is demanded of its results.

    Gives the points of a nest, or of an op that is a kernel of its own, that are demanded.
    """
    found: AnyDemand | None = None
    if isinstance(op, ReshapeOp):
        if (demand := demands.of(op.result)) is not None:
            demands.need(op.source, before_reshape(op, demand))
        if demands.is_decisive(op.result):
            demands.decide([op.source])
    elif isinstance(op, GenericOp):
        results = [demands.of(result) for result in op.res]
        found = NestDemand(op, results, facts.masks, facts.counts, demands.orders)
    elif isinstance(op, Unstructured):
        found = UnstructuredDemand(op, [demands.of(result) for result in op.res], facts)
    else:
        for inner in op.walk():
            demands.decide(inner.operands)
            for operand in inner.operands:
                demands.need(operand, EVERYTHING)
    if found is not None:
        found.add_to(demands)
        decisive = [demands.is_decisive(result) for result in op.results]
        if isinstance(op, GenericOp):
            demands.decide(decisive_operands(op, decisive))
        else:
            demands.decide(op.operands if any(decisive) else _decisive_operands(op))
    return found


AnyDemand = NestDemand | UnstructuredDemand


def _whole(shape: Sequence[int], dims: Sequence[int] | None = None) -> Touched:
    """All elements of an array, each of whose dimensions is one of a domain."""
    dims = range(len(shape)) if dims is None else dims
    extents = [1] * (max(dims, default=-1) + 1)
    for dim, extent in zip(dims, shape, strict=True):
        extents[dim] = extent
    return Touched.by([Linear.dim(dim) for dim in dims], shape, extents)


def elements_written(op: Unstructured, result: SSAValue) -> Touched:
    """The elements of a result that points of the domain write."""
    shape = shape_of(result)
    match op:
        case SegmentReduceOp():
            return _whole(shape, (0, *range(2, len(op.extents))))
        case ScatterOp():
            return _scattered(op)
        case _:
            return _whole(shape)


def _scattered(op: ScatterOp) -> Touched:
    """What the points of a scatter write: an index that is none of its dimensions is one of its
    own, behind them."""
    shape = shape_of(op.into)
    extents = list(op.extents)
    forms: list[Linear] = []
    for place, extent in zip(op.places, shape, strict=True):
        dim = place.owner.dim.value.data if isinstance(place.owner, IndexOp) else None
        if dim is None or op.extents[dim] > extent:
            dim = len(extents)
            extents.append(extent)
        forms.append(Linear.dim(dim))
    return Touched.by(forms, shape, extents)


def _kept_updates(op: ScatterOp, demand: Demand, facts: CountFacts) -> Points:
    """The limits outside of which points write nothing, or to one place in padding, which nothing
    reads."""
    operands = read_paddings(op.block.args, list(elements_read(op)), facts.paddings)
    truth = MaskedPoints(op, facts.masks, facts.counts).truth
    values = PaddingValues(op.block, operands, truth)
    shape, mask = shape_of(op.into), op.mask
    found: set[PointLimit] = set() if mask is None else set(truth(mask))
    for point in values.limits():
        if mask is not None and values.outside(mask, point) == 0:
            found.add(point)
        accesses = zip(op.places, shape, row_major_strides(shape), strict=True)
        for place, extent, stride in accesses:
            number = values.outside(place, point)
            ends = [x.end for x in demand if (x.stride, x.extent) == (stride, extent)]
            most = (facts.most_of(end) for end in ends)
            if isinstance(number, int) and any(end is not None and end <= number for end in most):
                found.add(point)
    return frozenset(found)


def elements_read(op: Unstructured) -> Iterator[tuple[SSAValue, Touched]]:
    """Operands that points of the domain read, with the elements."""
    if isinstance(op, SortOp | FourierOp):
        yield op.input, _whole(shape_of(op.input))
        return
    for value, index_map in zip(op.inputs, op.read_maps, strict=True):
        shape = shape_of(value)
        extents, forms = list(op.extents), list[Linear]()
        for expression, extent in zip(index_map.results, shape, strict=True):
            form = linear(expression, op.extents)
            if form is None:
                form = Linear.dim(len(extents))
                extents.append(extent)
            forms.append(form)
        yield value, Touched.by(forms, shape, extents)


def _is_kept(op: Unstructured, point: PointLimit, facts: CountFacts) -> bool:
    """Whether nothing behind a limit is needed for what is in front of it."""
    dims, along = {dim for dim, _ in point.form.terms}, op.walked_dim
    if along is not None and along in dims:
        extent = op.row_extents[along]
        if point.form != Linear.dim(along) or point.stride * point.extent != extent:
            return False  # it is no prefix of them
        if isinstance(op, ScanOp):
            return True
        return isinstance(op, SortOp) and point.stride == 1 and _goes_last(op, point, facts)
    return all(dim < len(op.row_extents) for dim in dims)


def _goes_last(op: SortOp, point: PointLimit, facts: CountFacts) -> bool:
    """Whether no element behind a limit goes before any in front of it."""
    known = read_paddings([op.input], list(elements_read(op)), facts.paddings).get(op.input, {})
    number = known.get(point)
    kind: Any = op.input.type
    element, down = kind.get_element_type(), op.descending is not None
    if number is None or element == i1 or op.walked_dim not in op.possible_rows:
        return False
    if isinstance(element, IntegerType):
        half = 1 << (element.bitwidth - 1)
        is_signed = element.signedness.data != Signedness.UNSIGNED
        return is_signed and number == (-half if down else half - 1)
    return number == -inf if down else isnan(number)


def _taken_elements(op: SortOp, facts: CountFacts, ends: Iterable[Reach]) -> Points:
    """The limits behind which stands what goes last of rows of which the first elements are asked
    for: of what goes last, no more than these. None where no more are taken than stand in front, as
    calls check of the `ends` of what is taken."""
    if op.window is None:
        return ALL_POINTS
    known = read_paddings([op.input], list(elements_read(op)), facts.paddings).get(op.input, {})
    counts = [end.count for end in ends if end == Reach(end.count)]
    return frozenset(
        point
        if any((count, point.end.count) in facts.checked for count in counts)
        and point.end == Reach(point.end.count)
        else replace(point, end=point.end.then(1, op.window[1]))
        for point in known
        if isinstance(point.end, Reach)
        and point.form == Linear.dim(len(op.row_extents) - 1)
        and point.extent == point.period == op.row_extents[-1]
        and _goes_last(op, point, facts)
    )


def _decisive_operands(op: Operation) -> set[SSAValue]:
    """Of what is a kernel of its own: operands on which it depends where it reads or writes, or
    whether it fails."""
    if not isinstance(op, OrderedNest):
        return set()
    places = (*op.places, op.mask) if isinstance(op, ScatterOp) else ()
    found = _decisive(op, [value for value in places if value is not None])
    return found | {v for v in op.operands if v not in op.inputs and not _is_copied(op, v)}


def _is_copied(op: OrderedNest, value: SSAValue) -> bool:
    return isinstance(op, ScatterOp) and value is op.into


def _decisive(op: OrderedNest, decided: Sequence[SSAValue] = ()) -> set[SSAValue]:
    """The operands on which it depends where the body reads, or whether it fails, or what these
    values of it are."""
    wanted: set[SSAValue] = set(decided)
    carried = op.block.args[len(op.inputs) + len(op.sources) :]
    while True:
        before = len(wanted)
        for inner in reversed(block_ops(op.block)):
            if not isinstance(inner, YieldOp) and (
                _decides(inner) or any(result in wanted for result in inner.results)
            ):
                wanted.update(inner.operands)
        # Of a scatter the element that is there is an argument, too: no place depends on it.
        wanted.update(v for a, v in zip(carried, op.yielded, strict=False) if a in wanted)
        if len(wanted) == before:
            break
    numbers = (v.index for v in wanted if isinstance(v, BlockArgument) and v.block is op.block)
    return {op.inputs[number] for number in numbers if number < len(op.inputs)}


def _decides(op: Operation) -> bool:
    return isinstance(op, ReadOp) or bool(op.regions) or not is_free_of_effects(op)
