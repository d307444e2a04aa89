"""Products of matrices: padding of rows and columns may stay, what is summed over becomes zero."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.grouping import move_together
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned, common_sizes
from lamina.lowering.bound_dynamic_shapes.standing_apart import in_groups
from lamina.lowering.bound_dynamic_shapes.table import bounds, takes_groups
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Grouped
from lamina.lowering.tensor_types import shape_of


def _contracted(
    one: Bounded, other: Bounded, place: int, b: BoundBuilder
) -> tuple[SSAValue, SSAValue]:
    """Both operands with equal extents and zeros along the last dimension and `place`."""
    last = one.rank - 1
    if one.sizes[last] is None and other.sizes[place] is None:
        return one.value, other.value
    left, right = b.size(one, last), b.size(other, place)
    b.require_equal(left, right, "the sizes to sum over differ")
    extent = min(one.shape[last], other.shape[place])
    return (
        b.resized(_zero_behind(one, last, other, b), last, extent),
        b.resized(_zero_behind(other, place, one, b), place, extent),
    )


def _zero_behind(tensor: Bounded, dim: int, by: Bounded, b: BoundBuilder) -> SSAValue:
    """An operand of a product with zeros in the padding of a dimension.

    One that seems to be the other operand turned gets them before: they are one tensor then, which
    is made once.
    """
    op = tensor.value.owner
    if not isinstance(op, SchemaOp) or op.name != "aten.permute.default":
        return b.filled(tensor, 0, [dim])
    order: list[int] = op.arg("dims")
    sizes = tuple(tensor.sizes[order.index(source)] for source in range(tensor.rank))
    source = Bounded(op.operands[0], sizes)
    if (source.shape, source.dynamic_dims) != (by.shape, by.dynamic_dims):
        return b.filled(tensor, 0, [dim])
    return b("permute.default", b.filled(source, 0, [order[dim]]), order)


@takes_groups
@bounds("mm", "matmul", "bmm", "mv", "dot", "inner", "vdot", "__matmul__")
def matmul(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Products of vectors, matrices and batches of them."""
    for grouped in (_grouped_rows, _grouped_batches, _grouped_sides, _grouped_terms):
        if (made := grouped(op.operands[0], op.operands[1], b)) is not None:
            return made
    move_together(op, b)
    one, other = b.tensor(op.operands[0]), b.tensor(op.operands[1])
    if op.overload_name in ("inner.default", "vdot.default") and (one.rank, other.rank) != (1, 1):
        raise b.refuse("takes vectors here", "aten.matmul.default")
    return product(one, other, b)


def _grouped_rows(one: SSAValue, other: SSAValue, b: BoundBuilder) -> Grouped | None:
    """Rows in groups by a matrix; None for other operands."""
    given = b.state.grouped.get(one)
    if given is None or other in b.state.grouped or given.groups[-1] != 1:
        return None
    matrix = b.tensor(other)
    if matrix.rank != 2:
        return None
    return Grouped(_rows_by_matrix(given.tensor, matrix, b), given.groups)


def _grouped_batches(one: SSAValue, other: SSAValue, b: BoundBuilder) -> Grouped | None:
    """Matrices whose batches are joined alike, as attention of several heads has them; None for
    others."""
    left, right = b.state.grouped.get(one), b.state.grouped.get(other)
    if left is None or right is None or left.groups[:-2] != right.groups[:-2]:
        return None
    count = sum(left.groups[:-2])
    if {*left.groups[-2:], *right.groups[-2:]} != {1} or not count:
        return None
    batches = [(t.shape[:count], t.sizes[:count]) for t in (left.tensor, right.tensor)]
    if batches[0] != batches[1]:
        return None
    return Grouped(product(left.tensor, right.tensor, b), left.groups)


def _grouped_sides(one: SSAValue, other: SSAValue, b: BoundBuilder) -> Grouped | None:
    """Matrices, or batches of them, whose rows or columns are in groups; None for others."""
    left, right = b.grouped(one), b.grouped(other)
    batches = left.groups[:-2]
    if len(left.groups) < 2 or len(left.groups) != len(right.groups):
        return None
    if {*left.groups, *right.groups} == {1}:
        return None
    if left.groups[-1] != 1 or right.groups[-2] != 1 or batches != right.groups[:-2]:
        return None
    x, y, front = left.tensor, right.tensor, sum(batches)
    if (x.shape[:front], x.sizes[:front]) != (y.shape[:front], y.sizes[:front]):
        return None
    columns = y.shape[front + 1 :]
    wide = [*y.shape[: front + 1], prod(columns)]
    sizes = y.sizes if len(columns) == 1 else (*y.sizes[: front + 1], None)
    matrix = Bounded(b.reshape(y.value, wide), sizes)
    if prod(x.shape[:front]) == 1 and x.sizes[:front] == (None,) * front:
        rows = Bounded(b.reshape(x.value, x.shape[front:]), x.sizes[front:])
        plain = Bounded(b.reshape(matrix.value, wide[front:]), matrix.sizes[front:])
        value = _rows_by_matrix(rows, plain, b).value
    else:
        between = [1] * (left.groups[-2] - 1)
        shape = [*wide[:front], *between, *wide[front:]]
        spread = (*matrix.sizes[:front], *([None] * len(between)), *matrix.sizes[front:])
        value = product(x, Bounded(b.reshape(matrix.value, shape), spread), b).value
    made = b.reshape(value, [*x.shape[:-1], *columns])
    groups = (*left.groups[:-1], right.groups[-1])
    return Grouped(Bounded(made, (*x.sizes[:-1], *y.sizes[front + 1 :])), groups)


def _grouped_terms(one: SSAValue, other: SSAValue, b: BoundBuilder) -> Bounded | Grouped | None:
    """Matrices, or batches of them, that sum over a group: a product for each position of its
    outer dimensions, of which those that count are added up. None for others, and for a single
    product over two dimensions: there its rows are moved together, which are few, since there
    may be many positions of few terms."""
    left, right = b.grouped(one), b.grouped(other)
    batches, terms = left.groups[:-2], left.groups[-1:]
    if len(left.groups) < 2 or left.groups[-2] != 1 or terms[0] < (2 if batches else 3):
        return None
    if right.groups != (*batches, *terms, 1):
        return None
    x, y, front = left.tensor, right.tensor, sum(batches)
    own, its = [*range(front), *range(front + 1, x.rank)], list(range(x.rank - 1))
    if [(x.shape[d], x.sizes[d]) for d in own] != [(y.shape[d], y.sizes[d]) for d in its]:
        return None
    order = [*own[:-1], front, own[-1]]
    turned = b("permute.default", x.value, order)
    made = product(Bounded(turned, tuple(x.sizes[d] for d in order)), y, b)
    outer = list(range(front, made.rank - 2))
    total = b("sum.dim_IntList", b.filled(made, 0, outer), outer)
    sizes = (*made.sizes[:front], *made.sizes[-2:])
    return in_groups(Bounded(total, sizes), (*batches, 1, 1))


def _rows_by_matrix(tensor: Bounded, matrix: Bounded, b: BoundBuilder) -> Bounded:
    """The last dimension of a tensor of any rank multiplied by a matrix."""
    left, right = _contracted(tensor, matrix, 0, b)
    rows = Bounded(left, tensor.sizes)
    if tensor.sizes[-1] is not None and len(tensor.dynamic_dims) > 2:
        # Dimensions of rows stay apart, as batches do, so that rows are masked where they are read.
        right = b.reshape(right, [*([1] * (tensor.rank - 2)), *shape_of(right)])
    made = _rows_apart(rows, lambda value: b("matmul.default", value, right), b)
    return Bounded(made, (*tensor.sizes[:-1], matrix.sizes[1]))


def product(one: Bounded, other: Bounded, b: BoundBuilder) -> Bounded:
    """`one @ other`."""
    left, right = _contracted(one, other, max(other.rank - 2, 0), b)
    one, other = Bounded(left, one.sizes), Bounded(right, other.sizes)
    if min(one.rank, other.rank) > 2 and other.sizes[-1] is not None:
        # Panels of it are packed whole, so that all of what makes it would be asked for.
        other = Bounded(b.filled(other, 0, [other.rank - 1]), other.sizes)
    batches: tuple[Count, ...] = ()
    if max(one.rank, other.rank) > 2 and min(one.rank, other.rank) > 1:
        one, other, batches = _with_batches(one, other, b)
    elif max(one.rank, other.rank) > 2:
        batches = (one if one.rank > 2 else other).sizes[:-2]
    rows = one.sizes[-2:-1]
    columns = other.sizes[-1:] if other.rank > 1 else ()
    return Bounded(b("matmul.default", one.value, other.value), (*batches, *rows, *columns))


def _with_batches(
    one: Bounded, other: Bounded, b: BoundBuilder
) -> tuple[Bounded, Bounded, tuple[Count, ...]]:
    """Operands whose batch dimensions broadcast, and the sizes of these."""
    if one.is_static and other.is_static:
        return one, other, (None,) * (max(one.rank, other.rank) - 2)
    rank = max(one.rank, other.rank)
    wide = [_as_rank(t, rank, b) for t in (one, other)]
    # Only batches are compared: matrices stand as ones.
    flat = [Bounded(t.value, (*t.sizes[:-2], None, None)) for t in wide]
    for dim in range(rank - 2):
        flat = _aligned_batches(flat, dim, b)
    sizes = common_sizes([Bounded(t.value, t.sizes[:-2]) for t in flat])
    left = Bounded(flat[0].value, (*flat[0].sizes[:-2], *one.sizes[-2:]))
    right = Bounded(flat[1].value, (*flat[1].sizes[:-2], *other.sizes[-2:]))
    return left, right, sizes


def _as_rank(tensor: Bounded, rank: int, b: BoundBuilder) -> Bounded:
    missing = rank - tensor.rank
    if not missing:
        return tensor
    value = b.reshape(tensor.value, [*([1] * missing), *tensor.shape])
    return Bounded(value, (*([None] * missing), *tensor.sizes))


def _aligned_batches(pair: list[Bounded], dim: int, b: BoundBuilder) -> list[Bounded]:
    from lamina.lowering.bound_dynamic_shapes.pointwise import aligned_at

    return aligned_at(dim, pair, b)


@bounds("outer", "ger")
def outer(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Each element of one vector by each of another."""
    one, other = b.tensor(op.operands[0]), b.tensor(op.operands[1])
    column = b.reshape(one.value, [*one.shape, 1])
    return Bounded(b("mul.Tensor", column, other.value), (*one.sizes, *other.sizes))


@takes_groups
@bounds("addmm", "addmv", "addbmm", "baddbmm")
def addmm(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """beta * self + alpha * product."""
    if op.overload_name.startswith("addbmm"):
        raise b.refuse("sums over batches", "aten.baddbmm.default")
    values = op.args()
    added, one, other = op.operands
    is_row = added not in b.state.grouped and b.tensor(added).rank == 1
    if values["alpha"] == values["beta"] == 1 and is_row:
        rows = _grouped_rows(one, other, b)
        if rows is not None:
            return Grouped(_sum(rows.tensor, b.tensor(added), b), rows.groups)
    move_together(op, b)
    _, one, other = (b.tensor(operand) for operand in op.operands)
    made = product(one, other, b)
    value, added = made.value, b.tensor(op.arg("self"))
    if values["alpha"] != 1:
        value = b("mul.Scalar", value, values["alpha"])
    if values["beta"] == 0:
        return Bounded(value, made.sizes)
    if values["beta"] != 1:
        added = Bounded(b("mul.Scalar", added.value, values["beta"]), added.sizes)
    return _sum(Bounded(value, made.sizes), added, b)


def _sum(one: Bounded, other: Bounded, b: BoundBuilder) -> Bounded:
    pair = aligned([one, other], b)
    return Bounded(b("add.Tensor", pair[0].value, pair[1].value), common_sizes(pair))


def _rows_apart(
    tensor: Bounded, multiply: Callable[[SSAValue], SSAValue], b: BoundBuilder
) -> SSAValue:
    """A product of rows in two padded dimensions, the longer of which is walked as the inner one.

    Blocks of rows lie along the inner one: rows of few samples behind each position would lie
    between padding. How many samples there is room for tells nothing of those that calls bring:
    positions that ops mask are the longer ones. Of two alike, the bounds tell.
    """
    if tensor.dynamic_dims[:2] != [0, 1] or tensor.rank != 3:
        return multiply(tensor.value)
    outer, inner = (size in b.state.rows for size in tensor.sizes[:2])
    shorter_inner = tensor.shape[0] > tensor.shape[1] if outer == inner else inner
    if not shorter_inner:
        return multiply(tensor.value)
    turned = multiply(b("permute.default", tensor.value, [1, 0, 2]))
    return b("permute.default", turned, [1, 0, 2])


@takes_groups
@bounds("linear")
def linear(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Rows by the transpose of a matrix."""
    given = b.grouped(op.arg("input"))
    tensor, matrix, added = given.tensor, b.tensor(op.arg("weight")), op.arg("bias")
    bias = None if added is None else b.tensor(added)
    if matrix.is_static and (bias is None or bias.is_static):
        made = _linear(tensor, matrix, bias, b)
    else:
        turned = list(range(matrix.rank))[::-1]
        weight = Bounded(b("permute.default", matrix.value, turned), matrix.sizes[::-1])
        made = _rows_by_matrix(tensor, weight, b)
        if bias is not None:
            made = _sum(made, bias, b)
    return made if len(given.groups) == tensor.rank else Grouped(made, given.groups)


def _linear(tensor: Bounded, matrix: Bounded, bias: Bounded | None, b: BoundBuilder) -> Bounded:
    if tensor.sizes[-1] is not None:
        tensor = b.static_size(tensor, tensor.rank - 1, matrix.shape[1])
    weight, added = matrix.value, None if bias is None else bias.value
    value = _rows_apart(tensor, lambda rows: b("linear.default", rows, weight, added), b)
    return Bounded(value, tensor.sizes if len(Bounded(value, ()).shape) == tensor.rank else ())
