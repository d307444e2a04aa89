"""Reads of a nest over bounds: as they are where they stay inside, else at computed places."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from lamina.dialects.loop import GenericOp, IndexOp, ReadOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.loop.linear import Linear, linear
from lamina.dialects.loop.open_nests import reach_of
from lamina.dialects.loop.predicates import SGE, SLT
from lamina.dialects.records import record
from lamina.dialects.sizes import Extent, Size, UndecidedSizeError
from lamina.lowering import scalar
from lamina.lowering.bound_nests.bodies import BoundBody
from lamina.lowering.bound_nests.values import Values


@record
class Index:
    """One index of a read: what it is, and the extent that it is of, in a call and at most."""

    expr: AffineExpr
    form: Linear | None
    live: Extent
    extent: int

    @property
    def is_of_numbers(self) -> bool:
        """Whether it is linear in positions, by numbers."""
        form = self.form
        if form is None or not isinstance(form.constant, int):
            return False
        return all(isinstance(factor, int) for _, factor in form.terms)

    def is_natural(self, extents: Sequence[Extent]) -> bool:
        """Whether it is never negative over a domain."""
        return self._holds(extents, lambda low, high: low >= 0)

    def is_below(self, extents: Sequence[Extent], end: Extent) -> bool:
        """Whether it is below a number over a domain."""
        return self._holds(extents, lambda low, high: high < end)

    def _holds(self, extents: Sequence[Extent], asked: object) -> bool:
        if self.form is None:
            return False
        try:
            return bool(asked(*reach_of(self.form, extents)))  # pyright: ignore
        except UndecidedSizeError:
            return False


def bound_reads(op: Operation, body: BoundBody, maps: Sequence[AffineMap], values: Values) -> None:
    """Have the reads of a body stay inside of what they read, over the bounds of its domain.

    `maps` are those of the reads, in which sizes stand as constants.
    """
    kept = 0
    for index_map in maps:
        value, _, pad = body.reads[kept]
        extents = body.domain
        indices = [
            Index(expr, linear(expr, extents), live, extent)  # pyright: ignore[reportArgumentType]
            for expr, live, extent in zip(
                index_map.results, values.shape(value), shape_of(value), strict=True
            )
        ]
        is_inside = all(
            index.is_natural(extents) and index.is_below(extents, index.extent) for index in indices
        )
        stays = all(index.is_of_numbers for index in indices) and (
            is_inside or isinstance(op, GenericOp)
        )
        if not stays:
            body.replace_read(kept, _looked_up(body, kept, indices, pad))
            continue
        if pad is not None:
            axes = [
                axis
                for axis, index in enumerate(indices)
                if isinstance(index.live, Size) and not index.is_below(body.live, index.live)
            ]
            value = values.filled(value, axes, pad, op)
        elif not is_inside:
            pad = scalar.number(0, element_type(value.type))
        body.reads[kept] = (value, AffineMap(len(extents), 0, index_map.results), pad)
        kept += 1


def _looked_up(
    body: BoundBody, number: int, indices: Sequence[Index], pad: Attribute | None
) -> SSAValue:
    """What a read gives whose indices are computed: the pad outside of what the call has."""
    source = body.add_source(body.reads[number][0])
    places: list[SSAValue] = []
    limits: list[SSAValue | None] = []
    inside: SSAValue | None = None
    for index in indices:
        place = body.affine(index.expr)
        if pad is not None:
            inside = body.both(inside, _is_inside(body, index, place))
        ends = index.live
        if index.is_of_numbers and index.is_below(body.domain, index.extent):
            ends = index.extent  # what counts is read where that counts
        if not index.is_below(body.domain, ends):
            least = arith.SubiOp(body.index(ends), body.index(1))
            place = body.add(arith.MinSIOp(place, body.add(least)))
        if not index.is_natural(body.domain) or not index.is_below(body.domain, ends):
            place = body.add(arith.MaxSIOp(place, body.index(0)))
        places.append(place)
        limits.append(body.index(ends) if isinstance(ends, Size) else None)
    found = body.add(ReadOp(source, places, limits))
    if pad is None or inside is None:
        return found
    return body.add(arith.SelectOp(inside, found, body.constant(pad)))


def _is_inside(body: BoundBody, index: Index, place: SSAValue) -> SSAValue | None:
    """Whether a place counts; None if it does at all points that do."""
    found: SSAValue | None = None
    if not index.is_natural(body.live):
        found = body.add(arith.CmpiOp(place, body.index(0), SGE))
    if not index.is_below(body.live, index.live):
        below = body.add(arith.CmpiOp(place, body.index(index.live), SLT))
        found = body.both(found, below)
    return found


def bound_lookups(body: BoundBody, values: Values) -> None:
    """Have indirect reads of a body end at the sizes of a call, and read place 0 for padding."""
    first = len(body.reads)
    sources: dict[SSAValue, SSAValue] = {}
    sources.update(zip(body.block.args[first:], body.sources, strict=False))
    for read in [op for op in body.block.ops if isinstance(op, ReadOp) and op.source in sources]:
        _bound_lookup(read, body, values.shape(sources[read.source]))


def _bound_lookup(read: ReadOp, body: BoundBody, shape: Sequence[Extent]) -> None:
    alive = body.alive(body.open_dims)
    indices: list[SSAValue] = []
    limits: list[SSAValue | None] = []
    given = zip(read.indices, read.limit_of_each, shape, shape_of(read.source), strict=True)
    for index, limit, live, extent in given:
        if is_position(index, body, live, extent):
            indices.append(index)
            limits.append(limit)
            continue
        if alive is not None:
            index = before(read, arith.SelectOp(alive, index, body.index(0)))
        if limit is None and isinstance(live, Size):
            limit = body.index(live)
        indices.append(index)
        limits.append(limit)
    made = ReadOp(read.source, indices, limits)
    made.attributes.update(read.attributes)
    made.location = read.location
    before(read, made)
    read.result.replace_all_uses_with(made.result)
    body.erase(read)


def is_position(index: SSAValue, body: BoundBody, live: Extent, extent: int) -> bool:
    """Whether an index is a position of the domain that is inside wherever it counts."""
    owner = index.owner
    if not isinstance(owner, IndexOp):
        return False
    dim = owner.dim.value.data
    if isinstance(live, Size) and body.live[dim] != live:
        return False
    return body.domain[dim] <= extent


def before(place: Operation, op: Operation) -> SSAValue:
    """The result of an op that is put in front of another."""
    block = place.parent
    assert block is not None
    block.insert_op_before(op, place)
    return op.results[0]
