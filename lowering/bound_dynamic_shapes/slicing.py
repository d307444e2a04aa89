"""Parts of a dimension: places counted from either end of the elements."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import affine, positive, quotient
from lamina.lowering.bound_dynamic_shapes.standing_apart import in_groups, row_of
from lamina.lowering.bound_dynamic_shapes.table import bounds, takes_groups
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Grouped, Number, known
from lamina.lowering.tensor_types import normalized

_END = 2**63 - 1
"""The end of a part that goes to the end, whatever that is."""


def part(
    tensor: Bounded, dim: int, start: SSAValue, count: Number, b: BoundBuilder, step: int = 1
) -> Bounded:
    """`count` positions, `step` apart, from a 0-d `start` on."""
    bound = count.most
    assert bound is not None
    extent = tensor.shape[dim]
    if not extent or not bound:
        value = b.resized(tensor.value, dim, bound)
    else:
        places = b.iota(bound) if step == 1 else b("mul.Scalar", b.iota(bound), step)
        places = b("clamp.default", b("add.Tensor", places, start), 0, extent - 1)
        value = b("index.Tensor", tensor.value, [*([None] * dim), places])
    sizes: list[Any] = list(tensor.sizes)
    sizes[dim] = count
    return b.bounded(value, sizes)


def _wrapped(number: Number, size: Number, b: BoundBuilder) -> Number:
    """A place as Python counts it: from the end if negative, and never outside."""
    constant = number.constant
    if constant is not None:
        if constant >= 0:
            return _least_of(known(constant), size, b)
        return positive(affine(size, 1, constant, b), b)
    value, end = b.as_tensor(number), b.as_tensor(size)
    if number.least is None or number.least < 0:
        value = b.where(b("lt.Scalar", value, 0), b("add.Tensor", value, end), value)
        value = b("clamp_min.default", value, 0)
    return _least_of(Number(value, number.most, 0), size, b)


def _least_of(one: Number, other: Number, b: BoundBuilder) -> Number:
    if one.value is other.value:
        return one
    if one.constant is not None and other.constant is not None:
        return known(min(one.constant, other.constant))
    if one.constant == 0 or other.constant == 0:
        return known(0)
    for number, limit in ((one, other), (other, one)):
        if number.most is not None and limit.least is not None and number.most <= limit.least:
            return number
    bounds_given = [n.most for n in (one, other) if n.most is not None]
    value = b("minimum.default", b.as_tensor(one), b.as_tensor(other))
    return Number(value, min(bounds_given), 0)


@takes_groups
@bounds("slice.Tensor", "slice_copy.Tensor")
def slice_(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """A part of one dimension, whose ends may depend on data."""
    values = op.args()
    whole = b.grouped(values["self"])
    is_all = values["start"] in (None, 0) and values["end"] in (None, _END)
    if is_all and values["step"] == 1:
        return in_groups(whole.tensor, whole.groups)
    given, dim = row_of(op, values["self"], values["dim"], b)
    return in_groups(_sliced(op, given.tensor, dim, b), given.groups)


def _sliced(op: SchemaOp, tensor: Bounded, dim: int, b: BoundBuilder) -> Bounded:
    values = {**op.args(), "dim": dim}
    size = b.size(tensor, dim)
    start = b.number(values["start"] if values["start"] is not None else 0)
    end = b.number(values["end"] if values["end"] is not None else _END)
    step = values["step"]
    if step != 1 and (size.constant is None or start.constant is None or end.constant is None):
        return _in_steps(tensor, dim, start, _wrapped(end, size, b), step, b)
    if size.constant is not None and start.constant is not None and end.constant is not None:
        return Bounded(b(op.overload_name, **{**values, "self": tensor.value}), tensor.sizes)
    first, last = _wrapped(start, size, b), _wrapped(end, size, b)
    if start.constant and start.constant > 0 and last.value is size.value:
        count = positive(affine(size, 1, -start.constant, b), b)
        most = count.most
        if most and start.constant + most <= tensor.shape[dim]:  # none count where it is behind all
            end = start.constant + most
            value = b("slice.Tensor", tensor.value, dim, start.constant, end)
            return b.bounded(value, [*tensor.sizes[:dim], count, *tensor.sizes[dim + 1 :]])
        return part(tensor, dim, b.as_tensor(first), count, b)
    return between(tensor, dim, first, last, b)


def _in_steps(
    tensor: Bounded, dim: int, start: Number, end: Number, step: int, b: BoundBuilder
) -> Bounded:
    """Every so many positions from `start`, a number, up to `end`."""
    first = start.constant
    if first is None or first < 0:
        begin = _wrapped(start, b.size(tensor, dim), b)
        count = quotient(_distance(begin, end, b), step - 1, step, b)
        return part(tensor, dim, b.as_tensor(begin), count, b, step)
    count = quotient(end, step - 1 - first, step, b)
    if first >= step:
        most = None if count.most is None else max(count.most, 0)
        count = Number(b("clamp_min.default", b.as_tensor(count), 0), most, 0)
    value = b("slice.Tensor", tensor.value, dim, first, end.most, step)
    sizes: list[Any] = list(tensor.sizes)
    sizes[dim] = count
    return b.bounded(value, sizes)


def _diagonal_length(
    tensor: Bounded, rows: int, columns: int, offset: int, b: BoundBuilder
) -> Number:
    """How many elements a diagonal of two dimensions has, so many columns to the right."""
    one, other = b.size(tensor, rows), b.size(tensor, columns)
    if offset:
        one, other = (affine(n, 1, min(by, 0), b) for n, by in ((one, offset), (other, -offset)))
    found = _least_of(one, other, b)
    if not offset or found.constant is not None:
        return found
    most = None if found.most is None else max(found.most, 0)
    return Number(b("clamp_min.default", b.as_tensor(found), 0), most, 0)


@bounds("diagonal", "diagonal_copy")
def diagonal(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The diagonal of two dimensions, which stands behind the others."""
    values = op.args()
    tensor = b.tensor(values["self"])
    return _diagonal(tensor, values["offset"], values["dim1"], values["dim2"], b)


@bounds("trace")
def trace(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The sum of a diagonal."""
    elements = _diagonal(b.tensor(op.arg("self")), 0, 0, 1, b)
    return Bounded(b("sum.default", b.filled(elements, 0)), ())


def _diagonal(tensor: Bounded, offset: int, one: int, other: int, b: BoundBuilder) -> Bounded:
    rows, columns = (normalized(dim, tensor.rank) for dim in (one, other))
    length = _diagonal_length(tensor, rows, columns, offset, b)
    others = [tensor.sizes[d] for d in range(tensor.rank) if d not in (rows, columns)]
    value = b("diagonal.default", tensor.value, offset, rows, columns)
    return b.bounded(value, [*others, length])


def between(tensor: Bounded, dim: int, start: Number, end: Number, b: BoundBuilder) -> Bounded:
    """Positions from `start` up to `end`, both inside the elements."""
    if start.constant == 0:
        assert end.most is not None
        sizes: list[Any] = list(tensor.sizes)
        sizes[dim] = end
        return b.bounded(b.slice(tensor.value, dim, 0, end.most), sizes)
    return part(tensor, dim, b.as_tensor(start), _distance(start, end, b), b)


def _distance(start: Number, end: Number, b: BoundBuilder) -> Number:
    """Positions from `start` up to `end`, both inside the elements; 0 if there are none."""
    assert end.most is not None
    count = b("sub.Tensor", b.as_tensor(end), b.as_tensor(start))
    count = b("clamp_min.default", count, 0)
    return Number(count, max(end.most - (start.least or 0), 0), 0)


@bounds("narrow", "narrow_copy")
def narrow(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """A part of one dimension by start and length."""
    values = op.args()
    tensor = b.tensor(values["self"])
    dim = normalized(values["dim"], tensor.rank)
    size = b.size(tensor, dim)
    start, length = b.number(values["start"]), b.number(values["length"])
    first = _wrapped(start, size, b)
    last = b("add.Tensor", b.as_tensor(first), b.as_tensor(length))
    b.require(
        b("le.Tensor", last, b.as_tensor(size)), f"{b.place}the part ends behind the elements"
    )
    most = min(n for n in (length.most, size.most) if n is not None)
    b.require_least(length, 0, "the length is negative")
    return part(tensor, dim, b.as_tensor(first), Number(length.value, most, 0), b)


@bounds("select.int", "select_copy.int")
def select(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """One position of a dimension."""
    values = op.args()
    tensor = b.tensor(values["self"])
    dim = normalized(values["dim"], tensor.rank)
    index = b.number(values["index"])
    size = b.size(tensor, dim)
    sizes = (*tensor.sizes[:dim], *tensor.sizes[dim + 1 :])
    if index.constant is not None and size.constant is not None:
        return Bounded(b("select.int", tensor.value, dim, index.constant), sizes)
    place, end = b.as_tensor(index), b.as_tensor(size)
    if index.least is None or index.least < 0:
        place = b.where(b("lt.Scalar", place, 0), b("add.Tensor", place, end), place)
    inside = b("logical_and.default", b("ge.Scalar", place, 0), b("lt.Tensor", place, end))
    b.require(inside, f"{b.place}the index is out of range at dimension {dim}")
    extent = tensor.shape[dim]
    if not extent:
        shape = [e for d, e in enumerate(tensor.shape) if d != dim]
        kind: Any = op.results[0].type
        return Bounded(b.full(shape, 0, kind.element_type), sizes)
    if index.constant is not None and 0 <= index.constant < extent:
        return Bounded(b("select.int", tensor.value, dim, index.constant), sizes)
    safe = b("clamp.default", place, 0, extent - 1)
    at = b.reshape(safe, [1])
    value = b("index.Tensor", tensor.value, [*([None] * dim), at])
    shape = [e for d, e in enumerate(tensor.shape) if d != dim]
    return Bounded(b.reshape(value, shape), sizes)


@bounds("tensor_split.tensor_indices_or_sections")
def tensor_split(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """Parts between the places in a vector, or as many parts as a number says."""
    tensor, places = b.tensor(op.arg("self")), b.tensor(op.arg("tensor_indices_or_sections"))
    dim = normalized(op.arg("dim"), tensor.rank)
    size = b.size(tensor, dim)
    if not places.is_static:
        raise b.refuse("a number of parts that depends on data")
    if not places.rank:
        return _sections(op, tensor, dim, places.value, b)
    ends: list[Number] = [known(0)]
    for number in range(places.shape[0]):
        place = b("select.int", b.converted(places.value, i64), 0, number)
        ends.append(_wrapped(Number(place), size, b))
    ends.append(size)
    return [between(tensor, dim, one, other, b) for one, other in pairwise(ends)]


def _sections(
    op: SchemaOp, tensor: Bounded, dim: int, number: SSAValue, b: BoundBuilder
) -> list[Bounded]:
    """As many parts as the program has results, which the number must say."""
    parts = len(op.results)
    b.require(b("eq.Scalar", number, parts), f"{b.place}the number of parts is not {parts}")
    size = b.size(tensor, dim)
    if size.constant is None:
        raise b.refuse("parts of a size that depends on data")
    small, extra = divmod(size.constant, parts)
    ends = [n * small + min(n, extra) for n in range(parts + 1)]
    return [
        Bounded(b.slice(tensor.value, dim, one, other), tensor.sizes)
        for one, other in pairwise(ends)
    ]
