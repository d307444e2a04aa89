"""Nests whose extents, or numbers in index maps, are values: their sizes.

Value `n` of a nest's `sizes` is the extent -1 - n, symbol `n` of its index maps, and `loop.size n`
of its body, be it a `loop.generic` or a nest whose points depend on one another. What such a nest
reads and writes can be checked where its sizes are known as numbers, or in sizes of arguments; by
itself only its form can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineConstantExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.body_ops import SizeOp, element_type
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.linear import Linear, linear
from lamina.dialects.loop.monoid import left_out, verify_monoids
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.nest_verifier import COMBINERS, verify_block
from lamina.dialects.loop.segments import array64, index_maps, maps_of, set_last_segment
from lamina.dialects.sizes import Extent, UndecidedSizeError


def is_open(op: Operation) -> bool:
    """Whether an op of this dialect has values for sizes, or tensors that leave them open."""
    if not op.name.startswith("loop."):
        return False
    kinds = [value.type for value in (*op.operands, *op.results)]
    tensors = [kind for kind in kinds if isinstance(kind, TensorType)]
    return bool(getattr(op, "sizes", ())) or not all(kind.has_static_shape() for kind in tensors)


def verify_open_nest(op: GenericOp) -> None:
    """The form of a nest that has sizes. Raises VerifyException."""
    if op.slices:
        raise VerifyException("loop.generic: a nest of slices has known extents")
    if not len(op.inputs) == len(op.read_maps) == len(op.pad_values):
        raise VerifyException("loop.generic: one map and one pad entry for each read")
    verify_open_domain(op)
    _verify_forms(op)
    given = [element_type(v.type) for v in op.inputs] + [v.type for v in op.sources]
    verify_block(op.block, given, op.written_types)
    if op.monoids:
        elements = [element_type(kind) for kind in op.written_types]
        reduced = left_out(op.write_maps, op.extents)
        verify_monoids(op.combiner_names, op.given_identities, op.regions[1:], elements, reduced)


def verify_open_domain(op: GenericOp | OrderedNest) -> None:
    """The form of the domain and of the reads, which have a map each. Raises VerifyException."""
    count = len(op.sizes)
    for extent in op.extents:
        if -1 - extent >= count:
            raise VerifyException(
                f"{op.name}: an extent is size {-1 - extent}, and there are {count}"
            )
    if op.outs:
        raise VerifyException(f"{op.name}: a nest in memory has known extents")
    for value, index_map in zip(op.inputs, op.read_maps, strict=True):
        _verify_map(op, value.type, index_map)


def _verify_map(op: GenericOp | OrderedNest, kind: Attribute, index_map: AffineMap) -> None:
    count, rank = len(op.sizes), len(op.extents)
    if not isinstance(kind, TensorType):
        raise VerifyException(f"{op.name}: a nest of {kind}, which is in memory, has known extents")
    if (index_map.num_dims, index_map.num_symbols) != (rank, count):
        raise VerifyException(
            f"{op.name}: a map of {index_map.num_dims} dimensions and "
            f"{index_map.num_symbols} sizes, the domain has {rank} and {count}"
        )
    if len(index_map.results) != kind.get_num_dims():
        raise VerifyException(f"{op.name}: a map gives {len(index_map.results)} indices for {kind}")


def _verify_forms(op: GenericOp) -> None:
    if not len(op.res) == len(op.write_maps) == len(op.combiner_names):
        raise VerifyException("loop.generic: one map and one combiner for each write")
    for value, pad in zip(op.inputs, op.pad_values, strict=True):
        if pad is None:
            continue
        if not isinstance(pad, FloatAttr | IntegerAttr) or pad.type != element_type(value.type):
            raise VerifyException(f"loop.generic: the pad {pad} is no element of {value.type}")
    for value, index_map in zip(op.res, op.write_maps, strict=True):
        _verify_map(op, value.type, index_map)
    for combiner in op.combiner_names:
        if combiner not in COMBINERS:
            raise VerifyException(
                f"loop.generic: unknown combiner '{combiner}'; one of {', '.join(COMBINERS)}"
            )


def extents_at(op: GenericOp | OrderedNest, sizes: Sequence[Extent]) -> tuple[Extent, ...]:
    """The extents of a nest where its sizes are these."""
    return tuple([extent if extent >= 0 else sizes[-1 - extent] for extent in op.extents])


def map_at(index_map: AffineMap, sizes: Sequence[Extent]) -> AffineMap:
    """An index map of a nest where its sizes are these; other than numbers stand as constants."""
    symbols = [AffineExpr.constant(size) for size in sizes]  # pyright: ignore[reportArgumentType]
    results = [expr.replace_dims_and_symbols([], symbols) for expr in index_map.results]
    return AffineMap(index_map.num_dims, 0, tuple(results))


def with_symbols(index_map: AffineMap, place: Callable[[Extent], int], count: int) -> AffineMap:
    """The other way around: sizes that stand as constants become symbols, of which there are
    `count` in the end."""

    def replaced(expr: AffineExpr) -> AffineExpr:
        match expr:
            case AffineConstantExpr() if not isinstance(expr.value, int):
                return AffineSymExpr(place(expr.value))
            case AffineBinaryOpExpr():
                return AffineBinaryOpExpr(expr.kind, replaced(expr.lhs), replaced(expr.rhs))
            case _:
                return expr

    return AffineMap(index_map.num_dims, count, tuple(map(replaced, index_map.results)))


def shapes_at(
    op: GenericOp, sizes: Sequence[Extent], reads: Sequence[TensorType]
) -> list[tuple[Extent, ...]]:
    """The shapes of the results where sizes are these, and what is read has the types `reads`.

    Raises VerifyException where an access leaves its tensor, or a result is not written whole, and
    UndecidedSizeError where the ranges of sizes do not tell.
    """
    extents = extents_at(op, sizes)
    verify_reads_at(op, sizes, reads)
    shapes: list[tuple[Extent, ...]] = []
    for number, held in enumerate(op.write_maps):
        index_map = map_at(held, sizes)
        ranges = [_range(expr, extents) for expr in index_map.results]
        shape = [high + 1 for _, high in ranges]
        _verify_inside(op, f"write {number}", ranges, shape)
        _verify_whole(op, number, index_map, extents, shape)
        shapes.append(tuple(shape))
    return shapes


def verify_reads_at(
    op: GenericOp | OrderedNest, sizes: Sequence[Extent], reads: Sequence[TensorType]
) -> None:
    """Check that reads without pads stay inside, as `shapes_at` does."""
    extents = extents_at(op, sizes)
    for number, (kind, held) in enumerate(zip(reads, op.read_maps, strict=True)):
        if op.pad_values[number] is None:
            ranges = [_range(expr, extents) for expr in map_at(held, sizes).results]
            _verify_inside(op, f"read {number}", ranges, kind.get_shape())


def _range(expr: AffineExpr, extents: Sequence[Extent]) -> tuple[Extent, Extent]:
    """Least and greatest value over a domain that has points: extents are 1 at least."""
    form = linear(expr, extents)  # pyright: ignore[reportArgumentType] - sizes compute as numbers
    if form is None:
        raise UndecidedSizeError(f"what {expr} is at most")
    return reach_of(form, extents)


def reach_of(form: Linear, extents: Sequence[Extent]) -> tuple[Extent, Extent]:
    """Least and greatest value of a form over a domain that has points.

    Raises UndecidedSizeError where the ranges of sizes do not tell the sign of a factor.
    """
    low: Extent = form.constant
    high: Extent = form.constant
    for dim, coefficient in form.terms:
        reach = (extents[dim] - 1) * coefficient
        low, high = (low, high + reach) if coefficient >= 0 else (low + reach, high)
    return low, high


def _verify_inside(
    op: Operation,
    what: str,
    ranges: Sequence[tuple[Extent, Extent]],
    shape: Sequence[Extent],
) -> None:
    for axis, ((low, high), extent) in enumerate(zip(ranges, shape, strict=True)):
        if low < 0 or high >= extent:
            raise VerifyException(
                f"{op.name}: index {axis} of {what} runs over [{low}, {high}] but the extent "
                f"there is {extent}; pad the read or shrink the domain"
            )


def _is_injective(form: Linear, extents: Sequence[Extent]) -> bool:
    if not all(isinstance(factor, int) for _, factor in form.terms):
        raise UndecidedSizeError("whether steps by a size reach each place once")
    return form.pure_dim is not None or form.is_injective(extents)  # pyright: ignore


def _verify_whole(
    op: GenericOp,
    number: int,
    index_map: AffineMap,
    extents: Sequence[Extent],
    shape: Sequence[Extent],
) -> None:
    """Each place of a result is written, and once for each position of what is reduced."""
    used = [expr.used_dims() for expr in index_map.results]
    forms = [linear(expr, extents) for expr in index_map.results]  # pyright: ignore
    apart = sum(map(len, used)) == len(set[int]().union(*used))
    if not apart or not all(form and _is_injective(form, extents) for form in forms):
        raise VerifyException(
            f"loop.generic: write {number} reaches the same element at several positions"
        )
    for axis, dims in enumerate(used):
        points: Extent = 1
        for dim in dims:
            points = points * extents[dim]
        if points != shape[axis]:
            raise VerifyException(
                f"loop.generic: write {number} reaches {points} of {shape[axis]} places along "
                f"dimension {axis} of its result; a nest writes its whole result"
            )
    left = {d for d, extent in enumerate(extents) if extent != 1}.difference(*used)
    if op.combiner_names[number] == "store" and left:
        raise VerifyException(
            f"loop.generic: write {number} stores but its map leaves out "
            f"{', '.join(f'd{d}' for d in sorted(left))}; use a reducing combiner"
        )


def bind_nest(op: GenericOp | OrderedNest, numbers: Sequence[int | None]) -> None:
    """Gives sizes of a nest their numbers, in place; None leaves one as it is.

    What it reads has its types by then, which the body's tables get as well.
    """
    kept = [place for place, number in enumerate(numbers) if number is None]
    symbols = [
        AffineSymExpr(kept.index(place)) if number is None else AffineExpr.constant(number)
        for place, number in enumerate(numbers)
    ]

    def bound(index_map: AffineMap) -> AffineMap:
        results = [_bound(expr, symbols) for expr in index_map.results]
        return AffineMap(index_map.num_dims, len(kept), tuple(results))

    def extent(held: int) -> int:
        if held >= 0:
            return held
        number = numbers[-1 - held]
        return -1 - kept.index(-1 - held) if number is None else number

    for maps in ("input_maps", "output_maps"):
        if maps in op.properties:
            held = map(bound, maps_of(op.properties[maps]))
            op.properties[maps] = index_maps(*held)
    op.properties["domain"] = array64(*map(extent, op.extents))
    for inner in block_ops(op.block):
        if isinstance(inner, SizeOp):
            _bind_size(op, inner, numbers, kept)
    tables = op.block.args[len(op.inputs) :]
    for argument, source in zip(tables, op.sources, strict=False):
        if argument.type != source.type:
            Rewriter.replace_value_with_new_type(argument, source.type)
    set_last_segment(op, [op.sizes[place] for place in kept])


def _bind_size(
    op: GenericOp | OrderedNest, inner: SizeOp, numbers: Sequence[int | None], kept: Sequence[int]
) -> None:
    place = inner.place.value.data
    number = numbers[place]
    made: Operation = (
        SizeOp(kept.index(place))
        if number is None
        else arith.ConstantOp(IntegerAttr(number, IndexType()))
    )
    op.block.insert_op_before(made, inner)
    inner.result.replace_all_uses_with(made.results[0])
    inner.detach()
    inner.erase()


def _bound(expr: AffineExpr, symbols: Sequence[AffineExpr]) -> AffineExpr:
    """An expression with these in the place of its symbols."""
    match expr:
        case AffineSymExpr():
            return symbols[expr.position]
        case AffineBinaryOpExpr():
            left, right = _bound(expr.lhs, symbols), _bound(expr.rhs, symbols)
            if isinstance(right, AffineSymExpr):
                return AffineBinaryOpExpr(expr.kind, left, right)
            return AffineExpr.binary(expr.kind, left, right)
        case _:
            return expr
