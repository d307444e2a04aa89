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


def joined(tensors: list[Bounded], dim: int, element: Any, b: BoundBuilder) -> Bounded:
    """Padded tensors joined, then padding in between closed up."""
    ready = _equal_elsewhere(tensors, dim, b)
    value = b("cat.default", [b.converted(t.value, element) for t in ready], dim)
    sizes: list[Number | Count] = list(ready[0].sizes)
    if all(t.sizes[dim] is None for t in ready):
        return b.bounded(value, sizes)
    start, offset = 0, known(0)
    places: SSAValue | None = None
    room = sum(t.shape[dim] for t in ready)
    numbers = b.iota(room)
    for tensor in ready:
        # Position k of the result is in this tensor from its offset on.
        here = b("add.Scalar", b("sub.Tensor", numbers, b.as_tensor(offset)), start)
        if places is None:
            places = here
        else:
            places = b.where(b("ge.Tensor", numbers, b.as_tensor(offset)), here, places)
        start += tensor.shape[dim]
        offset = total(offset, b.size(tensor, dim), b)
    assert places is not None
    sizes[dim] = Number(offset.value, room, 0)
    if not room:
        return b.bounded(value, sizes)
    places = b("clamp.default", places, 0, room - 1)
    return b.bounded(b("index.Tensor", value, [*([None] * dim), places]), sizes)


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
