"""Nests of open extents over their bounds: what does not count is masked, results are padded."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from lamina.dialects.loop import GenericOp, ScanOp, ScatterOp, SegmentReduceOp, SizeOp, YieldOp
from lamina.dialects.loop.access import is_contraction, shape_of
from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.loop.identities import identity_value
from lamina.dialects.loop.monoid import Reduction
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.open_nests import extents_at, map_at
from lamina.dialects.loop.predicates import SGE, SGT
from lamina.dialects.sizes import Extent, Size
from lamina.lowering import scalar
from lamina.lowering.bound_nests.bodies import BoundBody, computed
from lamina.lowering.bound_nests.reads import before, bound_lookups, bound_reads, is_position
from lamina.lowering.bound_nests.size_tensors import bound
from lamina.lowering.bound_nests.values import Shape, Values
from lamina.passes.refusal import unsupported

NUMBERS_INSTEAD = "the program for numbers, as bind-sizes makes it of sizes with names"


def bound_generic(
    op: GenericOp, sizes: Sequence[Extent], shapes: Sequence[Shape], values: Values
) -> list[SSAValue]:
    """A nest over the bounds of its `sizes`, whose results have these shapes in a call.

    Reductions leave out what does not count. Elements stand where padding has them: of dimensions
    that make one of a result, only the outermost may be of an open size.
    """
    live = extents_at(op, sizes)
    domain = tuple(map(bound, live))
    writes = [map_at(held, sizes) for held in op.write_maps]
    body = _body(op, live, sizes, values)
    _mask_reductions(op, body, writes, values)
    region, own = op.body, op.monoids
    op.detach_region(region)
    made = GenericOp(
        domain,
        [value for value, _, _ in body.reads],
        [index_map for _, index_map, _ in body.reads],
        [AffineMap(len(domain), 0, index_map.results) for index_map in writes],
        op.combiner_names,
        [_padded(result, shape) for result, shape in zip(op.res, shapes, strict=True)],
        region,
        sources=body.sources,
        pads=[pad for _, _, pad in body.reads],
        monoids=own,
    )
    values.weights.follow(made)
    return _placed(op, made)


def bound_ordered(
    op: OrderedNest, sizes: Sequence[Extent], shapes: Sequence[Shape], values: Values
) -> list[SSAValue]:
    """The same of a scan, a scatter, or a reduction of segments.

    A scan has its padding behind all that counts, a scatter writes nothing for it, and the first
    segment of padding takes what no segment has, of which others are empty.
    """
    live = extents_at(op, sizes)
    offsets = None
    if isinstance(op, SegmentReduceOp):
        offsets = _offsets(op, live, values)
    body = _body(op, live, sizes, values)
    if isinstance(op, ScatterOp):
        _mask_updates(op, body, values)
    region = op.body
    op.detach_region(region)
    reads = [value for value, _, _ in body.reads], [index_map for _, index_map, _ in body.reads]
    kinds = [_padded(result, shape) for result, shape in zip(op.res, shapes, strict=True)]
    match op:
        case ScanOp():
            made = ScanOp(
                body.domain, op.dim, *reads, op.starts, kinds, region, sources=body.sources
            )
        case ScatterOp():
            made = ScatterOp(body.domain, *reads, op.into, region, sources=body.sources)
        case SegmentReduceOp():
            assert offsets is not None
            made = SegmentReduceOp(
                body.domain, offsets, *reads, op.starts, kinds, region, sources=body.sources
            )
        case _:
            raise unsupported(op, "sizes of arguments are not bounded through it", NUMBERS_INSTEAD)
    return _placed(op, made)


def _body(
    op: GenericOp | OrderedNest, live: Sequence[Extent], sizes: Sequence[Extent], values: Values
) -> BoundBody:
    """The body of a nest, whose reads stay inside."""
    body = BoundBody.of(op, live, values.tensors)
    first = len(op.inputs)
    for argument, source in zip(op.block.args[first:], op.sources, strict=False):
        _retype(argument, source.type)
    for inner in [inner for inner in op.block.ops if isinstance(inner, SizeOp)]:
        inner.result.replace_all_uses_with(body.index(sizes[inner.place.value.data]))
        body.erase(inner)
    bound_lookups(body, values)
    bound_reads(op, body, [map_at(held, sizes) for held in op.read_maps], values)
    return body


def _retype(value: SSAValue, kind: Attribute) -> None:
    if value.type != kind:
        value._type = kind  # pyright: ignore[reportPrivateUsage]


def _padded(result: SSAValue, shape: Shape) -> TensorType:
    return TensorType(element_type(result.type), [bound(extent) for extent in shape])


def _placed(op: GenericOp | OrderedNest, made: Operation) -> list[SSAValue]:
    made.attributes.update(op.attributes)
    made.location = op.location
    for result, old in zip(made.results, op.res, strict=True):
        result.name_hint = old.name_hint
    before(op, made)
    return list(made.results)


# Reductions


def _mask_reductions(
    op: GenericOp, body: BoundBody, writes: Sequence[AffineMap], values: Values
) -> None:
    """What reductions take of positions that do not count changes nothing."""
    end = op.block.last_op
    assert isinstance(end, YieldOp)
    yielded = list(end.values)
    for reduction in op.reductions:
        kept = writes[reduction.results[0]].used_dims()
        dims = [dim for dim in body.open_dims if dim not in kept]
        if not dims or _mask_operands(op, body, dims, values):
            continue
        if _leaves_sum(op, body, reduction, dims, values):
            continue
        if _mask_scores(op, body, reduction, dims, values):
            continue
        alive = body.alive(dims)
        assert alive is not None
        for place, result in enumerate(reduction.results):
            number = (
                reduction.monoid.identities[place]
                if reduction.monoid is not None
                else identity_value(reduction.combiner, yielded[result].type)
            )
            neutral = body.constant(number)
            yielded[result] = before(end, arith.SelectOp(alive, yielded[result], neutral))
    end.operands = yielded


def _mask_operands(op: GenericOp, body: BoundBody, dims: Sequence[int], values: Values) -> bool:
    """Of a product, what both operands have behind what counts is 0; whether it is one."""
    if not is_contraction(op) or len(body.reads) != 2:
        return False
    places: list[list[int]] = []
    for _, index_map, pad in body.reads:
        pure = [e.position if isinstance(e, AffineDimExpr) else None for e in index_map.results]
        if pad is not None or not all(dim in pure for dim in dims):
            return False
        places.append([pure.index(dim) for dim in dims])
    for number, axes in enumerate(places):
        value, index_map, pad = body.reads[number]
        if len(dims) == 1 and values.weights.is_weight(
            value, index_map, dims[0], exponential=False
        ):
            continue
        zero = scalar.number(0, element_type(value.type))
        if any(
            values.shape(value)[axis] != body.live[dim]
            for axis, dim in zip(axes, dims, strict=True)
        ):
            return False  # padding begins elsewhere
        body.reads[number] = values.filled(value, axes, zero, op), index_map, pad
    return True


def _leaves_sum(
    op: GenericOp, body: BoundBody, reduction: Reduction, dims: Sequence[int], values: Values
) -> bool:
    """Whether a sum is one of exponentials that are 0 where they do not count."""
    value = op.yielded[reduction.results[0]]
    if reduction.combiner != "add" or len(dims) != 1 or not isinstance(value, BlockArgument):
        return False
    if value.index >= len(body.reads) or body.reads[value.index][2] is not None:
        return False
    read, index_map, _ = body.reads[value.index]
    return values.weights.is_weight(read, index_map, dims[0], exponential=True)


def _mask_scores(
    op: GenericOp, body: BoundBody, reduction: Reduction, dims: Sequence[int], values: Values
) -> bool:
    """A tensor whose maximum is taken has -inf in its padding for all that reads it from here on,
    as the scores of a softmax, whose weights need no mask then; whether it is read so."""
    value = op.yielded[reduction.results[0]]
    if reduction.combiner != "max" or len(dims) != 1 or not isinstance(value, BlockArgument):
        return False
    size = body.live[dims[0]]
    assert isinstance(size, Size)
    if not scalar.is_float(value.type) or value.index >= len(body.reads) or size.range[0] < 1:
        return False
    read, index_map, pad = body.reads[value.index]
    place = AffineDimExpr(dims[0])
    if pad is not None or index_map.results.count(place) != 1:
        return False
    axis = index_map.results.index(place)
    if values.shape(read)[axis] != size:
        return False
    filled = values.filled(read, [axis], identity_value("max", value.type), op)
    body.reads[value.index] = filled, index_map, pad
    values.weights.note_scores(filled, len(index_map.results), axis)
    read.replace_uses_with_if(filled, lambda use: use.operation in values.pending)
    return True


# Ops whose points depend on one another


def _mask_updates(op: ScatterOp, body: BoundBody, values: Values) -> None:
    """Updates of padding write nothing; places behind what counts are refused as others are."""
    end = op.block.last_op
    assert isinstance(end, YieldOp)
    places, value, mask = list(op.places), op.value, op.mask
    extents = zip(values.shape(op.into), shape_of(op.into), strict=True)
    for axis, (live, extent) in enumerate(extents):
        place = places[axis]
        if isinstance(live, Size) and not is_position(place, body, live, extent):
            beyond = before(end, arith.CmpiOp(place, body.index(live), SGE))
            refused = body.constant(IntegerAttr(extent, IndexType()))
            places[axis] = before(end, arith.SelectOp(beyond, refused, place))
    alive = body.alive(body.open_dims)
    if alive is not None:
        mask = alive if mask is None else before(end, arith.AndIOp(alive, mask))
    end.operands = [*places, value, *([] if mask is None else [mask])]


def _offsets(op: SegmentReduceOp, live: Sequence[Extent], values: Values) -> SSAValue:
    """Offsets whose padding is the end of what counts; those behind that are refused."""
    (given,), positions = values.shape(op.offsets), live[1]
    if not isinstance(given, Size) and not isinstance(positions, Size):
        return op.offsets

    def offset(body: BoundBody) -> SSAValue:
        element = body.add_read(op.offsets, AffineMap.identity(1))
        end = body.number(positions)
        beyond = body.add(arith.CmpiOp(element, end, SGT))
        refused = body.number(bound(positions) + 1)
        element = body.add(arith.SelectOp(beyond, refused, element))
        counts = body.alive([0])
        return element if counts is None else body.add(arith.SelectOp(counts, element, end))

    return before(op, computed([given], i64, "offsets", values.tensors, offset))
