"""Which elements of its values a program's results depend on: those below sizes that a call brings.

As LLVM's demanded elements, but for prefixes of dimensions, which end at a number of the program or
at one that follows from it: so many windows of an image reach so far into it. A result that is cut
to `%n` rows when a call ends demands these rows of what it is computed from, and so on backwards; a
mask of positions below `%n` demands no more of what it chooses. What is demanded are digits of row-
major element numbers, which reshapes leave as they are.

What other points of a nest read may never have been written. So an operand that says where to read,
or whether to fail, is demanded whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop import GenericOp, ReadOp, ReshapeOp, YieldOp
from lamina.dialects.loop.access import flatten, row_major_strides, shape_of
from lamina.dialects.loop.bounds import cut_of
from lamina.dialects.loop.linear import Linear, linear
from lamina.dialects.loop.panels import lanes_of, panels_of
from lamina.dialects.loop.read_limits import limits_of
from lamina.dialects.op_effects import is_free_of_effects
from lamina.passes.fusion.element_limits import (
    ALL_POINTS,
    EVERYTHING,
    NO_ORDERS,
    Demand,
    Limit,
    Orders,
    PanelLimit,
    PointLimit,
    Points,
    Reach,
    Touched,
    agreed,
    joined,
    outermost,
    tightest,
)
from lamina.passes.fusion.masked_points import MaskedPoints
from lamina.passes.loop.position_choices import position_forms


def before_reshape(op: ReshapeOp, demand: Demand) -> Demand:
    """What a reshape demands of its operand, whose elements may be the parts of complex numbers."""
    given, made = prod(shape_of(op.source)), prod(shape_of(op.result))
    if given == made:
        return demand
    plain = [limit for limit in demand if made and not isinstance(limit, PanelLimit)]
    scaled = ((limit, *divmod(limit.stride * given, made)) for limit in plain)
    return frozenset(replace(limit, stride=stride) for limit, stride, rest in scaled if not rest)


class Demands:
    """What is demanded of values so far: what all readers agree on. Others are not read.

    Where one ends at a size of `related`, another one times a factor and a number, it ends by the
    other, if that is nearer. If it is but a multiple, as many groups of so many elements are
    demanded, too. Outside of the limits that `undefined` has of a value nobody depends on it,
    unless it decides where something is read, or whether it fails. Of sizes in `orders`, readers
    that end at either agree on the larger one.
    """

    def __init__(
        self,
        related: Mapping[SSAValue, tuple[SSAValue, int, int]] | None = None,
        undefined: Mapping[SSAValue, Demand] | None = None,
        orders: Orders = NO_ORDERS,
    ) -> None:
        self.orders = orders
        self._found: dict[SSAValue, Demand] = {}
        self._needed: dict[tuple[Demand | None, Demand], Demand] = {}
        """What came of two demands: equal layers demand the same."""
        self._decisive: set[SSAValue] = set()
        self._related = {} if related is None else related
        self._undefined = {} if undefined is None else undefined

    def need(self, value: SSAValue, demand: Demand) -> None:
        """Another reader of a value."""
        asked = self._found.get(value), demand
        needed = self._needed.get(asked)
        if needed is None:
            needed = self._needed[asked] = self._both(*asked)
        self._found[value] = needed

    def _both(self, known: Demand | None, demand: Demand) -> Demand:
        """What is demanded where something is known to be, or nothing is yet."""
        demand = frozenset(map(self._nearest, demand))
        demand = tightest(demand | {group for limit in demand for group in self._groups(limit)})
        return demand if known is None else tightest(joined(known, demand, self.orders))

    def of(self, value: SSAValue) -> Demand | None:
        """None if nothing reads the value."""
        demand = self._found.get(value)
        if demand is None or value in self._decisive:
            return demand
        return demand | self._undefined.get(value, EVERYTHING)

    def decide(self, values: Iterable[SSAValue]) -> None:
        """Where something is read, or whether it fails, depends on these."""
        self._decisive.update(values)

    def is_decisive(self, value: SSAValue) -> bool:
        """Whether that depends on a value."""
        return value in self._decisive

    def _nearest(self, limit: Limit) -> Limit:
        """A limit with its end at the size that is next to it: one before `n + 1` it is at `n`."""
        end = limit.end
        if isinstance(end, Reach) and end.count in self._related:
            one, factor, offset = self._related[end.count]
            moved = end.offset + end.factor * offset
            if factor == 1 and abs(moved) < abs(end.offset):
                return replace(limit, end=replace(end, count=one, offset=moved))
        return limit

    def _groups(self, limit: Limit) -> Iterator[Limit]:
        end = limit.end
        if isinstance(end, Reach) and end == Reach(end.count):
            one, factor, offset = self._related.get(end.count, (end.count, 1, 0))
            if factor > 1 and not offset:
                yield replace(limit, end=Reach(one, factor))  # as windows in steps of it end
            if factor > 1 and limit.extent % factor == 0 and not isinstance(limit, PanelLimit):
                yield Limit(factor * limit.stride, limit.extent // factor, Reach(one))


class NestDemand(MaskedPoints):
    """What a nest demands of what it reads, by what is demanded of its results.

    `masks` are the limits within which operands are true, `counts` the sizes that 0-d operands are,
    `orders` what is known of sizes (`Demands`).
    """

    def __init__(
        self,
        nest: GenericOp,
        results: Sequence[Demand | None],
        masks: Mapping[SSAValue, Demand],
        counts: Mapping[SSAValue, SSAValue],
        orders: Orders = NO_ORDERS,
    ) -> None:
        super().__init__(nest, masks, counts)
        self._orders = orders
        self.nest: GenericOp = nest
        self._results = [
            None if demand is None else self._points(n, demand) for n, demand in enumerate(results)
        ]
        self._known: dict[SSAValue, Points | None] = {}

    @property
    def points(self) -> Points:
        """The limits within which all points lie that are demanded of any result."""
        return agreed(self._results, self._orders) or ALL_POINTS

    def add_to(self, demands: Demands) -> None:
        """Note what is demanded of the operands."""
        nest = self.nest
        arguments = nest.block.args
        for number, value in enumerate(nest.inputs):
            if (points := self._of(arguments[number])) is None:
                continue
            points |= self._cut
            index_map = nest.read_maps[number]
            limits = self.touched(value, index_map).limits(points)
            limits |= _window_limits(nest, shape_of(value), index_map, points)
            limits |= _panel_limits(nest, shape_of(value), index_map, points)
            if nest.pad_values[number] is None:
                limits |= _known_limits(nest, shape_of(value), index_map)
                limits |= _gap_limits(nest, shape_of(value), index_map)
            demands.need(value, limits)
        for value, argument in zip(nest.sources, arguments[len(nest.inputs) :], strict=True):
            reads = [use.operation for use in argument.uses]
            found = [self._read_within(op, value) for op in reads if self._is_wanted(op)]
            for demand in found:
                demands.need(value, demand)

    @cached_property
    def _cut(self) -> Points:
        """The points of a product that are terms of its sum, if that is cut at a size."""
        cut, block = cut_of(self.nest), self.nest.parent
        count = None if cut is None or block is None else self._counts.get(block.args[cut[1]])
        if cut is None or count is None:
            return ALL_POINTS
        extent = self.nest.extents[cut[0]]
        return frozenset([PointLimit(Linear.dim(cut[0]), extent, 1, extent, Reach(count))])

    def _is_wanted(self, read: Operation) -> bool:
        """Whether what an indirect read gives is demanded anywhere."""
        return not isinstance(read, ReadOp) or self._of(read.result) is not None

    def _read_within(self, read: Operation, value: SSAValue) -> Demand:
        """The elements of a source that a read takes: those below the limits of its indices, and at
        positions below sizes, as far as indices are positions of the nest. Elsewhere it may read
        what nobody has written."""
        if not isinstance(read, ReadOp) or read.parent is not self.nest.block:
            return EVERYTHING
        points, shape = self._of(read.result) or ALL_POINTS, shape_of(value)
        found: set[Limit] = set()
        extents, forms = list(self.nest.extents), list[Linear]()
        for index, extent, stride, limit in zip(
            read.indices, shape, row_major_strides(shape), limits_of(self.nest, read), strict=True
        ):
            if limit is not None and limit in self._counts:
                found.add(Limit(stride, extent, Reach(self._counts[limit])))
            form = self._positions.get(index)
            low, high = (0, extent) if form is None else form.range(self.nest.extents)
            if form is None or low < 0 or high >= extent:
                form = Linear.dim(len(extents))  # any place of the axis
                extents.append(extent)
            forms.append(form)
        return Touched.by(forms, shape, extents).limits(points) | found

    @cached_property
    def _positions(self) -> Mapping[SSAValue, Linear]:
        """Values of the body that follow from the position."""
        return {} if 0 in self.nest.extents else position_forms(self.nest)

    def result_limits(self, value: SSAValue, index_map: AffineMap, points: Points) -> Demand:
        """The elements that points within limits write."""
        return self.touched(value, index_map).limits(points)

    def _points(self, number: int, demand: Demand) -> Points:
        nest = self.nest
        points = self.touched(nest.res[number], nest.write_maps[number]).points(demand)
        return points | outermost(points, nest.extents)

    def _of(self, value: SSAValue) -> Points | None:
        """Where a value of the body is demanded; None if nowhere."""
        if value not in self._known:
            found = [self._at(use.operation, use.index) for use in value.uses]
            self._known[value] = agreed(found, self._orders)
        return self._known[value]

    def _at(self, op: Operation, place: int) -> Points | None:
        """Where an operand of an op in the body is demanded."""
        if isinstance(op, YieldOp) and op.parent is self.nest.block:
            return self._results[place]
        if op.parent is not self.nest.block or op.regions or isinstance(op, ReadOp):
            return ALL_POINTS
        if op.dialect_name() != "arith" and not is_free_of_effects(op):  # xDSL says no of `extsi`
            return ALL_POINTS
        found = agreed([self._of(result) for result in op.results], self._orders)
        if found is not None and isinstance(op, arith.SelectOp) and place == 1:
            return found | self.truth(op.cond)
        return found


def _window_limits(
    nest: GenericOp, shape: Sequence[int], index_map: AffineMap, points: Points
) -> Demand:
    """The elements that windows touch: along each dimension of a value, up to the last of those
    that begin at points within limits."""
    found: set[Limit] = set()
    whole = [p for p in points if p.stride == 1 and p.extent == p.period and not p.form.constant]
    accesses = zip(index_map.results, shape, row_major_strides(shape), strict=True)
    for expression, extent, stride in accesses:
        form = linear(expression, nest.extents)
        if form is None:
            continue
        for point in whole if form.terms else ():
            dim, unit = point.form.terms[0]
            step, rest = divmod(form.coefficient(dim), unit)
            others = form.add(point.form.scale(-step))
            apart = {dim for dim, _ in point.form.terms}.isdisjoint(dim for dim, _ in others.terms)
            if rest or step < 1 or not apart or point.form.range(nest.extents)[1] >= point.period:
                continue
            _, last = others.range(nest.extents)
            end, more = point.end, last + 1 - step
            end = step * end + more if isinstance(end, int) else end.then(step, more)
            found.add(Limit(stride, extent, end))
    return frozenset(found)


def _panel_limits(
    nest: GenericOp, shape: Sequence[int], index_map: AffineMap, points: Points
) -> Demand:
    """The elements of panels along a dimension, `d floordiv 32` and `d mod 32`, that points within
    limits read: digits of the dimension are lanes of some panels, or panels."""
    axes = list(zip(index_map.results, shape, row_major_strides(shape), strict=True))
    steps = {own: step for expr, _, step in axes if (own := lanes_of(expr)) is not None}
    found: set[Limit] = set()
    for expression, extent, stride in axes:
        panels = panels_of(expression)
        if panels is None or panels not in steps:
            continue
        dim, lanes = panels
        for point in points:
            if point.form != Linear.dim(dim) or point.period != nest.extents[dim]:
                continue
            if point.stride % lanes == 0:
                found.add(Limit(stride * (point.stride // lanes), point.extent, point.end))
            elif point.stride == 1 and (point.extent % lanes == 0 or point.extent == point.period):
                groups = min(extent, -(-point.extent // lanes))
                found.add(PanelLimit(stride, groups, point.end, steps[panels], lanes))
    return frozenset(found)


def _known_limits(nest: GenericOp, shape: Sequence[int], index_map: AffineMap) -> Demand:
    """The elements along each dimension of a value that any points read, where not all are."""
    found: set[Limit] = set()
    accesses = zip(index_map.results, shape, row_major_strides(shape), strict=True)
    for expression, extent, stride in accesses:
        form = linear(expression, nest.extents)
        end = extent if form is None or 0 in nest.extents else form.range(nest.extents)[1] + 1
        if end < extent:
            found.add(Limit(stride, extent, end))
    return frozenset(found)


def _gap_limits(nest: GenericOp, shape: Sequence[int], index_map: AffineMap) -> Demand:
    """The elements between the steps of two dimensions that any points read, where not all are: of
    `[d0 * 256, d1]` the first of each 256 rows."""
    forms = [linear(expression, nest.extents) for expression in index_map.results]
    if 0 in nest.extents or any(form is None for form in forms):
        return EVERYTHING
    offset = flatten([form for form in forms if form is not None], shape)
    terms = sorted(((s, nest.extents[d]) for d, s in offset.terms if nest.extents[d] > 1))
    if offset.constant < 0 or any(step < 1 for step, _ in terms):
        return EVERYTHING
    found: set[Limit] = set()
    inner, behind = 1, 0
    for step, extent in terms:
        last = offset.constant % step + behind
        if last < step and step % inner == 0 and last // inner + 1 < step // inner:
            found.add(Limit(inner, step // inner, last // inner + 1))
        inner, behind = step * extent, behind + step * (extent - 1)
    return frozenset(found)


def is_count(value: SSAValue) -> bool:
    """Whether a value may be a size: an i64 in a 0-d tensor."""
    kind: Any = value.type
    return getattr(kind, "element_type", None) == i64 and tuple(kind.get_shape()) == ()
