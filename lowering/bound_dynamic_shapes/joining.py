"""Tensors put side by side: elements of each follow those of the one before."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.numbers import as_size
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import total
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Number, known
from lamina.lowering.tensor_types import normalized


@bounds("cat", "concat", "concatenate")
def cat(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Along one dimension; the others must be equal."""
    tensors = [b.tensor(value) for value in op.arg("tensors")]
    kind: Any = op.results[0].type
    rank = len(kind.get_shape())
    for tensor in tensors:
        # Torch lets vectors without elements stand for any shape.
        if tensor.rank != rank and tensor.shape != [0]:
            raise b.refuse("joins tensors of different rank")
    tensors = [t for t in tensors if t.rank == rank]
    return joined(tensors, normalized(op.arg("dim"), rank), kind.element_type, b)


@bounds("stack")
def stack(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Along a new dimension."""
    tensors = [b.tensor(value) for value in op.arg("tensors")]
    dim = op.arg("dim") % (tensors[0].rank + 1)
    kind: Any = op.results[0].type
    raised = [
        Bounded(b("unsqueeze.default", t.value, dim), (*t.sizes[:dim], None, *t.sizes[dim:]))
        for t in tensors
    ]
    return joined(raised, dim, kind.element_type, b)


@bounds("hstack", "vstack", "row_stack", "column_stack")
def stack_by_rank(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Along the first or second dimension, which vectors are given first."""
    tensors = [b.tensor(value) for value in op.arg("tensors")]
    kind: Any = op.results[0].type
    packet = op.overload_name.partition(".")[0]
    raised: list[Bounded] = []
    for t in tensors:
        if t.rank == 0:
            t = Bounded(b.reshape(t.value, [1]), (None,))
        if t.rank == 1 and packet != "hstack":
            dim = 1 if packet == "column_stack" else 0
            t = Bounded(
                b("unsqueeze.default", t.value, dim), (*t.sizes[:dim], None, *t.sizes[dim:])
            )
        raised.append(t)
    sideways = packet == "column_stack" or (packet == "hstack" and raised[0].rank > 1)
    return joined(raised, 1 if sideways else 0, kind.element_type, b)


_MOST_CHOSEN = 4
"""Of more pieces the padded ones are joined first, so that each element is read but twice."""


def joined(tensors: list[Bounded], dim: int, element: Any, b: BoundBuilder) -> Bounded:
    """Padded tensors put side by side, without padding in between."""
    ready = _equal_elsewhere(tensors, dim, b)
    ready = [Bounded(b.converted(t.value, element), t.sizes) for t in ready]
    pieces = _pieces(ready, dim, b)
    sizes: list[Number | Count] = list(ready[0].sizes)
    room = sum(piece.shape[dim] for piece in pieces)
    offsets = [known(0)]
    for piece in pieces:
        offsets.append(total(offsets[-1], b.size(piece, dim), b))
    size = offsets.pop()
    sizes[dim] = size if size.constant is not None else Number(size.value, room, 0)
    if len(pieces) == 1 or not room:
        value = pieces[0].value if len(pieces) == 1 else _side_by_side(pieces, dim, b)
    elif len(pieces) <= _MOST_CHOSEN:
        value = _chosen(pieces, offsets, dim, b)
    else:
        value = _closed_up(pieces, offsets, dim, b)
    return b.bounded(value, sizes)


def _pieces(tensors: list[Bounded], dim: int, b: BoundBuilder) -> list[Bounded]:
    """Neighbours as one tensor, whose padding along the dimension is at its end alone."""
    groups: list[list[Bounded]] = [[]]
    for tensor in tensors:
        if groups[-1] and groups[-1][-1].sizes[dim] is not None:
            groups.append([])
        groups[-1].append(tensor)
    found: list[Bounded] = []
    for group in groups:
        value, sizes = _side_by_side(group, dim, b), list(group[0].sizes)
        front = known(sum(tensor.shape[dim] for tensor in group[:-1]))
        end = total(front, b.size(group[-1], dim), b)
        found.append(b.bounded(value, [*sizes[:dim], end, *sizes[dim + 1 :]]))
    return found


def _side_by_side(tensors: list[Bounded], dim: int, b: BoundBuilder) -> SSAValue:
    if len(tensors) == 1:
        return tensors[0].value
    return b("cat.default", [tensor.value for tensor in tensors], dim)


def _chosen(pieces: list[Bounded], offsets: list[Number], dim: int, b: BoundBuilder) -> SSAValue:
    """Each position from the piece that has it; of others the nearest element is read instead."""
    room, rank = sum(piece.shape[dim] for piece in pieces), pieces[0].rank
    numbers = b.iota(room)
    found: SSAValue | None = None
    for piece, offset in zip(pieces, offsets, strict=True):
        if not piece.shape[dim]:
            continue
        start, last = b.as_tensor(offset), b("sub.Scalar", b.as_tensor(b.size(piece, dim)), 1)
        here = numbers if found is None else b("sub.Tensor", numbers, start)
        place = b("clamp.default", b("minimum.default", here, last), min=0)
        read = b("index.Tensor", piece.value, [*([None] * dim), place])
        is_here = b.along(b("ge.Tensor", numbers, start), dim, rank)
        found = read if found is None else b.where(is_here, read, found)
    assert found is not None
    return found


def _closed_up(pieces: list[Bounded], offsets: list[Number], dim: int, b: BoundBuilder) -> SSAValue:
    """Pieces joined with their padding, which is closed up then."""
    room = sum(piece.shape[dim] for piece in pieces)
    numbers = b.iota(room)
    places, start = numbers, 0
    for piece, offset in zip(pieces, offsets, strict=True):
        # Position k of the result is in this piece from its offset on.
        here = b("add.Scalar", b("sub.Tensor", numbers, b.as_tensor(offset)), start)
        is_here = b("ge.Tensor", numbers, b.as_tensor(offset))
        places = b.where(is_here, here, places) if start else here
        start += piece.shape[dim]
    places = b("clamp.default", places, 0, room - 1)
    value = _side_by_side(pieces, dim, b)
    return b("index.Tensor", value, [*([None] * dim), places])


def _equal_elsewhere(tensors: list[Bounded], dim: int, b: BoundBuilder) -> list[Bounded]:
    """The same tensors with equal bounds and sizes in all dimensions but `dim`."""
    found = tensors
    for other in range(tensors[0].rank):
        if other == dim or all(t.sizes[other] is None for t in found):
            continue
        fixed = [t.shape[other] for t in found if t.sizes[other] is None]
        if fixed:
            found = [b.static_size(t, other, fixed[0]) for t in found]
            continue
        size = b.size(found[0], other)
        extent = min(t.shape[other] for t in found)
        for t in found[1:]:
            b.require_equal(size, b.size(t, other), f"sizes at dimension {other} differ")
        found = [
            Bounded(
                b.slice(t.value, other, 0, extent),
                (*t.sizes[:other], found[0].sizes[other], *t.sizes[other + 1 :]),
            )
            for t in found
        ]
    return found


@bounds("repeat_interleave.Tensor", "repeat_interleave.self_Tensor")
def repeat_interleave(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Each slice as often as a number says: a running sum has the ends, which places search."""
    values = op.args()
    repeats = b.tensor(values["repeats"])
    key = (op.results[0], 0)
    output = values.get("output_size")
    source: Bounded | None = None
    dim = 0
    if op.overload_name.endswith("self_Tensor"):
        source = b.tensor(values["self"])
        if values["dim"] is None:
            from lamina.lowering.bound_dynamic_shapes.rearranging import reshaped

            source = reshaped(source, [-1], b)
        dim = normalized(values["dim"] or 0, source.rank)
        key = (op.results[0], dim)
        if not repeats.rank or repeats.shape == [1]:
            one = b.reshape(repeats.value, [1])
            wide = b.expand(one, [source.shape[dim]])
            repeats = Bounded(wide, (source.sizes[dim],))
    counts = b.filled(Bounded(b.converted(repeats.value, i64), repeats.sizes), 0)
    if not repeats.shape[0]:
        ends, total = counts, b.constant(0)
    else:
        negative = b("ge.Scalar", b("amin.default", counts, [0]), 0)
        b.require(negative, f"{b.place}a number of repeats is negative")
        ends = b("cumsum.default", counts, 0)
        total = b("select.int", ends, 0, repeats.shape[0] - 1)
    size = _total_size(Number(total, None, 0), output, key, b)
    assert size.most is not None
    bound = size.most
    places = b("searchsorted.Tensor", ends, b.iota(bound), right=True)
    last = max(repeats.shape[0] - 1, 0)
    places = b("clamp.default", places, 0, last)
    if source is None:
        return b.bounded(places, [size])
    value = b("index.Tensor", source.value, [*([None] * dim), places])
    sizes: list[Number | Count] = list(source.sizes)
    sizes[dim] = size
    return b.bounded(value, sizes)


@bounds("repeat_interleave.self_int")
def repeat_each(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Each slice equally often: those of padding stay behind the others."""
    from lamina.lowering.bound_dynamic_shapes.rearranging import reshaped

    source, dim, repeats = b.tensor(op.arg("self")), op.arg("dim"), b.number(op.arg("repeats"))
    if repeats.constant is None:
        raise b.refuse("a number of repeats that depends on data")
    if dim is None:
        source, dim = reshaped(source, [-1], b), 0
    dim = normalized(dim, source.rank)
    value = b("repeat_interleave.self_int", source.value, repeats.constant, dim)
    sizes: list[Number | Count] = list(source.sizes)
    if sizes[dim] is not None:
        sizes[dim] = b.product(b.size(source, dim), repeats)
    return b.bounded(value, sizes)


def _total_size(total: Number, output: Any, key: object, b: BoundBuilder) -> Number:
    """The size of the result: what the program says it is, or the sum under the program's limit."""
    if output is not None:
        size = as_size(b.number(output), b)
        b.require_equal(total, size, "output_size is not the sum of the repeats")
        return size
    limit = b.state.limits.get(key)
    size = as_size(total, b, limit)
    if limit is not None:
        within = b("le.Scalar", b.as_tensor(total), limit)
        b.require(within, f"{b.place}the result has more than {limit} entries")
    return size
