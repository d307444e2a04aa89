"""Gathers, scatters and diagonals under other names than the core ones."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import IntegerType, i64
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


@lowers("_unsafe_masked_index")
def masked_index(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """index where the mask holds, `fill` elsewhere; other indices may be anything."""
    x = op.arg("self")
    fill = b.full([], op.arg("fill"), element_of(x))
    if not _count(x):
        return b.expand(fill, shape_of(op.results[0]))
    found = b("index.Tensor", x, _clamped(b, x, op.arg("indices")))
    return b("where.self", op.arg("mask"), found, fill)


@lowers("_unsafe_masked_index_put_accumulate")
def masked_index_put(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """index_put of what the mask admits, added to what is there."""
    x, values = op.arg("self"), op.arg("values")
    if not _count(x):
        return x
    added = b("where.self", op.arg("mask"), values, b.full([], 0, element_of(values)))
    return b("index_put", x, _clamped(b, x, op.arg("indices")), added, True)


def _clamped(b: CoreBuilder, x: SSAValue, indices: list[SSAValue | None]) -> list[SSAValue | None]:
    """Indices inside the tensor, whatever they were."""
    return [
        None if index is None else b("clamp", index, -extent, extent - 1)
        for index, extent in zip(indices, shape_of(x), strict=False)
    ]


@lowers("nonzero_numpy")
def nonzero_numpy(op: SchemaOp, b: CoreBuilder) -> list[SSAValue]:
    """Of a tensor without elements, as which torch knows that there are no places."""
    if any(list(shape_of(result)) != [0] for result in op.results):
        raise b.refuse("a number of places that depends on data has to be bounded before")
    return [b.full([0], 0, i64) for _ in op.results]


@lowers("nonzero_static")
def nonzero_static(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The first `size` places that are not 0, in row-major order, then rows of fill_value."""
    x, size, fill = op.arg("self"), op.arg("size"), op.arg("fill_value")
    shape, count = shape_of(x), _count(x)
    if not shape or not size or not count:
        return b.full(shape_of(op.results[0]), fill, i64)
    there = b("ne.Scalar", b.view(x, [count]), 0)
    before = b("add.Scalar", b("cumsum", there, 0, dtype=i64), -1)
    row = b("where.self", there, before, b.full([], size, i64))
    row = b("clamp", row, 0, size)
    line = b("arange.start_step", 0, count, 1, dtype=i64)
    found = b("index_put", b.full([size + 1], -1, i64), [row], line, False)
    found = b("slice.Tensor", found, 0, 0, size)
    columns: list[SSAValue] = []
    rest = count
    for extent in shape:
        rest //= extent
        whole = b("div.Scalar_mode", found, rest, rounding_mode="floor")
        columns.append(b("unsqueeze", b("remainder.Scalar", whole, extent), 1))
    missing = b("unsqueeze", b("lt.Scalar", found, 0), 1)
    return b("where.self", missing, b.full([], fill, i64), b("cat", columns, 1))


@lowers("take_along_dim")
def take_along_dim(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """gather after broadcasting the other dimensions.

    Along a dimension negative places count from the end; of the whole tensor they do not.
    """
    x, indices, dim = op.arg("self"), op.arg("indices"), op.arg("dim")
    if dim is None:
        return b("gather", b.view(x, [_count(x)]), 0, b.view(indices, [_count(indices)]))
    dim = normalized(dim, rank_of(x))
    indices = _from_the_end(b, indices, shape_of(x)[dim])
    own, asked = shape_of(x), shape_of(indices)
    common = broadcast_shapes(
        [*own[:dim], 1, *own[dim + 1 :]], [*asked[:dim], 1, *asked[dim + 1 :]]
    )
    x = b.expand(x, [*common[:dim], own[dim], *common[dim + 1 :]])
    return b("gather", x, dim, b.expand(indices, [*common[:dim], asked[dim], *common[dim + 1 :]]))


def _from_the_end(b: CoreBuilder, indices: SSAValue, extent: int) -> SSAValue:
    wrapped = b("add.Scalar", indices, extent)
    return b("where.self", b("lt.Scalar", indices, 0), wrapped, indices)


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
    """index_put along one dimension, all of the others; accumulating for index_add."""
    x, source = op.arg("self"), op.arg("source")
    shape = shape_of(x)
    if not shape:
        x, source = b.view(x, [1]), b.view(source, [1])
    dim = normalized(op.arg("dim"), rank_of(x))
    adding = op.overload_name.startswith("index_add")
    if adding and op.arg("alpha") != 1:
        source = b.cast(b("mul.Scalar", source, op.arg("alpha")), element_of(x))
    index = _not_from_the_end(b, b.view(op.arg("index"), [_count(op.arg("index"))]))
    source = source if rank_of(source) == rank_of(x) else b.view(source, [1] * rank_of(x))
    result = b("index_put", x, [*[None] * dim, index], source, adding)
    return b.view(result, shape)


def _not_from_the_end(b: CoreBuilder, indices: SSAValue) -> SSAValue:
    """index_put counts negative places from the end; here they are behind all places."""
    element = element_of(indices)
    assert isinstance(element, IntegerType)
    behind = b.full([], (1 << element.width.data - 1) - 1, element)
    return b("where.self", b("lt.Scalar", indices, 0), behind, indices)


@lowers("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """index_put of one value, which counts negative places from the end, too."""
    x, value = _line(b, op.arg("self")), op.arg("value")
    dim = normalized(op.arg("dim"), rank_of(x))
    index = b.view(op.arg("index"), [_count(op.arg("index"))])
    if not isinstance(value, SSAValue):
        value = b.full([], value, element_of(x))
    value = b.view(b.cast(value, element_of(x)), [])
    result = b("index_put", x, [*[None] * dim, index], value, False)
    return b.view(result, shape_of(op.results[0]))


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
    x, size, step = _line(b, op.arg("self")), op.arg("size"), op.arg("step")
    shape = shape_of(x)
    dim = normalized(op.arg("dimension"), len(shape))
    strides = [prod(shape[d + 1 :]) for d in range(len(shape))]
    windows = [*shape[:dim], (shape[dim] - size) // step + 1, *shape[dim + 1 :], size]
    moved = [*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim]]
    return b.view(b("as_strided", x, windows, moved), shape_of(op.results[0]))


@lowers("unfold_backward")
def unfold_backward(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Windows put back where they were taken, and added."""
    grad, shape = op.arg("grad_in"), op.arg("input_sizes")
    if not shape:
        return b.view(grad, [])  # of a number, the only window has only that
    dim = normalized(op.arg("dim"), len(shape))
    starts = b("arange.start_step", 0, shape_of(grad)[dim], 1, dtype=i64)
    starts = b("unsqueeze", b("mul.Scalar", starts, op.arg("step")), 1)
    places = b("add.Tensor", starts, b("arange.start_step", 0, op.arg("size"), 1, dtype=i64))
    rank = rank_of(grad)
    order = [dim, rank - 1, *(d for d in range(rank - 1) if d != dim)]
    rest = [d for d in range(len(shape)) if d != dim]
    empty = b.full([shape[dim], *(shape[d] for d in rest)], 0, element_of(grad))
    made = b("index_put", empty, [places], b.permute(grad, order), True)
    return b.permute(made, [[dim, *rest].index(d) for d in range(len(shape))])
