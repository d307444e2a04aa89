"""Limits of elements, and of the points of nests that touch them: digits that end at sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import reduce
from math import prod
from typing import TypeVar

from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from lamina.dialects.loop.access import flatten
from lamina.dialects.loop.linear import Linear, linear
from lamina.dialects.records import record


@record
class Reach:
    """`factor` times the number in `count`, and `offset`, in groups of `divisor`, the last of which
    may not be whole; `least` at least, if that is not 0."""

    count: SSAValue
    factor: int = 1
    offset: int = 0
    least: int = 0
    divisor: int = 1

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """All but the count: factor, offset, least and divisor."""
        return self.factor, self.offset, self.least, self.divisor

    def then(self, factor: int, offset: int) -> Reach:
        """`factor` times this, and `offset`: of groups, as much as they may have."""
        least = max(0, factor * self.least + offset) if self.least else 0
        by, size = self.divisor, self.offset
        if factor % by == 0:
            each = factor // by
            return Reach(self.count, each * self.factor, each * (size + by - 1) + offset, least)
        more = 0 if factor == 1 else factor * (by - 1)
        size = factor * size + more + by * offset
        return Reach(self.count, factor * self.factor, size, least, by)

    def groups(self, size: int) -> Reach:
        """How many groups of `size` there are up to this."""
        return replace(self, least=-(-self.least // size), divisor=size * self.divisor)

    def at(self, number: int) -> int:
        """Where it is if `count` holds this number."""
        end = -(-(self.factor * number + self.offset) // self.divisor)
        return max(end, self.least) if self.least else end


End = Reach | int
"""Where a limit is: at a number of the program, or at a known one."""


@record
class Limit:
    """Elements of which `number // stride % extent` is below `end`."""

    stride: int
    extent: int
    end: End


@record
class PanelLimit(Limit):
    """Elements in panels of `lanes`, `lane` elements apart: the number of the panel, which is that
    of a limit, times `lanes` plus the number in the panel is below `end`."""

    lane: int
    lanes: int


@record
class PointLimit:
    """Points of a nest at which `form // stride % extent` is below `end`.

    `period` is how many numbers the form takes: 0 to `period`.
    """

    form: Linear
    period: int
    stride: int
    extent: int
    end: End


Demand = frozenset[Limit]
"""Elements within all limits; all elements if there are none."""


Points = frozenset[PointLimit]


EVERYTHING: Demand = frozenset()


ALL_POINTS: Points = frozenset()


_Prefix = TypeVar("_Prefix", Limit, PointLimit)


Orders = Set[tuple[SSAValue, SSAValue]]
"""Pairs of numbers of which the first is not above the second."""


NO_ORDERS: Orders = frozenset()


def joined(
    one: frozenset[_Prefix], other: frozenset[_Prefix], orders: Orders = NO_ORDERS
) -> frozenset[_Prefix]:
    """The limits that hold of both: of two ends that differ by a number, one of which is known, or
    of whose numbers it is known which is not above the other, the later one."""
    found = set(one & other)
    for limit in one - other:
        for also in other - one:
            end = _later(limit.end, also.end, orders)
            if end is not None and replace(limit, end=end) == replace(also, end=end):
                found.add(replace(limit, end=end))
    return frozenset(found)


def _later(one: End, other: End, orders: Orders) -> End | None:
    """The later of two ends that differ by a number, or one of which is known; of two whose numbers
    are equal, the one that a caller passes."""
    if isinstance(one, int):
        one, other = other, one
    if isinstance(one, int):
        assert isinstance(other, int)
        return max(one, other)
    if isinstance(other, int):
        return replace(one, least=max(one.least, other))
    if (one.count, one.factor, one.divisor) == (other.count, other.factor, other.divisor):
        least = max(one.least, other.least)
        return replace(one, offset=max(one.offset, other.offset), least=least)
    least = max(one.least, other.least)
    one, other = replace(one, least=least), replace(other, least=least)
    if one.factor < 0 or replace(one, count=other.count) != other:
        return None
    is_below = (one.count, other.count) in orders
    is_above = (other.count, one.count) in orders
    if is_below and is_above:
        return other if isinstance(other.count, BlockArgument) else one
    return other if is_below else one if is_above else None


def tightest(demand: Demand) -> Demand:
    """The limits without those behind others: of digits of an image that layer after layer reads a
    window further, the first."""
    if len(demand) < 2:
        return demand
    return frozenset(x for x in demand if not any(_is_behind(x, other) for other in demand))


def _is_behind(limit: Limit, other: Limit) -> bool:
    """Whether a limit holds wherever another one does, which needs no more arithmetic."""
    if limit.stride != other.stride or limit.extent != other.extent:
        return False
    end, first = limit.end, other.end
    if end is first or not isinstance(end, Reach) or not isinstance(first, Reach):
        return False
    if end.count is not first.count:
        return False
    if not 0 <= first.offset <= end.offset or first.least > end.least or end == first:
        return False
    at = replace(first, offset=end.offset, least=end.least)
    return at == end and replace(other, end=end) == limit


def outermost(points: Points, extents: Sequence[int]) -> Points:
    """Of limits of several dimensions, such as of lines in pairs, `2 * d0 + d1`, those of the first
    dimension that follow, if it has none of its own: as many pairs."""
    found: set[PointLimit] = set()
    own = {(point.form, point.extent) for point in points if point.stride == 1}
    for point in points:
        if point.form.constant or point.stride != 1 or point.extent != point.period:
            continue
        dim, size = max(point.form.terms, key=lambda term: term[1])
        rest = point.form.add(Linear.of({dim: -size}))
        low, high = rest.range(extents)
        if len(extents) - 1 in dict(rest.terms):
            continue  # panels of vectors, which `limit-panels` ends where their last one does
        if rest.terms and size > 1 and low >= 0 and high < size:
            end, n = point.end, extents[dim]
            end = -(-end // size) if isinstance(end, int) else end.groups(size)
            if (Linear.dim(dim), n) not in own:
                found.add(PointLimit(Linear.dim(dim), n, 1, n, end))
    return frozenset(found)


def agreed(found: Sequence[Points | None], orders: Orders = NO_ORDERS) -> Points | None:
    """The limits that hold of all points that something demands; None if nothing does."""
    read = [points for points in found if points is not None]
    return reduce(lambda one, other: joined(one, other, orders), read) if read else None


@record
class Touched:
    """The row-major number of the element that a nest touches: a form over dimensions of `extents`.

    These are the nest's, and those of indices by themselves.
    """

    offset: Linear
    extents: tuple[int, ...]
    elements: int
    """How many there are."""

    @staticmethod
    def of(
        extents: Sequence[int],
        shape: Sequence[int],
        index_map: AffineMap,
        outside: dict[tuple[AffineExpr, int], int],
    ) -> Touched:
        """What a nest of a domain touches of a value of a shape.

        `outside` has the places of indices that are dimensions of their own, and gets more.
        """
        forms: list[Linear] = []
        for expression, extent in zip(index_map.results, shape, strict=True):
            form = linear(expression, extents)
            low, high = (0, extent) if form is None else form.range(extents)
            if form is None or low < 0 or high >= extent:
                place = outside.setdefault((expression, extent), len(extents) + len(outside))
                form = Linear.dim(place)
            forms.append(form)
        around = (*extents, *(extent for _, extent in outside))
        return Touched.by(forms, shape, around)

    @staticmethod
    def by(forms: Sequence[Linear], shape: Sequence[int], extents: Sequence[int]) -> Touched:
        """Through an index for each axis of an array of this shape."""
        offset = flatten(forms, shape)
        wide = {dim: step for dim, step in offset.terms if extents[dim] > 1}
        return Touched(Linear.of(wide, offset.constant), tuple(extents), prod(shape))

    def points(self, limits: Demand) -> Points:
        """The points that touch elements within limits, as far as these are digits of theirs."""
        found = (self._point(limit) for limit in limits)
        return frozenset(point for point in found if point is not None)

    def _point(self, limit: Limit) -> PointLimit | None:
        if limit.stride * limit.extent == 0:  # a tensor without elements
            return None
        form = self._digit(limit.stride, limit.extent)
        if isinstance(limit, PanelLimit):
            return self._in_panels(limit, form)
        if form is not None and form.terms:
            return PointLimit(form, limit.extent, 1, limit.extent, limit.end)
        for dim, step in self.offset.terms:
            # A digit of one dimension's own position.
            extent = self.extents[dim]
            reach = limit.stride * limit.extent
            if step < 1 or limit.stride % step or (step * extent) % reach:
                continue
            form = Linear.dim(dim)
            if self._digit(step, extent) == form:
                stride = limit.stride // step
                return PointLimit(form, extent, stride, limit.extent, limit.end)
        return None

    def _in_panels(self, limit: PanelLimit, panel: Linear | None) -> PointLimit | None:
        lane = self._digit(limit.lane, limit.lanes)
        if panel is None or lane is None:
            return None
        form, period = panel.scale(limit.lanes).add(lane), limit.extent * limit.lanes
        return PointLimit(form, period, 1, period, limit.end) if form.terms else None

    def limits(self, points: Points) -> Demand:
        """The elements that points within limits touch, as far as these are digits of theirs."""
        return frozenset(limit for point in points for limit in self._limits(point))

    def _limits(self, point: PointLimit) -> Iterator[Limit]:
        dim, coefficient = point.form.terms[0]
        step, rest = divmod(self.offset.coefficient(dim), coefficient)
        if rest or step < 1:
            return
        if self._digit(step, point.period) != point.form:
            yield from self._of_shorter(point, step)
            return
        stride = step * point.stride
        yield Limit(stride, point.extent, point.end)
        # Nothing is touched behind the digit, of which there may be more: it is all that is above.
        above = self.offset.divide(step, self.extents)
        if point.stride * point.extent == point.period and above and above[0] == point.form:
            extent, left = divmod(self.elements, stride)
            if extent > point.extent and not left:
                yield Limit(stride, extent, point.end)

    def _of_shorter(self, point: PointLimit, step: int) -> Iterator[Limit]:
        """The digit of which a nest walks a part: its first positions, as those of a slice."""
        if (point.stride, point.extent) != (1, point.period):
            return
        for _, above in self.offset.terms:
            extent, rest = divmod(above, step)
            if not rest and extent > point.period and self._digit(step, extent) == point.form:
                yield Limit(step, extent, point.end)
                return

    def _digit(self, stride: int, extent: int) -> Linear | None:
        """`offset // stride % extent`, if it is linear."""
        if stride * extent == 0:
            return None
        above = self.offset.divide(stride, self.extents)
        if above is None:
            return None
        low, high = above[0].range(self.extents)
        if low >= 0 and high < extent:
            return above[0]
        parts = above[0].divide(extent, self.extents)
        return None if parts is None else parts[1]
