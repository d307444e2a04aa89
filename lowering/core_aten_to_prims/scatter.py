"""Writes at indices: prims.put along a dimension, prims.scatter element by element."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.indexing import located, wrapped
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.repeated_dims import equal_behind, ones_behind, unrepeated
from lamina.lowering.tensor_types import (
    element_of,
    is_bool,
    is_float,
    normalized,
    rank_of,
    shape_of,
)

REDUCE = {
    "sum": "add",
    "add": "add",
    "prod": "mul",
    "multiply": "mul",
    "amax": "max",
    "amin": "min",
    "mean": "add",
}
"""Combiners of torch's reduce modes."""

Joined = Callable[[SSAValue, SSAValue, str], SSAValue]
"""How values join a tensor: tensor, values, combiner."""


@lowers("index_put")
def index_put(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """One put, or a choice by a mask."""
    x, indices = op.arg("self"), op.arg("indices")
    values = b.convert(op.arg("values"), element_of(x))
    combiner = "add" if op.arg("accumulate") else "store"
    given = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    if len(given) == 1 and is_bool(element_of(given[0][1])):
        return _masked(b, x, given[0][0], given[0][1], values, combiner)
    at = located(b, x, indices)
    shape = shape_of(at.flat)
    wanted = [*shape[: at.dim], *shape_of(at.place), *shape[at.dim + 1 :]]
    values = b.broadcast(values, wanted)
    return at.restored(b, b("put", at.flat, at.place, values, at.dim, combiner))


def _masked(
    b: PrimsBuilder, x: SSAValue, dim: int, mask: SSAValue, values: SSAValue, combiner: str
) -> SSAValue:
    """The mask's dimensions as one; the n-th true place gets the n-th of several values."""
    shape, covered = shape_of(x), shape_of(mask)
    before, behind, count = shape[:dim], shape[dim + len(covered) :], prod(covered)
    flat, on = b.reshape(x, [*before, count, *behind]), b.reshape(mask, [count])
    extents = shape_of(values)
    places = len(behind) + 1
    several = len(extents) >= places and extents[-places] != 1
    if several:
        number = extents[-places]
        if not number:
            return x
        values = b.broadcast(values, [*before, number, *behind])
        place = b.with_number("sub", b("scan", b.convert(on, i64), "add", 0), 1)
        values = b("take", values, b.where(on, place, b.full([count], 0, i64)), dim)
    values = b.broadcast(values, shape_of(flat))
    if combiner == "add":
        values = b("bitwise_or" if is_bool(element_of(x)) else "add", flat, values)
    return b.reshape(b.where(b.along(on, shape_of(flat), dim), values, flat), shape)


@lowers("put")
def put(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Into the flattened tensor."""
    x = op.arg("self")
    count = prod(shape_of(x))
    index = wrapped(b, op.arg("index"), count)
    source = b.reshape(b.convert(op.arg("source"), element_of(x)), shape_of(index))
    combiner = "add" if op.arg("accumulate") else "store"
    return b.reshape(b("put", b.reshape(x, [count]), index, source, 0, combiner), shape_of(x))


def _placed(
    b: PrimsBuilder, x: SSAValue, index: SSAValue, values: SSAValue, dim: int, combiner: str
) -> SSAValue:
    """prims.scatter, the values cut to the index; scalars as vectors of one."""
    if not rank_of(x):
        one = [b.reshape(v, [1]) for v in (x, index, values)]
        return b.reshape(b("scatter", *one, 0, combiner), [])
    if not rank_of(index):
        index = b.reshape(index, [1])
    if not rank_of(values):
        values = b.reshape(values, [1])
    for other, extent in enumerate(shape_of(index)):
        values = b.slice(values, other, 0, extent)
    return b("scatter", x, index, values, normalized(dim, rank_of(x)), combiner)


@lowers("scatter.src", "scatter_add", "scatter.reduce")
def scatter(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.scatter."""
    x, source = op.arg("self"), op.arg("src")
    combiner = "add" if op.overload_name.startswith("scatter_add") else "store"
    if op.schema.arg("reduce") is not None:
        combiner = REDUCE[op.arg("reduce")]
    return _placed(b, x, op.arg("index"), source, op.arg("dim"), combiner)


@lowers("scatter.value", "scatter.value_reduce")
def scatter_value(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.scatter of one number."""
    x, index = op.arg("self"), op.arg("index")
    combiner = "store" if op.schema.arg("reduce") is None else REDUCE[op.arg("reduce")]
    source = b.value(op.arg("value"), shape_of(index), element_of(x))
    return _placed(b, x, index, source, op.arg("dim"), combiner)


@lowers("scatter_reduce.two")
def scatter_reduce(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.scatter; without the tensor's own elements, these start as the combiner's identity."""
    x, index, source = op.arg("self"), op.arg("index"), op.arg("src")
    dim = op.arg("dim")

    def joined(into: SSAValue, values: SSAValue, combiner: str) -> SSAValue:
        return _placed(b, into, index, values, dim, combiner)

    return _reduced(op, b, x, source, joined, shape_of(index))


@lowers("index_reduce")
def index_reduce(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.put with a reduce mode; scalars as vectors of one."""
    x, source = op.arg("self"), op.arg("source")
    shape = shape_of(x)
    if not shape:
        x, source = b.reshape(x, [1]), b.reshape(source, [1])
    dim = normalized(op.arg("dim"), rank_of(x))
    index = b.reshape(op.arg("index"), [prod(shape_of(op.arg("index")))])

    def joined(into: SSAValue, values: SSAValue, combiner: str) -> SSAValue:
        return b("put", into, index, values, dim, combiner)

    return b.reshape(_reduced(op, b, x, source, joined, shape_of(source)), shape)


def _reduced(
    op: SchemaOp,
    b: PrimsBuilder,
    x: SSAValue,
    source: SSAValue,
    joined: Joined,
    shape: list[int],
) -> SSAValue:
    mode, element = op.arg("reduce"), element_of(x)
    combiner, include = REDUCE[mode], op.arg("include_self")
    start = x
    if not include:
        fresh = b.full(shape, _identity(combiner, x), element)
        start = joined(x, fresh, "store")
    made = joined(start, b.convert(source, element), combiner)
    if mode != "mean":
        return made
    ones = b.full(shape, 1, element)
    counts = joined(b.full(shape_of(x), 1 if include else 0, element), ones, "add")
    counts = b("maximum", counts, b.full(shape_of(x), 1, element))
    divided = b("div", made, counts)
    if is_float(element):
        return divided
    # Integers divide toward minus infinity.
    rest = b("sub", made, b("mul", divided, counts))
    below = b.convert(b.with_number("lt", rest, 0), element)
    return b("sub", divided, below)


def _identity(combiner: str, x: SSAValue) -> bool | int | float:
    kind = element_of(x)
    if combiner in ("add", "mul"):
        return 0 if combiner == "add" else 1
    if is_float(kind):
        return float("-inf") if combiner == "max" else float("inf")
    if kind == i1:
        return combiner == "min"
    bits = kind.width.data  # pyright: ignore[reportAttributeAccessIssue]
    if str(kind).startswith("ui"):
        return 0 if combiner == "max" else (1 << bits) - 1
    return -(1 << bits - 1) if combiner == "max" else (1 << bits - 1) - 1


@lowers("masked_scatter")
def masked_scatter(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The n-th true place gets the n-th element of the source: a scan counts, a take fetches.

    Of a mask that says one thing of all elements of a row, of which the source has as many, rows.
    """
    x, mask, source = op.arg("self"), unrepeated(op.arg("mask")), op.arg("source")
    shape, given = shape_of(op.results[0]), shape_of(source)
    x = b.broadcast(x, shape)
    if not prod(shape):
        return x
    if not prod(given):
        raise b.refuse("a source without elements", "the tensor itself")
    rows = len(shape) - min(
        equal_behind(given, shape), ones_behind(shape_of(mask)), max(len(shape) - 1, 0)
    )
    inner, count = shape[rows:], prod(shape[:rows])
    mask = b.reshape(mask, shape_of(mask)[: len(shape_of(mask)) - len(inner)])
    on = b.reshape(b.broadcast(mask, shape[:rows]), [count])
    before = b.with_number("sub", b("scan", b.convert(on, i64), "add", 0), 1)
    place = b.where(on, before, b.full([count], 0, i64))
    values = b(
        "take", b.reshape(source, [prod(given[: len(given) - len(inner)]), *inner]), place, 0
    )
    wide = b.broadcast(b.reshape(on, [*shape[:rows], *([1] * len(inner))]), shape)
    return b.where(wide, b.reshape(values, shape), x)


@lowers("embedding_dense_backward")
def embedding_backward(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The gradient of each row of the table: the sum of what came from its uses."""
    grad, indices = op.arg("grad_output"), op.arg("indices")
    rows, width = op.arg("num_weights"), shape_of(grad)[-1]
    element = element_of(grad)
    if op.arg("scale_grad_by_freq"):
        ones = b.full(shape_of(indices), 1, element)
        uses = b("put", b.full([rows], 0, element), indices, ones, 0, "add")
        scale = b(
            "broadcast_in_dim",
            b("take", uses, indices, 0),
            shape_of(grad),
            list(range(rank_of(indices))),
        )
        grad = b("div", grad, scale)
    padding = op.arg("padding_idx")
    if padding >= 0:
        kept = b.with_number("ne", indices, padding)
        wide = b("broadcast_in_dim", kept, shape_of(grad), list(range(rank_of(indices))))
        grad = b.where(wide, grad, b.full(shape_of(grad), 0, element))
    return b("put", b.full([rows, width], 0, element), indices, grad, 0, "add")


@lowers("as_strided_scatter")
def as_strided_scatter(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Elements of the row-major tensor at offset + sum of index times stride."""
    x, source = op.arg("self"), op.arg("src")
    size, strides = op.arg("size"), op.arg("stride")
    index = b.full(size, op.arg("storage_offset") or 0, i64)
    for dim, (extent, stride) in enumerate(zip(size, strides, strict=True)):
        steps = b.with_number("mul", b.iota(extent, i64), stride)
        index = b("add", index, b.along(steps, size, dim))
    flat = b.reshape(x, [prod(shape_of(x))])
    source = b.broadcast(b.convert(source, element_of(x)), size)
    return b.reshape(b("put", flat, index, source, 0, "store"), shape_of(x))


@lowers("diagonal_scatter")
def diagonal_scatter(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The source on a diagonal of the last two dimensions, whichever these are."""
    x, source = op.arg("self"), op.arg("src")
    rank = rank_of(x)
    first, second = normalized(op.arg("dim1"), rank), normalized(op.arg("dim2"), rank)
    order = [d for d in range(rank) if d not in (first, second)] + [first, second]
    moved = b.transpose(x, order)
    *batch, rows, columns = shape_of(moved)
    offset, length = op.arg("offset"), shape_of(source)[-1]
    start = offset if offset >= 0 else -offset * columns
    index = b.iota(length, i64, start, columns + 1)
    flat = b.reshape(moved, [*batch, rows * columns])
    made = b("put", flat, index, b.convert(source, element_of(x)), rank - 2, "store")
    back = [order.index(d) for d in range(rank)]
    return b.transpose(b.reshape(made, shape_of(moved)), back)
