"""`unique` and its kin: equal neighbours are one group, whose first element stands for it."""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.compaction import Compaction, compaction, flattened
from lamina.lowering.bound_dynamic_shapes.ordering import behind
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number
from lamina.lowering.tensor_types import normalized, shape_of

COLUMN_LIMIT = 64
"""Rows are sorted by one column after the other; longer ones are refused."""


def _vector(tensor: Bounded, b: BoundBuilder) -> Bounded:
    """All elements in a row; only the outermost dimension may be padded."""
    if any(dim > 0 for dim in tensor.dynamic_dims):
        raise b.refuse("an inner dimension whose size depends on data")
    return b.bounded(flattened(tensor.value, b), [b.elements(tensor)])


def _starts(rows: Bounded, b: BoundBuilder) -> SSAValue:
    """Where a row differs from the one before it; the first one does, padding does not."""
    bound = rows.shape[0]
    if not bound:
        return b.full([0], 0, i1)
    differs = b("ne.Tensor", b.slice(rows.value, 0, 1, bound), b.slice(rows.value, 0, 0, bound - 1))
    if rows.rank > 1:
        differs = b.reshape(differs, [bound - 1, prod(rows.shape[1:])])
        differs = b("any.dim", differs, 1)
    starts = b("constant_pad_nd.default", differs, [1, 0], True)
    return b.filled(Bounded(starts, rows.sizes[:1]), False)


def _groups(starts: SSAValue, b: BoundBuilder) -> SSAValue:
    """The number of the group of each position."""
    return b("sub.Scalar", b("cumsum.default", starts, 0, dtype=i64), 1)


def _counts(chosen: Compaction, groups: SSAValue, rows: Bounded, b: BoundBuilder) -> Bounded:
    """How many rows each group has."""
    bound = chosen.bound
    if not bound:
        return b.bounded(b.full([0], 0, i64), [chosen.count])
    ones = b.filled(Bounded(b.full([bound], 1, i64), rows.sizes[:1]), 0)
    safe = b("clamp_min.default", groups, 0)
    made = b("scatter_add.default", b.full([bound], 0, i64), 0, safe, ones)
    return b.bounded(made, [chosen.count])


def _asked(asked: bool, made: Bounded, b: BoundBuilder) -> Bounded:
    return made if asked else Bounded(b.full([0], 0, i64), (None,))


@bounds("_unique2", "_unique")
def unique(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """Elements in order, each once."""
    values = op.args()
    tensor = b.tensor(values["self"])
    vector = _vector(tensor, b)
    order = b.op("sort.stable", behind(vector, 0, False, b), stable=True, dim=0, descending=False)
    ordered = Bounded(order.results[0], vector.sizes)
    starts = _starts(ordered, b)
    chosen = compaction(starts, b)
    groups = _groups(starts, b)
    found = [chosen.moved(ordered.value, b)]
    back = b("scatter.src", b.full(vector.shape, 0, i64), 0, order.results[1], groups)
    inverse = Bounded(b.reshape(back, tensor.shape), tensor.sizes)
    found.append(_asked(values["return_inverse"], inverse, b))
    if "return_counts" in values:
        counts = _counts(chosen, groups, ordered, b)
        found.append(_asked(values["return_counts"], counts, b))
    return found


@bounds("unique_consecutive")
def unique_consecutive(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """Runs of equal elements, each once."""
    values = op.args()
    tensor = b.tensor(values["self"])
    if values["dim"] is not None:
        return _consecutive_slices(op, tensor, b)
    vector = _vector(tensor, b)
    starts = _starts(vector, b)
    chosen = compaction(starts, b)
    groups = _groups(starts, b)
    inverse = Bounded(b.reshape(groups, tensor.shape), tensor.sizes)
    counts = _counts(chosen, groups, vector, b)
    return [
        chosen.moved(vector.value, b),
        _asked(values["return_inverse"], inverse, b),
        _asked(values["return_counts"], counts, b),
    ]


@bounds("unique_dim_consecutive")
def unique_dim_consecutive(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """Runs of equal slices, each once."""
    return _consecutive_slices(op, b.tensor(op.arg("self")), b)


def _consecutive_slices(op: SchemaOp, tensor: Bounded, b: BoundBuilder) -> list[Bounded]:
    dim = normalized(op.arg("dim"), tensor.rank)
    rows = _rows(tensor, dim, b)
    starts = _starts(rows, b)
    chosen = compaction(starts, b)
    groups = _groups(starts, b)
    found = _back(chosen.moved(rows.value, b), tensor, dim, b)
    inverse = Bounded(groups, rows.sizes[:1])
    return _shaped(op, [found, inverse, _counts(chosen, groups, rows, b)], b)


@bounds("unique_dim")
def unique_dim(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """Slices in lexicographic order, each once."""
    tensor = b.tensor(op.arg("self"))
    dim = normalized(op.arg("dim"), tensor.rank)
    rows = _rows(tensor, dim, b)
    order = _row_order(rows, b)
    ordered = Bounded(b("index.Tensor", rows.value, [order]), rows.sizes)
    starts = _starts(ordered, b)
    chosen = compaction(starts, b)
    groups = _groups(starts, b)
    found = _back(chosen.moved(ordered.value, b), tensor, dim, b)
    back = b("scatter.src", b.full(rows.shape[:1], 0, i64), 0, order, groups)
    inverse = Bounded(back, rows.sizes[:1])
    return _shaped(op, [found, inverse, _counts(chosen, groups, rows, b)], b)


def _shaped(op: SchemaOp, found: list[Bounded], b: BoundBuilder) -> list[Bounded]:
    """Results that the program takes to be empty are."""
    shapes: list[Any] = [result.type for result in op.results]
    return [
        Bounded(b.full([0], 0, i64), (None,))
        if n and tuple(kind.get_shape()) == (0,) and made.shape != [0]
        else made
        for n, (made, kind) in enumerate(zip(found, shapes, strict=True))
    ]


def _rows(tensor: Bounded, dim: int, b: BoundBuilder) -> Bounded:
    """Slices along a dimension as rows of a matrix."""
    if any(d != dim for d in tensor.dynamic_dims):
        raise b.refuse("slices whose size depends on data")
    value = b("movedim.int", tensor.value, dim, 0)
    length = prod(shape_of(value)[1:])
    matrix = b.reshape(value, [tensor.shape[dim], length])
    return b.bounded(matrix, [b.size(tensor, dim), None])


def _back(rows: Bounded, tensor: Bounded, dim: int, b: BoundBuilder) -> Bounded:
    shape = [rows.shape[0], *(e for d, e in enumerate(tensor.shape) if d != dim)]
    value = b("movedim.int", b.reshape(rows.value, shape), 0, dim)
    sizes: list[Any] = [None] * tensor.rank
    sizes[dim] = rows.sizes[0]
    return Bounded(value, tuple(sizes))


def _row_order(rows: Bounded, b: BoundBuilder) -> SSAValue:
    """Places of rows in order: a stable sort by each column, the last one first."""
    bound, columns = rows.shape
    if columns > COLUMN_LIMIT:
        raise b.refuse(f"slices of more than {COLUMN_LIMIT} elements are not put in order")
    order = b.iota(bound)
    for column in reversed(range(columns)):
        keys = b("select.int", rows.value, 1, column)
        keys = b("index.Tensor", keys, [order])
        step = _stable_places(Bounded(keys, rows.sizes[:1]), b)
        order = b("index.Tensor", order, [step])
    return order


def _stable_places(keys: Bounded, b: BoundBuilder) -> SSAValue:
    value = behind(keys, 0, False, b)
    made = b.op("sort.stable", value, stable=True, dim=0, descending=False)
    return made.results[1]


@bounds("bincount")
def bincount(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """How often each number occurs, or sums of weights.

    Numbers above the limit that the program states are an error at run time.
    """
    values = op.args()
    tensor, weights = b.tensor(values["self"]), values["weights"]
    least = b.number(values["minlength"]).constant
    if least is None:
        raise b.refuse("minlength depends on data")
    kind: Any = op.results[0].type
    size = _number_range(op, tensor, least, b)
    bound = size.most
    assert bound is not None
    added = (
        b.full(tensor.shape, 1, kind.element_type)
        if weights is None
        else b.converted(b.tensor(weights).value, kind.element_type)
    )
    added = b.filled(Bounded(added, tensor.sizes), 0)
    places = b.filled(Bounded(b.converted(tensor.value, i64), tensor.sizes), 0)
    room = b.full([max(bound, 1)], 0, kind.element_type)
    made = b("scatter_add.default", room, 0, places, added)
    return b.bounded(b.slice(made, 0, 0, bound), [size])


_ALL_NUMBERS = {"ui8": 256, "i8": 128, "ui16": 1 << 16, "i16": 1 << 15}
"""How many numbers that are not negative an element type has, where they are few."""


def _number_range(op: SchemaOp, tensor: Bounded, least: int, b: BoundBuilder) -> Number:
    """One more than the greatest number, and what it is at most."""
    kind: Any = tensor.value.type
    name = str(kind.element_type)
    if not tensor.shape[0]:
        return Number(b.constant(least), least, 0)
    stated = _ALL_NUMBERS.get(name, b.state.limits.get((op.results[0], 0)))
    if stated is None:
        raise b.refuse(
            "a size that depends on data has no upper bound",
            "torch._check(result.shape[0] <= LIMIT), which bounds it",
        )
    bound = max(stated, least)
    numbers = b.filled(Bounded(b.converted(tensor.value, i64), tensor.sizes), -1)
    smallest = b.filled(Bounded(b.converted(tensor.value, i64), tensor.sizes), 0)
    negative = b("ge.Scalar", b("amin.default", smallest, [0]), 0)
    b.require(negative, f"{b.place}a number is negative")
    size = b("clamp_min.default", b("add.Scalar", b("amax.default", numbers, [0]), 1), least)
    message = (
        f"the result has more than {bound} entries, for which the program was compiled; "
        "torch._check(result.shape[0] <= LIMIT) states another limit"
    )
    b.require(b("le.Scalar", size, bound), b.place + message)
    return Number(size, bound, 0)
