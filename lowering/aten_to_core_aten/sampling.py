"""Lookups and samplers by the core ops that they are made of."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, composed, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, normalized, rank_of, shape_of


@lowers("grid_sampler")
def grid_sampler(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The overload of the grid's rank."""
    dims = rank_of(op.arg("input")) - 2
    return b(f"grid_sampler_{dims}d", *(op.arg(a.name) for a in op.schema.args))


@lowers("pdist")
def pdist(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """_pdist_forward."""
    return b("_pdist_forward", op.arg("self"), op.arg("p"))


@lowers("embedding_bag", "embedding_bag.padding_idx")
def embedding_bag(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """_embedding_bag."""
    names = [argument.name for argument in op.schema.args if argument.name != "padding_idx"]
    padding = op.arg("padding_idx") if op.schema.arg("padding_idx") is not None else None
    if padding is None:
        padding = -1
    elif padding < 0:
        padding += shape_of(op.arg("weight"))[0]
    given = [op.arg(name) for name in names]
    types = [result.type for result in op.results]
    made = b.op("_embedding_bag", *given, padding, result_types=types)
    return [r if own.uses else None for r, own in zip(made.results, op.results, strict=True)]


@lowers("embedding_renorm")
def embedding_renorm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Rows that are looked up and longer than max_norm are shortened."""
    x, indices = op.arg("self"), op.arg("indices")
    order, most = op.arg("norm_type"), op.arg("max_norm")
    rows = shape_of(x)[0]
    count = 1
    for extent in shape_of(indices):
        count *= extent
    used = b.full([rows], False, i1)
    used = b("index_put", used, [b.view(indices, [count])], b.full([count], True, i1))
    size = b("abs", x)
    if order == float("inf"):
        length = b("amax", size, [1])
    else:
        total = b("sum.dim_IntList", b("pow.Tensor_Scalar", size, order), [1])
        length = b("pow.Tensor_Scalar", total, 1 / order)
    longer = b("logical_and", used, b("gt.Scalar", length, most))
    scale = b("mul.Scalar", b("reciprocal", b("add.Scalar", length, 1e-7)), most)
    shorter = b("mul.Tensor", x, b("unsqueeze", scale, 1))
    return b("where.self", b("unsqueeze", longer, 1), shorter, x)


@lowers("repeat_interleave.self_Tensor")
def repeat_interleave(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """index_select of each position as often as asked for; the size must be known."""
    x, repeats, dim = op.arg("self"), op.arg("repeats"), op.arg("dim")
    if dim is None:
        count = 1
        for extent in shape_of(x):
            count *= extent
        x, dim = b.view(x, [count]), 0
    dim = normalized(dim, rank_of(x))
    size = shape_of(op.results[0])[dim]
    if shape_of(repeats) in ([], [1]) and shape_of(x)[dim] != 1:
        repeats = b.expand(repeats, [shape_of(x)[dim]])
    index = b("repeat_interleave.Tensor", repeats, output_size=size)
    return b("index_select", x, dim, index)


@lowers("affine_grid_generator")
def affine_grid(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """theta applied to places in [-1, 1], the last dimension first."""
    theta, (batch, _, *extents) = op.arg("theta"), op.arg("size")
    return b.view(_base_grid_product(op, b, theta, extents), [batch, *extents, len(extents)])


@lowers("affine_grid_generator_backward")
def affine_grid_backward(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The gradient of theta: places times gradients."""
    grad, (batch, _, *extents) = op.arg("grad"), op.arg("size")
    grid = _base_grid(op, b, extents, element_of(grad))
    count, width = shape_of(grid)
    grid = b.expand(grid, [batch, count, width])
    turned = b.permute(b.view(grad, [batch, count, width - 1]), [0, 2, 1])
    return b("bmm", turned, grid)


def _base_grid_product(
    op: SchemaOp, b: CoreBuilder, theta: SSAValue, extents: list[int]
) -> SSAValue:
    grid = _base_grid(op, b, extents, element_of(theta))
    grid = b.expand(grid, [shape_of(theta)[0], *shape_of(grid)])
    return b("bmm", grid, b.permute(theta, [0, 2, 1]))


def _base_grid(op: SchemaOp, b: CoreBuilder, extents: list[int], element: Attribute) -> SSAValue:
    """One row for each place: its coordinates and 1."""
    columns: list[SSAValue] = []
    for dim, extent in reversed(list(enumerate(extents))):
        line = composed(b, "linspace.default", -1.0, 1.0, extent, dtype=element)[0]
        if extent == 1:
            line = b.full([1], 0.0, element)
        elif not op.arg("align_corners"):
            line = b("mul.Scalar", line, (extent - 1) / extent)
        shape = [extent if d == dim else 1 for d in range(len(extents))]
        columns.append(b("unsqueeze", b.expand(b.view(line, shape), extents), len(extents)))
    columns.append(b.full([*extents, 1], 1.0, element))
    joined = b("cat", columns, len(extents))
    return b.view(joined, [prod(extents), len(extents) + 1])


@lowers("_pdist_backward")
def pdist_backward(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """_cdist_backward of the rows with themselves, each pair standing at both its places."""
    x, (rows, _) = op.arg("self"), shape_of(op.arg("self"))
    if rows < 2:
        return b.full(shape_of(x), 0, element_of(x))
    line = b("arange.start_step", 0, rows, 1, dtype=i64)
    row, column = b("unsqueeze", line, 1), b("unsqueeze", line, 0)
    low, high = b("minimum", row, column), b("maximum", row, column)
    # Pairs (low, high) in rows of rows - 1, rows - 2, ... of them.
    before = b("mul.Tensor", low, b("add.Scalar", b("neg", low), 2 * rows - 1))
    before = b("div.Tensor_mode", before, b.full([], 2, i64), rounding_mode="floor")
    pair = b("add.Tensor", before, b("sub.Scalar", b("sub.Tensor", high, low), 1))
    same = b("eq.Tensor", row, column)
    pair = b("where.self", same, b.full([], 0, i64), pair)
    zero = b.full([], 0, element_of(x))
    grad, distance = (
        b("where.self", same, zero, b("index.Tensor", op.arg(name), [pair]))
        for name in ("grad", "pdist")
    )
    kind = [op.results[0].type]
    return b("_cdist_backward", grad, x, x, op.arg("p"), distance, result_types=kind)
