"""Gathers, scatters and diagonals under other names than the core ones."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import (
    broadcast_shapes,
    element_of,
    is_bool,
    normalized,
    rank_of,
    shape_of,
)


@lowers("_unsafe_index.Tensor")
def index(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """index.Tensor."""
    return b("index.Tensor", op.arg("self"), op.arg("indices"))


@lowers("_index_put_impl", "_unsafe_index_put")
def index_put(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """index_put."""
    names = ("self", "indices", "values", "accumulate")
    return b("index_put", *(op.arg(name) for name in names))


@lowers("take_along_dim")
def take_along_dim(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """gather after broadcasting the other dimensions."""
    x, indices, dim = op.arg("self"), op.arg("indices"), op.arg("dim")
    if dim is None:
        return b("gather", b.view(x, [_count(x)]), 0, b.view(indices, [_count(indices)]))
    dim = normalized(dim, rank_of(x))
    own, asked = shape_of(x), shape_of(indices)
    common = broadcast_shapes(
        [*own[:dim], 1, *own[dim + 1 :]], [*asked[:dim], 1, *asked[dim + 1 :]]
    )
    x = b.expand(x, [*common[:dim], own[dim], *common[dim + 1 :]])
    return b("gather", x, dim, b.expand(indices, [*common[:dim], asked[dim], *common[dim + 1 :]]))


def _count(x: SSAValue) -> int:
    result = 1
    for extent in shape_of(x):
        result *= extent
    return result


@lowers("take")
def take(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """index_select of the flattened tensor."""
    x, positions = op.arg("self"), op.arg("index")
    return b("index.Tensor", b.view(x, [_count(x)]), [positions])


def _line(b: CoreBuilder, x: SSAValue) -> SSAValue:
    """A 0-d tensor as one of one element; torch's dimension 0 of it is that."""
    return x if rank_of(x) else b.view(x, [1])


@lowers("index_add", "index_copy")
def index_add(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """index_put along one dimension, which is moved to the front; accumulating for index_add."""
    x, source = op.arg("self"), op.arg("source")
    shape = shape_of(x)
    if not shape:
        x, source = b.view(x, [1]), b.view(source, [1])
    dim = normalized(op.arg("dim"), rank_of(x))
    adding = op.overload_name.startswith("index_add")
    if adding and op.arg("alpha") != 1:
        source = b("mul.Scalar", source, op.arg("alpha"))
    order = [dim, *(d for d in range(rank_of(x)) if d != dim)]
    back = [order.index(d) for d in range(rank_of(x))]
    index = b.view(op.arg("index"), [_count(op.arg("index"))])
    source = source if rank_of(source) == rank_of(x) else b.view(source, [1] * rank_of(x))
    result = b("index_put", b.permute(x, order), [index], b.permute(source, order), adding)
    return b.view(b.permute(result, back), shape)


@lowers("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """where any index equals the position along `dim`."""
    x = op.arg("self")
    if not rank_of(x):
        return _filled(op, b, b.view(x, [1]))
    return _filled(op, b, x)


def _filled(op: SchemaOp, b: CoreBuilder, x: SSAValue) -> SSAValue:
    positions, value = op.arg("index"), op.arg("value")
    shape, dim = shape_of(x), normalized(op.arg("dim"), rank_of(x))
    line = b("arange.start_step", 0, shape[dim], 1, dtype=i64)
    positions = b.view(positions, [_count(positions)])
    positions = b("remainder.Scalar", positions, shape[dim])
    hit = b("any.dim", b("eq.Tensor", b("unsqueeze", line, 1), positions), 1)
    hit = b.view(hit, [shape[dim], *[1] * (len(shape) - dim - 1)])
    if not isinstance(value, SSAValue):
        value = b.full([], value, element_of(x))
    return b.view(b("where.self", hit, b.cast(value, element_of(x)), x), shape_of(op.results[0]))


@lowers("diag")
def diag(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The diagonal of a matrix, or the matrix of a diagonal."""
    x, offset = op.arg("self"), op.arg("diagonal")
    if rank_of(x) == 2:
        return b("diagonal", x, offset)
    return _embed_diagonal(b, x, offset)


@lowers("diag_embed")
def diag_embed(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The last dimension on a diagonal, at dim1 and dim2."""
    result = _embed_diagonal(b, op.arg("self"), op.arg("offset"))
    rank = rank_of(result)
    first, second = normalized(op.arg("dim1"), rank), normalized(op.arg("dim2"), rank)
    rest = iter(range(rank - 2))
    place = {first: rank - 2, second: rank - 1}
    return b.permute(result, [place[d] if d in place else next(rest) for d in range(rank)])


def _embed_diagonal(b: CoreBuilder, x: SSAValue, offset: int) -> SSAValue:
    size = shape_of(x)[-1] + abs(offset)
    x = b("constant_pad_nd", x, [max(offset, 0), max(-offset, 0)], 0)
    row = b.view(b("arange.start_step", 0, size, 1, dtype=i64), [size, 1])
    column = b("arange.start_step", 0, size, 1, dtype=i64)
    inside = b("eq.Scalar", b("sub.Tensor", column, row), offset)
    element = element_of(x)
    zero = b.full([], False if is_bool(element) else 0, element)
    return b("where.self", inside, b("unsqueeze", x, -2), zero)


@lowers("unfold", "unfold_copy")
def unfold(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Windows along one dimension, as a new last one."""
    x, dim = _line(b, op.arg("self")), op.arg("dimension")
    size, step = op.arg("size"), op.arg("step")
    dim = normalized(dim, rank_of(x))
    count = shape_of(op.results[0])[dim]
    pieces = [
        b("slice.Tensor", x, dim, start, start + step * (count - 1) + 1, step)
        for start in range(size)
    ]
    if not pieces:
        return b.full(shape_of(op.results[0]), 0, element_of(x))
    windows = b("cat", [b("unsqueeze", piece, rank_of(x)) for piece in pieces], rank_of(x))
    return b.view(windows, shape_of(op.results[0]))
