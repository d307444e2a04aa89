"""Writes at places that the data tell: `loop.scatter`, with the region that joins as its body."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i1, i64
from xdsl.ir import Block, SSAValue

from lamina.dialects.stablehlo.attributes import body_of, fields
from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.prims_to_loop import ordered
from lamina.lowering.prims_to_loop.scatter import joined
from lamina.lowering.prims_to_loop.table import Body, Map, d
from lamina.lowering.scalar import compare, select
from lamina.lowering.stablehlo_to_prims.indexing import as_i64, clamped, index_columns, plus
from lamina.lowering.stablehlo_to_prims.scalar_bodies import scalar_body, yielded
from lamina.lowering.stablehlo_to_prims.table import HloBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_complex, rank_of, shape_of

Joined = Callable[[Body, SSAValue, SSAValue], SSAValue]
"""The element at a place, from the old one and an update."""


def scattered(
    b: HloBuilder, flat: SSAValue, places: SSAValue, values: SSAValue, combiner: str
) -> SSAValue:
    """prims.put along the one dimension of a tensor."""
    return b("put", flat, places, values, 0, combiner)


@lowers("scatter")
def scatter(op: HloOp, b: HloBuilder) -> SSAValue | Sequence[SSAValue]:
    """Windows of updates at places that index vectors tell; those not inside are left out."""
    count = (len(op.operands) - 1) // 2
    block = op.regions[0].block
    if count == 1:
        into, indices, updates = op.operands
        if is_complex(element_of(into)):
            return _of_complex(op, b, block)
        return _scattered(op, b, (into, indices, updates), _joins(block, 0))
    if len(op.operands) != 2 * count + 1 or len(block.args) != 2 * count:
        raise ValueError(f"{len(op.operands)} operands, {len(block.args)} arguments of the region")
    indices = op.operands[count]
    made: list[SSAValue] = []
    for number in range(count):
        into, updates = op.operands[number], op.operands[count + 1 + number]
        if is_complex(element_of(into)) or not _is_alone(block, number):
            raise b.refuse(
                f"of {count} tensors, of which result {number} is complex or takes others",
                "a scatter of each",
            )
        made.append(_scattered(op, b, (into, indices, updates), _joins(block, number)))
    return made


def _joins(block: Block, number: int) -> Joined:
    """What the region gives for one tensor, which takes the elements of that alone."""
    count = len(block.args) // 2
    result = yielded(block)[number]

    def join(inner: Body, old: SSAValue, new: SSAValue) -> SSAValue:
        return scalar_body(inner, block, [old] * count + [new] * count, wanted=[result])[0]

    return join


def _is_alone(block: Block, number: int) -> bool:
    """Whether a result of the region takes no elements but those of the tensor of its number."""
    count = len(block.args) // 2
    read = {yielded(block)[number]}
    for op in reversed(list(block.ops)[:-1]):
        if any(result in read for result in op.results):
            read.update(op.operands)
    return {arg.index % count for arg in block.args if arg in read} <= {number}


def _of_complex(op: HloOp, b: HloBuilder, block: Block) -> SSAValue:
    """Parts join by themselves if they are stored or added."""
    into, indices, updates = op.operands
    ops, end = list(block.ops)[:-1], block.last_op
    stores = end is not None and not ops and list(end.operands) == [block.args[1]]
    adds = len(ops) == 1 and ops[0].name == "stablehlo.add"
    if not (stores or adds):
        raise b.refuse("joins complex numbers", "a sum, or the update itself")

    def join(inner: Body, old: SSAValue, new: SSAValue) -> SSAValue:
        return joined(inner, "store" if stores else "add", old, new)

    parts = [
        _scattered(op, b, (b(part, into), indices, b(part, updates)), join)
        for part in ("real", "imag")
    ]
    return b("complex", *parts)


def _scattered(
    op: HloOp, b: HloBuilder, given: tuple[SSAValue, SSAValue, SSAValue], joins: Joined
) -> SSAValue:
    into, indices, updates = given
    numbers = fields(body_of(op.attr("scatter_dimension_numbers")))
    shape, domain = shape_of(into), shape_of(updates)
    if 0 in domain or 0 in shape:
        return into
    windows = numbers.get("update_window_dims", [])
    batching = numbers.get("input_batching_dims", [])
    index_batching = numbers.get("scatter_indices_batching_dims", [])
    inserted = [*numbers.get("inserted_window_dims", []), *batching]
    started = numbers.get("scatter_dims_to_operand_dims", [])
    vector_dim = numbers.get("index_vector_dim", [0])[0]
    windowed = [dim for dim in range(len(shape)) if dim not in inserted]
    columns = index_columns(b, indices, vector_dim)
    if len(columns) != len(started) or len(windowed) != len(windows):
        raise ValueError(f"scatter_dims_to_operand_dims {started}, update_window_dims {windows}")
    batch = [dim for dim in range(len(domain)) if dim not in windows]
    sizes = [1] * len(shape)
    for dim, window in zip(windowed, windows, strict=True):
        sizes[dim] = domain[window]
    index_dims = [dim for dim in range(rank_of(indices)) if dim != vector_dim]
    where: Map = [d(dim) for dim in batch]
    reads: list[tuple[SSAValue, Map]] = [(column, where) for column in columns]

    def body(inner: Body, args: list[SSAValue], old: SSAValue) -> tuple[list[SSAValue], SSAValue]:
        *starts, new = args
        places = [inner.constant(0, IndexType())] * len(shape)
        inside: SSAValue = inner.constant(1, i1)
        for dim, start in zip(started, starts, strict=True):
            most = shape[dim] - sizes[dim]
            at = as_i64(inner, start)
            fits = inner.add(
                arith.AndIOp(
                    compare(inner, "ge", at, inner.constant(0, i64)),
                    compare(inner, "le", at, inner.constant(most, i64)),
                )
            )
            inside = inner.add(arith.AndIOp(inside, fits))
            places[dim] = clamped(inner, start, max(most, 0))
        for dim, own in zip(batching, index_batching, strict=True):
            places[dim] = inner.index(batch[index_dims.index(own)])
        for dim, window in zip(windowed, windows, strict=True):
            if sizes[dim] > 1:
                places[dim] = plus(inner, places[dim], inner.index(window))
        return places, select(inner, inside, joins(inner, old, new), old)

    return ordered.scatter(b.loop_of_parts, domain, [*reads, (updates, None)], into, body)


@lowers("dynamic_update_slice")
def dynamic_update_slice(op: HloOp, b: HloBuilder) -> SSAValue:
    """A copy with an update at a place that is moved so that it is inside."""
    into, update, *starts = op.operands
    if is_complex(element_of(into)):
        parts = [_updated(b, b(part, into), b(part, update), starts) for part in ("real", "imag")]
        return b("complex", *parts)
    return _updated(b, into, update, starts)


def _updated(
    b: HloBuilder, into: SSAValue, update: SSAValue, starts: Sequence[SSAValue]
) -> SSAValue:
    shape, domain = shape_of(into), shape_of(update)
    if not len(starts) == len(shape) == len(domain):
        raise ValueError(f"{len(starts)} places for {shape}")
    if any(size > extent for size, extent in zip(domain, shape, strict=True)):
        raise ValueError(f"an update of {domain} in {shape}")
    if 0 in domain:
        return into
    if not shape:
        return update

    def body(inner: Body, args: list[SSAValue], old: SSAValue) -> tuple[list[SSAValue], SSAValue]:
        *given, new = args
        places = [
            plus(inner, clamped(inner, start, shape[dim] - domain[dim]), inner.index(dim))
            for dim, start in enumerate(given)
        ]
        return places, new

    reads: list[tuple[SSAValue, Map]] = [(start, []) for start in starts]
    return ordered.scatter(b.loop_of_parts, domain, [*reads, (update, None)], into, body)
