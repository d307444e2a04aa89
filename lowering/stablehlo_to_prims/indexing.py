"""Reads at places that the data tell: one nest, whose places are moved inside the tensor first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import SSAValue

from lamina.dialects.stablehlo.attributes import body_of, fields
from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, Map, d
from lamina.lowering.scalar import compare, is_unsigned, select, width_of
from lamina.lowering.stablehlo_to_prims.table import (
    HloBuilder,
    lowers,
    result_element,
    result_shape,
)
from lamina.lowering.tensor_types import element_of, is_complex, rank_of, shape_of


def as_i64(inner: Body, value: SSAValue) -> SSAValue:
    """A place as an i64; unsigned ones of that width that are beyond it are the largest."""
    made = scalar.convert(inner, value, i64)
    if is_unsigned(value.type) and width_of(value.type) == 64:
        negative = compare(inner, "lt", made, inner.constant(0, i64))
        made = select(inner, negative, inner.constant((1 << 63) - 1, i64), made)
    return made


def clamped(inner: Body, value: SSAValue, most: int) -> SSAValue:
    """A place moved into [0, most], as an index."""
    at = as_i64(inner, value)
    at = scalar.maximum(inner, at, inner.constant(0, i64))
    at = scalar.minimum(inner, at, inner.constant(most, i64))
    return inner.add(arith.IndexCastOp(at, IndexType()))


def plus(inner: Body, x: SSAValue, y: SSAValue) -> SSAValue:
    """The sum of two indices."""
    return inner.add(arith.AddiOp(x, y))


def index_columns(b: HloBuilder, indices: SSAValue, vector_dim: int) -> list[SSAValue]:
    """The components of index vectors, each a tensor of the other dimensions."""
    shape = shape_of(indices)
    if vector_dim == len(shape):
        return [indices]
    rest = [*shape[:vector_dim], *shape[vector_dim + 1 :]]
    columns: list[SSAValue] = []
    for place in range(shape[vector_dim]):
        line = b.slice(indices, vector_dim, place, place + 1)
        columns.append(b.reshape(line, rest))
    return columns


@lowers("gather")
def gather(op: HloOp, b: HloBuilder) -> SSAValue:
    """Slices from starts that index vectors tell, moved so that the slice is inside."""
    source, indices = op.operands
    numbers = fields(body_of(op.attr("dimension_numbers")))
    if is_complex(element_of(source)):
        parts = [_gathered(op, b, b(part, source), indices, numbers) for part in ("real", "imag")]
        return b("complex", *parts)
    return _gathered(op, b, source, indices, numbers)


def _gathered(
    op: HloOp, b: HloBuilder, source: SSAValue, indices: SSAValue, numbers: dict[str, list[int]]
) -> SSAValue:
    shape, out, sizes = shape_of(source), result_shape(op), op.ints("slice_sizes")
    offsets = numbers.get("offset_dims", [])
    dropped = [*numbers.get("collapsed_slice_dims", []), *numbers.get("operand_batching_dims", [])]
    batching = numbers.get("operand_batching_dims", [])
    index_batching = numbers.get("start_indices_batching_dims", [])
    started = numbers.get("start_index_map", [])
    vector_dim = numbers.get("index_vector_dim", [0])[0]
    if len(sizes) != len(shape) or any(
        not 0 <= size <= extent for size, extent in zip(sizes, shape, strict=True)
    ):
        raise ValueError(f"slice_sizes {sizes} of {shape}")
    if 0 in out:
        return b.full(out, 0, element_of(source))
    batch = [dim for dim in range(len(out)) if dim not in offsets]
    windowed = [dim for dim in range(len(shape)) if dim not in dropped]
    columns = index_columns(b, indices, vector_dim)
    if len(columns) != len(started) or len(windowed) != len(offsets):
        raise ValueError(f"start_index_map {started} and offset_dims {offsets}")
    where: Map = [d(dim) for dim in batch]
    # Dimensions of the indices, without that of the vectors, are the batch dimensions in order.
    index_dims = [dim for dim in range(rank_of(indices)) if dim != vector_dim]

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        *starts, table = args
        zero = inner.constant(0, IndexType())
        places = [zero] * len(shape)
        for dim, start in zip(started, starts, strict=True):
            places[dim] = clamped(inner, start, shape[dim] - sizes[dim])
        for dim, own in zip(batching, index_batching, strict=True):
            places[dim] = inner.index(batch[index_dims.index(own)])
        for dim, offset in zip(windowed, offsets, strict=True):
            if sizes[dim] > 1:
                places[dim] = plus(inner, places[dim], inner.index(offset))
        return [inner.read(table, places)]

    return _read(b, out, [(column, where) for column in columns], source, body)


def _read(
    b: HloBuilder,
    out: list[int],
    reads: Sequence[tuple[SSAValue, Map]],
    source: SSAValue,
    body: Callable[[Body, list[SSAValue]], Sequence[SSAValue]],
) -> SSAValue:
    write = (None, "store", out, element_of(source))
    made = b.loop_of_parts.generic(out, reads, [write], body, sources=[source])
    return made.res[0]


@lowers("dynamic_slice")
def dynamic_slice(op: HloOp, b: HloBuilder) -> SSAValue:
    """A slice from a place that is moved so that it is inside."""
    source, starts = op.operands[0], list(op.operands[1:])
    if is_complex(element_of(source)):
        parts = [_sliced(op, b, b(part, source), starts) for part in ("real", "imag")]
        return b("complex", *parts)
    return _sliced(op, b, source, starts)


def _sliced(op: HloOp, b: HloBuilder, source: SSAValue, starts: list[SSAValue]) -> SSAValue:
    shape, out = shape_of(source), result_shape(op)
    sizes = op.ints("slice_sizes", out)
    if not len(starts) == len(shape) == len(sizes):
        raise ValueError(f"{len(starts)} places for {shape}")
    if 0 in out:
        return b.full(out, 0, result_element(op))

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        *given, table = args
        places = [
            plus(inner, clamped(inner, start, extent - size), inner.index(dim))
            for dim, (start, extent, size) in enumerate(zip(given, shape, sizes, strict=True))
        ]
        return [inner.read(table, places)]

    return _read(b, out, [(start, []) for start in starts], source, body)
