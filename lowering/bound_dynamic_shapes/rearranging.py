"""Views: dimensions renamed, joined, split and repeated; padding stays where elements end."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.grouping import (
    constant_told,
    count_told,
    move_together,
    quotients_told,
    regrouped_in_place,
)
from lamina.lowering.bound_dynamic_shapes.numbers import as_size
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned, common_sizes
from lamina.lowering.bound_dynamic_shapes.regrouping import regrouped
from lamina.lowering.bound_dynamic_shapes.size_runs import Factors, factors, same_product
from lamina.lowering.bound_dynamic_shapes.standing_apart import dims_of, in_groups
from lamina.lowering.bound_dynamic_shapes.table import bounds, takes_groups
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Grouped, Number, known
from lamina.lowering.tensor_types import normalized, normalized_dims

_CONJUGATED = ("matrix_H", "mH", "adjoint")


@takes_groups
@bounds("view", "reshape", "_unsafe_view", "view_copy", "_reshape_copy")
def view(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Another shape for the same elements."""
    values = op.args()
    tensor = b.grouped(values["self"]).tensor
    sizes = _entries(tensor, values["shape" if "shape" in values else "size"], b)
    return _in_place(tensor, sizes, b) or reshaped_to(tensor, sizes, b)


@bounds("view_as", "reshape_as")
def view_as(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The shape of another tensor."""
    other = b.tensor(op.arg("other"))
    return reshaped_to(b.tensor(op.arg("self")), [b.size(other, d) for d in range(other.rank)], b)


@bounds("flatten.using_ints", "ravel")
def flatten(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Dimensions joined."""
    tensor = b.tensor(op.arg("self"))
    rank = tensor.rank
    first, last = 0, rank - 1
    if op.overload_name.startswith("flatten"):
        first, last = (normalized(op.arg(n), rank) for n in ("start_dim", "end_dim"))
    if not rank:
        return Bounded(b.reshape(tensor.value, [1]), (None,))
    sizes = [b.size(tensor, d) for d in range(rank)]
    joined = b.elements(tensor, range(first, last + 1))
    sizes = [*sizes[:first], joined, *sizes[last + 1 :]]
    return _in_place(tensor, sizes, b) or reshaped_to(tensor, sizes, b)


@bounds("unflatten.int")
def unflatten(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """A dimension split."""
    tensor = b.tensor(op.arg("self"))
    dim = normalized(op.arg("dim"), tensor.rank)
    sizes: list[Any] = [b.size(tensor, d) for d in range(tensor.rank)]
    entries = [b.number(entry) for entry in op.arg("sizes")]
    if any(entry.constant == -1 for entry in entries):
        rest = [entry for entry in entries if entry.constant != -1]
        missing = _quotient(sizes[dim], rest, b)
        entries = [missing if entry.constant == -1 else entry for entry in entries]
    return reshaped_to(tensor, [*sizes[:dim], *entries, *sizes[dim + 1 :]], b)


def reshaped(tensor: Bounded, entries: list[int | SSAValue], b: BoundBuilder) -> Bounded:
    """The tensor in a shape of constants and numbers, one of them perhaps -1."""
    return reshaped_to(tensor, _entries(tensor, entries, b), b)


def _entries(tensor: Bounded, entries: list[int | SSAValue], b: BoundBuilder) -> list[Number]:
    sizes = [b.number(entry) for entry in entries]
    if any(size.constant == -1 for size in sizes):
        inferred = _inferred(tensor, sizes, b)
        sizes = [inferred if size.constant == -1 else size for size in sizes]
    return [size if size.constant is not None else as_size(size, b) for size in sizes]


def _in_place(tensor: Bounded, sizes: list[Number], b: BoundBuilder) -> Bounded | Grouped | None:
    """The tensor with these sizes where elements stay, in groups if need be."""
    return None if tensor.is_static else regrouped_in_place(tensor, sizes, b)


def _inferred(tensor: Bounded, sizes: list[Number], b: BoundBuilder) -> Number:
    """The size that -1 stands for; that of a dimension itself where all others match."""
    rest = [size for size in sizes if size.constant != -1]
    own = [b.size(tensor, d) for d in range(tensor.rank)]
    (held, counts), (given, others) = factors(*own), factors(*rest)
    if counts == others and given and held % given == 0:
        return known(held // given)
    if (left_over := _left_over(own, rest)) is not None:
        return b.product(*left_over)
    left = list(rest)
    unmatched: list[Number] = []
    for size in own:
        match = next((n for n, other in enumerate(left) if _same(size, other)), None)
        if match is None:
            unmatched.append(size)
        else:
            del left[match]
    counts = [size for size in unmatched if size.constant is None]
    (held, _), (given, others) = factors(*unmatched), factors(*left)
    if not others and given and held % given == 0 and _is_constant_part(unmatched, held):
        return b.product(*counts, known(held // given))
    return _quotient(b.product(*unmatched), left, b)


def _is_constant_part(sizes: list[Number], constant: int) -> bool:
    """Whether a constant is the product of the constants among sizes: none hides in a count."""
    return prod(size.constant for size in sizes if size.constant is not None) == constant


def _left_over(own: list[Number], rest: list[Number]) -> list[Number] | None:
    """Those of a tensor's sizes that are left when others, alone or multiplied, are taken away."""
    for first in range(len(own)):
        for last in range(first, len(own)):
            taken = own[first : last + 1]
            if same_product(taken, rest):
                return own[:first] + own[last + 1 :]
    return None


def _quotient(total: Number, parts: list[Number], b: BoundBuilder) -> Number:
    divisor = prod(_constant(part, b) for part in parts)
    if divisor == 1:
        return total
    if total.constant is not None:
        return known(total.constant // max(divisor, 1))
    if not divisor:
        raise b.refuse("a size of -1 beside a size of 0")
    value = b("div.Scalar_mode", b.as_tensor(total), divisor, rounding_mode="floor")
    assert total.most is not None
    return Number(value, total.most // divisor, 0)


def _constant(number: Number, b: BoundBuilder) -> int:
    if number.constant is None:
        raise b.refuse("more than one size of the shape depends on data")
    return number.constant


def _same(one: Number, other: Number) -> bool:
    if one.constant is not None:
        return one.constant == other.constant
    return one.value is other.value


def reshaped_to(tensor: Bounded, sizes: list[Number], b: BoundBuilder) -> Bounded:
    """The tensor with these sizes.

    A dimension with padding keeps its place between the same sizes before and after it, or it is
    the outermost one, whose elements come before all padding: then it may be joined and split in
    place. Elsewhere elements are moved.
    """
    sizes = [size if size.constant is not None else as_size(size, b) for size in sizes]
    dynamic = [n for n, size in enumerate(sizes) if size.constant is None]
    own = tensor.dynamic_dims
    if not own and not dynamic:
        shape = [_constant(size, b) for size in sizes]
        return Bounded(b.reshape(tensor.value, shape), (None,) * len(shape))
    if own == [0] and all(n == 0 for n in dynamic) and sizes:
        return _outermost(tensor, sizes, b)
    kept = _kept_apart(tensor, sizes, b) or _in_place(tensor, sizes, b)
    return kept if isinstance(kept, Bounded) else _regrouped(tensor, sizes, b)


def _outermost(tensor: Bounded, sizes: list[Number], b: BoundBuilder) -> Bounded:
    """Elements are a prefix in row-major order, before and after."""
    inner = prod(_constant(size, b) for size in sizes[1:])
    total = b.elements(tensor)
    given = b.product(sizes[0], known(inner))
    if not _same(total, given) and not same_product([total], [given]):
        b.require_equal(total, given, "the shape has another number of elements")
    room = prod(tensor.shape)
    first = sizes[0].constant
    if first is None:
        first = room // inner if inner else sizes[0].most or 0
    flat = b.reshape(tensor.value, [room])
    flat = b.resized(flat, 0, first * inner)
    shape = [first, *(_constant(size, b) for size in sizes[1:])]
    made = b.reshape(flat, shape)
    return b.bounded(made, [sizes[0], *([None] * (len(shape) - 1))])


def _kept_apart(tensor: Bounded, sizes: list[Number], b: BoundBuilder) -> Bounded | None:
    """Each padded dimension is one of the result, between as many elements as before; or None."""
    shape = [size.constant if size.constant is not None else -1 for size in sizes]
    counts: list[Count] = [None] * len(sizes)
    for dim in tensor.dynamic_dims:
        count = tensor.sizes[dim]
        place = next(
            (n for n, s in enumerate(sizes) if s.value is count and counts[n] is None), None
        )
        if place is None:
            return None
        shape[place] = tensor.shape[dim]
        counts[place] = count
    ok = -1 not in shape and prod(shape) == prod(tensor.shape)
    for place, count in enumerate(counts):
        if count is not None and ok:
            dim = tensor.sizes.index(count)
            ok = prod(shape[:place]) == prod(tensor.shape[:dim])
    return Bounded(b.reshape(tensor.value, shape), tuple(counts)) if ok else None


def _regrouped(tensor: Bounded, sizes: list[Number], b: BoundBuilder) -> Bounded:
    """Padded dimensions joined or split; an open size without a bound refuses it.

    That there are as many elements, which is checked, may tell a size: where d is split into q and
    2, it is 2 * q, and elements stay where they are. So are sizes of which quotients are parts.
    """
    total, given = b.elements(tensor), b.product(*sizes)
    if given.most is None:
        raise b.refuse("sizes that depend on data are joined or split in this shape")
    if not _same(total, given) and not same_product([total], [given]):
        b.require_equal(total, given, "the shape has another number of elements")
        own = [b.size(tensor, dim) for dim in range(tensor.rank)]
        told = count_told(own, sizes) or quotients_told(own, sizes, b)
        tensor = _whole_parts(tensor, told, b)
        for dim in tensor.dynamic_dims:
            if (number := constant_told(tensor.sizes[dim], told)) is not None:
                tensor = tensor.cut(b.resized(tensor.value, dim, number), dim)
        kept = regrouped_in_place(tensor, sizes, b, told) if told else None
        if isinstance(kept, Bounded):
            return kept
    return regrouped(tensor, sizes, b)


def _whole_parts(tensor: Bounded, told: Mapping[SSAValue, Factors], b: BoundBuilder) -> Bounded:
    """The tensor with room for whole parts alone in the dimensions that are multiples of others."""
    value = tensor.value
    for dim, count in enumerate(tensor.sizes):
        if count is not None and count in told and (left := tensor.shape[dim] % told[count][0]):
            value = b.resized(value, dim, tensor.shape[dim] - left)
    return Bounded(value, tensor.sizes)


def _moved(given: Grouped, places: list[int], b: BoundBuilder) -> Bounded | Grouped:
    tensor, order = given.tensor, dims_of(given, places)
    if order == list(range(tensor.rank)):
        return in_groups(tensor, given.groups)
    value = b("permute.default", tensor.value, order)
    moved = Bounded(value, tuple(tensor.sizes[d] for d in order))
    return in_groups(moved, tuple(given.groups[place] for place in places))


@takes_groups
@bounds("permute", "permute_copy")
def permute(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Dimensions in another order."""
    given = b.grouped(op.arg("self"))
    return _moved(given, normalized_dims(op.arg("dims"), len(given.groups)), b)


@takes_groups
@bounds("transpose.int", "swapaxes", "swapdims", "t", "numpy_T", "mT", "matrix_H", "mH", "adjoint")
def transpose(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Two dimensions swapped, or all of them reversed."""
    tensor = b.grouped(op.arg("self"))
    rank = len(tensor.groups)
    order = list(range(rank))
    if op.overload_name == "numpy_T.default":
        return _moved(tensor, order[::-1], b)
    if rank < 2:
        return in_groups(tensor.tensor, tensor.groups)
    given = op.args()
    names = [name for name in ("dim0", "dim1", "axis0", "axis1") if name in given]
    one, other = (normalized(given[n], rank) for n in names) if names else (rank - 2, rank - 1)
    order[one], order[other] = order[other], order[one]
    found = _moved(tensor, order, b)
    if isinstance(found, Bounded) and op.overload_name.split(".")[0] in _CONJUGATED:
        return Bounded(b("conj_physical.default", found.value), found.sizes)
    return found


@takes_groups
@bounds("movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist")
def movedim(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Some dimensions moved to other places."""
    tensor = b.grouped(op.arg("self"))
    rank = len(tensor.groups)
    source = normalized_dims(op.arg("source"), rank)
    target = normalized_dims(op.arg("destination"), rank)
    placed = dict(zip(target, source, strict=True))
    rest = iter(d for d in range(rank) if d not in source)
    return _moved(tensor, [placed[d] if d in placed else next(rest) for d in range(rank)], b)


@takes_groups
@bounds("unsqueeze")
def unsqueeze(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """A new dimension of one."""
    given = b.grouped(op.arg("self"))
    tensor, place = given.tensor, op.arg("dim") % (len(given.groups) + 1)
    dim = sum(given.groups[:place])
    value = b("unsqueeze.default", tensor.value, dim)
    made = Bounded(value, (*tensor.sizes[:dim], None, *tensor.sizes[dim:]))
    return in_groups(made, (*given.groups[:place], 1, *given.groups[place:]))


@takes_groups
@bounds("squeeze", "squeeze.dim", "squeeze.dims")
def squeeze(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Static dimensions of one are dropped; one whose size depends on data stays."""
    given = b.grouped(op.arg("self"))
    tensor, rank = given.tensor, len(given.groups)
    asked = None if op.overload_name == "squeeze.default" else op.arg("dim")
    places = normalized_dims(asked, rank) if asked != [] else []
    alone = [p for p in places if given.groups[p] == 1]
    gone = [p for p in alone if _is_one(tensor, given.dims[p][0])]
    left = [place for place in range(rank) if place not in gone]
    kept = dims_of(given, left)
    value = b.reshape(tensor.value, [tensor.shape[d] for d in kept])
    made = Bounded(value, tuple(tensor.sizes[d] for d in kept))
    return in_groups(made, tuple(given.groups[place] for place in left))


def _is_one(tensor: Bounded, dim: int) -> bool:
    return tensor.sizes[dim] is None and tensor.shape[dim] == 1


@takes_groups
@bounds("expand", "broadcast_to", "expand_as")
def expand(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Dimensions of one repeated, perhaps as often as data say."""
    if (kept := _expanded_to_itself(op, b)) is not None:
        return kept
    move_together(op, b)
    tensor = b.tensor(op.arg("self"))
    if op.overload_name.startswith("expand_as"):
        other = b.tensor(op.arg("other"))
        entries = [b.size(other, d) for d in range(other.rank)]
    else:
        entries = [b.number(entry) for entry in op.arg("size")]
    missing = len(entries) - tensor.rank
    shape: list[int] = []
    sizes: list[Number | Count] = []
    for place, entry in enumerate(entries):
        dim = place - missing
        repeats = dim < 0 or (tensor.sizes[dim] is None and tensor.shape[dim] == 1)
        if repeats and entry.constant != -1:
            size = as_size(entry, b)
            shape.append(size.most or 0)
            sizes.append(size)
        else:
            if entry.constant is None:
                message = f"the size to expand to differs at dimension {place}"
                b.require_equal(b.size(tensor, dim), entry, message)
            elif entry.constant != -1:
                tensor = b.static_size(tensor, dim, entry.constant)
            shape.append(tensor.shape[dim])
            sizes.append(tensor.sizes[dim])
    return b.bounded(b.expand(tensor.value, shape), sizes)


def _expanded_to_itself(op: SchemaOp, b: BoundBuilder) -> Grouped | None:
    """A tensor in groups that is expanded to the sizes it has; None for others."""
    given = b.state.grouped.get(op.operands[0])
    if given is None or op.overload_name.startswith("expand_as"):
        return None
    sizes = [b.number(entry) for entry in op.arg("size")]
    own = [b.elements(given.tensor, dims) for dims in given.dims]
    if len(own) != len(sizes):
        return None
    pairs = zip(own, sizes, strict=True)
    is_same = all(size.constant == -1 or same_product([one], [size]) for one, size in pairs)
    return given if is_same else None


@bounds("broadcast_tensors")
def broadcast_tensors(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """Tensors repeated to their common shape."""
    tensors = aligned([b.tensor(value) for value in op.arg("tensors")], b)
    sizes = common_sizes(tensors)
    shape = b.broadcast(*(tensor.shape for tensor in tensors))
    return [Bounded(b.expand(tensor.value, shape), sizes) for tensor in tensors]


@bounds("view_as_real", "view_as_complex")
def parts(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Parts of complex numbers as one more dimension, and back."""
    tensor = b.tensor(op.arg("self"))
    value = b(op.overload_name, tensor.value)
    sizes = (*tensor.sizes, None) if op.overload_name.startswith("view_as_real") else None
    return Bounded(value, sizes if sizes is not None else tensor.sizes[:-1])
