"""Ops that put tensors together or move elements: stack, roll, tile, pixel shuffle, pad, tril."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_bool, normalized, rank_of, shape_of


@lowers("stack")
def stack(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Unsqueeze each, then cat."""
    tensors = op.arg("tensors")
    dim = normalized(op.arg("dim"), rank_of(tensors[0]) + 1)
    return b("cat", [b("unsqueeze", x, dim) for x in tensors], dim)


def _at_least(b: CoreBuilder, x: SSAValue, rank: int, column: bool = False) -> SSAValue:
    shape = shape_of(x)
    while len(shape) < rank:
        shape = [*shape, 1] if column and shape else [1, *shape]
    return b.view(x, shape)


@lowers("hstack")
def hstack(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Along dimension 1, vectors along 0."""
    tensors = [_at_least(b, x, 1) for x in op.arg("tensors")]
    return b("cat", tensors, 0 if rank_of(tensors[0]) == 1 else 1)


@lowers("vstack", "row_stack")
def vstack(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Rows under each other."""
    return b("cat", [_at_least(b, x, 2) for x in op.arg("tensors")], 0)


@lowers("column_stack")
def column_stack(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Vectors become columns."""
    return b("cat", [_at_least(b, x, 2, column=True) for x in op.arg("tensors")], 1)


@lowers("concat", "concatenate")
def concat(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Another name of cat."""
    return b("cat", op.arg("tensors"), op.arg("dim"))


@lowers("roll")
def roll(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The end piece goes to the front, along each dimension; all flattened if none is named."""
    x, dims = op.arg("self"), op.arg("dims")
    shape = shape_of(x)
    if not dims:
        x, dims = b.view(x, [_product(shape)]), [0]
    for shift, dim in zip(op.arg("shifts"), dims, strict=True):
        extent = shape_of(x)[dim]
        shift = shift % extent if extent else 0
        if shift:
            tail = b("slice.Tensor", x, dim, extent - shift, extent)
            x = b("cat", [tail, b("slice.Tensor", x, dim, 0, extent - shift)], dim)
    return b.view(x, shape)


def _product(shape: list[int]) -> int:
    result = 1
    for extent in shape:
        result *= extent
    return result


@lowers("tile")
def tile(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """`repeat` with the list filled up with ones in front."""
    x, dims = op.arg("self"), op.arg("dims")
    return b("repeat", x, [1] * (rank_of(x) - len(dims)) + list(dims))


@lowers("repeat_interleave.self_int")
def repeat_interleave(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """A new dimension after `dim`, expanded, then merged."""
    x, dim, repeats = op.arg("self"), op.arg("dim"), op.arg("repeats")
    shape = shape_of(x)
    if dim is None:
        shape, dim = [_product(shape)], 0
        x = b.view(x, shape)
    dim = normalized(dim, len(shape))
    wide = [*shape[: dim + 1], repeats, *shape[dim + 1 :]]
    x = b.expand(b("unsqueeze", x, dim + 1), wide)
    return b.view(x, shape_of(op.results[0]))


@lowers("flipud")
def flipud(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Rows reversed."""
    return b("flip", op.arg("self"), [0])


@lowers("fliplr")
def fliplr(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Columns reversed."""
    return b("flip", op.arg("self"), [1])


@lowers("rot90")
def rot90(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Quarter turns in the plane of two dimensions."""
    x, turns = op.arg("self"), op.arg("k") % 4
    first, second = (normalized(d, rank_of(x)) for d in op.arg("dims"))
    if turns == 2:
        return b("flip", x, [first, second])
    if turns == 1:
        return b.swap(b("flip", x, [second]), first, second)
    return b("flip", b.swap(x, first, second), [second]) if turns else x


@lowers("pixel_shuffle")
def pixel_shuffle(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """(.., C*r*r, H, W) to (.., C, H*r, W*r)."""
    x, r = op.arg("self"), op.arg("upscale_factor")
    *batch, channels, height, width = shape_of(x)
    n = len(batch)
    x = b.view(x, [*batch, channels // (r * r), r, r, height, width])
    x = b.permute(x, [*range(n + 1), n + 3, n + 1, n + 4, n + 2])
    return b.view(x, shape_of(op.results[0]))


@lowers("pixel_unshuffle")
def pixel_unshuffle(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """(.., C, H*r, W*r) to (.., C*r*r, H, W)."""
    x, r = op.arg("self"), op.arg("downscale_factor")
    *batch, channels, height, width = shape_of(x)
    n = len(batch)
    x = b.view(x, [*batch, channels, height // r, r, width // r, r])
    x = b.permute(x, [*range(n + 1), n + 2, n + 4, n + 1, n + 3])
    return b.view(x, shape_of(op.results[0]))


@lowers("channel_shuffle")
def channel_shuffle(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """(N, g*c, ...) to the transposed grouping of channels."""
    x, groups = op.arg("self"), op.arg("groups")
    shape = shape_of(x)
    x = b.view(x, [shape[0], groups, shape[1] // groups, *shape[2:]])
    return b.view(b.swap(x, 1, 2), shape)


@lowers("pad")
def pad(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """By `mode`: constant, reflect, replicate."""
    x, amounts, mode = op.arg("self"), op.arg("pad"), op.arg("mode")
    if mode == "constant":
        value = op.arg("value")
        return b("constant_pad_nd", x, amounts, 0 if value is None else value)
    if mode == "circular":
        return _circular(b, x, amounts)
    names = {"reflect": "reflection_pad", "replicate": "replication_pad"}
    dims = len(amounts) // 2
    if mode not in names or dims not in (1, 2, 3):
        raise b.refuse(f"pad mode {mode!r}", "constant, reflect, replicate, circular")
    if (mode, dims) == ("replicate", 1):
        return _replicate_1d(b, x, amounts)
    return b(f"{names[mode]}{dims}d", x, amounts)


@lowers("_pad_circular")
def pad_circular(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Each end continues with the other."""
    return _circular(b, op.arg("self"), op.arg("pad"))


def _circular(b: CoreBuilder, x: SSAValue, amounts: list[int]) -> SSAValue:
    for position in range(len(amounts) // 2):
        dim = rank_of(x) - 1 - position
        low, high = amounts[2 * position], amounts[2 * position + 1]
        extent = shape_of(x)[dim]
        kept = b("slice.Tensor", x, dim, max(0, -low), extent - max(0, -high))
        pieces = [kept] if shape_of(kept)[dim] or (low <= 0 and high <= 0) else []
        if low > 0:
            end = extent - max(0, -high)
            pieces.insert(0, b("slice.Tensor", x, dim, end - low, end))
        if high > 0:
            start = max(0, -low)
            pieces.append(b("slice.Tensor", x, dim, start, start + high))
        x = b("cat", pieces, dim) if len(pieces) > 1 else pieces[0]
    return x


@lowers("replication_pad1d")
def replication_pad1d(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """There is no one-dimensional core op; the edges are sliced and expanded."""
    return _replicate_1d(b, op.arg("self"), op.arg("padding"))


def _replicate_1d(b: CoreBuilder, x: SSAValue, amounts: list[int]) -> SSAValue:
    left, right = amounts
    shape = shape_of(x)
    if left < 0 or right < 0:
        raise b.refuse("negative padding")
    pieces = [x]
    if left:
        edge = b("slice.Tensor", x, -1, 0, 1)
        pieces.insert(0, b.expand(edge, [*shape[:-1], left]))
    if right:
        edge = b("slice.Tensor", x, -1, shape[-1] - 1, shape[-1])
        pieces.append(b.expand(edge, [*shape[:-1], right]))
    return b("cat", pieces, -1) if len(pieces) > 1 else x


def _triangle(op: SchemaOp, b: CoreBuilder, compare: str) -> SSAValue:
    x, diagonal = op.arg("self"), op.arg("diagonal")
    rows, columns = shape_of(x)[-2:]
    column = b("arange.start_step", 0, columns, 1, dtype=i64)
    row = b.view(b("arange.start_step", 0, rows, 1, dtype=i64), [rows, 1])
    inside = b(compare, b("sub.Tensor", column, row), diagonal)
    element = element_of(x)
    zero = b.full([], False if is_bool(element) else 0, element)
    return b("where.self", inside, x, zero)


@lowers("tril")
def tril(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Elements with column - row <= diagonal."""
    return _triangle(op, b, "le.Scalar")


@lowers("triu")
def triu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Elements with column - row >= diagonal."""
    return _triangle(op, b, "ge.Scalar")


@lowers("diff")
def diff(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Neighbours subtracted `n` times, after joining `prepend` and `append`; none for n = 0."""
    if op.arg("n") == 0:
        return op.arg("self")
    x, dim = op.arg("self"), normalized(op.arg("dim"), rank_of(op.arg("self")))
    parts = [part for part in (op.arg("prepend"), x, op.arg("append")) if part is not None]
    if len(parts) > 1:
        x = b("cat", parts, dim)
    for _ in range(op.arg("n")):
        extent = shape_of(x)[dim]
        upper, lower = (
            b("slice.Tensor", x, dim, 1, extent),
            b("slice.Tensor", x, dim, 0, extent - 1),
        )
        boolean = is_bool(element_of(x))
        x = b("bitwise_xor.Tensor" if boolean else "sub.Tensor", upper, lower)
    return x
