"""Ops that name the same elements in another shape or order."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_certain, normalized, rank_of, shape_of


@lowers("view", "unsqueeze", "squeeze.dim", "squeeze.dims")
def reshape(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """To the result's shape."""
    return b.reshape(op.arg("self"), shape_of(op.results[0]))


@lowers("permute")
def permute(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.transpose."""
    x = op.arg("self")
    return b.transpose(x, [normalized(d, rank_of(x)) for d in op.arg("dims")])


@lowers("expand")
def expand(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.broadcast_in_dim."""
    return b.broadcast(op.arg("self"), shape_of(op.results[0]))


def clamped(index: int | None, extent: int, default: int) -> int:
    """A slice bound as Python reads it."""
    if index is None:
        return default
    return min(max(index + extent if index < 0 else index, 0), extent)


def bounds(op: SchemaOp, b: PrimsBuilder) -> tuple[int, int, int, int]:
    """dim, start, end and step of a slice, with constant bounds inside the dimension."""
    x, dim = op.arg("self"), normalized(op.arg("dim"), rank_of(op.arg("self")))
    extent = shape_of(x)[dim]
    start, end, step = op.arg("start"), op.arg("end"), op.arg("step")
    if any(isinstance(bound, SSAValue) for bound in (start, end, step)):
        raise b.refuse("slice bounds that are computed", "constants")
    first = clamped(start, extent, 0)
    return dim, first, max(first, clamped(end, extent, extent)), step


@lowers("slice.Tensor")
def slice_(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """start:end:step along one dimension."""
    return b.slice(op.arg("self"), *bounds(op, b))


@lowers("slice_scatter")
def slice_scatter(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """What is before, the source, what is after; with a step, a choice by position."""
    x, source = op.arg("self"), op.arg("src")
    dim, start, end, step = bounds(op, b)
    shape = shape_of(x)
    wanted = [*shape[:dim], -(-(end - start) // step), *shape[dim + 1 :]]
    source = b.broadcast(b.convert(source, element_of(x)), wanted)
    if step == 1:
        return _replaced(b, x, source, dim, start, end)
    spread = b.reshape(source, [*wanted[: dim + 1], 1, *wanted[dim + 1 :]])
    spread = b.pad(spread, dim + 1, 0, step - 1)
    merged = [*shape[:dim], wanted[dim] * step, *shape[dim + 1 :]]
    over = start + merged[dim] - shape[dim]
    filled = b.pad(b.reshape(spread, merged), dim, start, -over)
    position = b.iota(shape[dim], i64, -start)
    inside = b("bitwise_and", b.with_number("ge", position, 0), _below(b, position, end - start))
    on_step = b.with_number("eq", b.with_number("remainder", position, step), 0)
    return b.where(b.along(b("bitwise_and", inside, on_step), shape, dim), filled, x)


def _below(b: PrimsBuilder, position: SSAValue, limit: int) -> SSAValue:
    return b.with_number("lt", position, limit)


def _replaced(
    b: PrimsBuilder, x: SSAValue, source: SSAValue, dim: int, start: int, end: int
) -> SSAValue:
    extent = shape_of(x)[dim]
    pieces = [source]
    if start:
        pieces.insert(0, b.slice(x, dim, 0, start))
    if not is_certain(lambda: end >= extent):
        pieces.append(b.slice(x, dim, end, extent))
    return b("cat", pieces, dim) if len(pieces) > 1 else source


@lowers("select.int")
def select(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """A slice of one, its dimension dropped."""
    x, dim, index = _selected(op, b)
    return b.reshape(b.slice(x, dim, index, index + 1), shape_of(op.results[0]))


def _selected(op: SchemaOp, b: PrimsBuilder) -> tuple[SSAValue, int, int]:
    x, index = op.arg("self"), op.arg("index")
    dim = normalized(op.arg("dim"), rank_of(x))
    extent = shape_of(x)[dim]
    if isinstance(index, SSAValue):
        raise b.refuse("an index that is computed", "a constant, or index_select")
    if not -extent <= index < extent:
        raise b.refuse(f"index {index} is outside of dimension {dim} of {x.type}")
    return x, dim, index % extent


@lowers("select_scatter")
def select_scatter(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The source in place of one index."""
    x, dim, index = _selected(op, b)
    shape = shape_of(x)
    one = [*shape[:dim], 1, *shape[dim + 1 :]]
    source = b.reshape(b.convert(op.arg("src"), element_of(x)), one)
    return _replaced(b, x, source, dim, index, index + 1)


@lowers("split_with_sizes")
def split(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """One slice for each result that is used."""
    x, dim = op.arg("self"), normalized(op.arg("dim"), rank_of(op.arg("self")))
    pieces: list[SSAValue | None] = []
    start = 0
    for result in op.results:
        end = start + shape_of(result)[dim]
        pieces.append(b.slice(x, dim, start, end) if result.uses else None)
        start = end
    return pieces


@lowers("cat")
def cat(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.cat in the common dtype; empty vectors are skipped, as torch does."""
    rank = rank_of(op.results[0])
    element = element_of(op.results[0])
    tensors = [x for x in op.arg("tensors") if rank_of(x) == rank or shape_of(x) != [0]]
    dim = normalized(op.arg("dim"), rank)
    tensors = [b.convert(x, element) for x in tensors if shape_of(x)[dim]] or [
        b.convert(tensors[0], element)
    ]
    return tensors[0] if len(tensors) == 1 else b("cat", tensors, dim)


@lowers("repeat")
def repeat(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Each dimension gets one in front of it, which is broadcast and merged."""
    x, repeats = op.arg("self"), op.arg("repeats")
    shape = [1] * (len(repeats) - rank_of(x)) + shape_of(x)
    wide = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    x = b("broadcast_in_dim", b.reshape(x, shape), wide, list(range(1, len(wide), 2)))
    return b.reshape(x, shape_of(op.results[0]))


@lowers("flip")
def flip(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.rev."""
    x = op.arg("self")
    dims = [normalized(d, rank_of(x)) for d in op.arg("dims")]
    return b("rev", x, dims) if dims and rank_of(x) else x


@lowers("diagonal")
def diagonal(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Every (columns + 1)-th element of the flattened matrix, matrix dimensions last."""
    x = op.arg("self")
    rank = rank_of(x)
    first, second = normalized(op.arg("dim1"), rank), normalized(op.arg("dim2"), rank)
    order = [d for d in range(rank) if d not in (first, second)] + [first, second]
    x = b.transpose(x, order)
    *batch, rows, columns = shape_of(x)
    offset, length = op.arg("offset"), shape_of(op.results[0])[-1]
    flat = b.reshape(x, [*batch, rows * columns])
    start = offset if offset >= 0 else -offset * columns
    index = b.iota(length, i64, start, columns + 1)
    return b("take", flat, index, rank - 2)


@lowers("as_strided")
def as_strided(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Elements of the row-major tensor, taken at offset + sum of index times stride."""
    x: SSAValue = op.arg("self")
    size, strides = op.arg("size"), op.arg("stride")
    if any(isinstance(entry, SSAValue) for entry in (*size, *strides)):
        raise b.refuse("sizes that are computed", "constants")
    count = 1
    for extent in shape_of(x):
        count *= extent
    index = b.full(size, op.arg("storage_offset") or 0, i64)
    for dim, (extent, stride) in enumerate(zip(size, strides, strict=True)):
        steps = b.iota(extent, i64, 0, 1)
        index = b("add", index, b.along(b.with_number("mul", steps, stride), size, dim))
    return b("take", b.reshape(x, [count]), index, 0)
