"""Writes at places given by index tensors."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.ordered import scatter
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, Map, d, lowers
from lamina.lowering.tensor_types import element_of, normalized, shape_of

Joined = Callable[[Body, SSAValue, SSAValue], SSAValue]

NUMBERS: dict[str, Joined] = {
    "add": scalar.add,
    "mul": scalar.mul,
    "max": scalar.maximum,
    "min": scalar.minimum,
}
BOOLS: dict[str, Joined] = {
    "add": scalar.bitwise_or,
    "mul": scalar.bitwise_and,
    "max": scalar.bitwise_or,
    "min": scalar.bitwise_and,
}
COMBINERS = ("store", *NUMBERS)
"""How a value joins the element at its place."""


def joined(b: Body, combiner: str, old: SSAValue, value: SSAValue) -> SSAValue:
    """The element after a value has come to its place. Half floats are rounded each time."""
    kind = old.type
    if combiner == "store":
        return value
    table = BOOLS if kind == i1 else NUMBERS
    made = table[combiner](b, scalar.widen(b, old), scalar.widen(b, value))
    if made.type == kind:
        return made
    return b.add(arith.TruncFOp(made, kind))  # pyright: ignore[reportArgumentType]


def _combiner(op: SchemaOp, b: LoopBuilder) -> str:
    name = op.arg("combiner")
    if name not in COMBINERS:
        raise b.refuse(f"no scatter with combiner '{name}'", ", ".join(COMBINERS))
    return name


@lowers("put")
def _put(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """a[i, index[j], k] joined by values[i, j, k]; an index outside the dimension is an error."""
    into, index, values = op.operands
    combiner, positions = _combiner(op, b), len(shape_of(index))
    rank = len(shape_of(into))
    dim = normalized(op.arg("dim"), rank)

    def body(inner: Body, args: list[SSAValue], old: SSAValue) -> tuple[list[SSAValue], SSAValue]:
        places = [inner.index(p) for p in range(dim)]
        places.append(inner.as_index(args[0]))
        places += [inner.index(dim + positions + p) for p in range(rank - dim - 1)]
        return places, joined(inner, combiner, old, args[1])

    where: Map = [d(dim + p) for p in range(positions)]
    return scatter(b, shape_of(values), [(index, where), (values, None)], into, body)


@lowers("scatter")
def _scatter(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """a[i with `dim` replaced by index[i]] joined by values[i]."""
    into, index, values = op.operands
    combiner = _combiner(op, b)
    rank = len(shape_of(into))
    dim = normalized(op.arg("dim"), rank)

    def body(inner: Body, args: list[SSAValue], old: SSAValue) -> tuple[list[SSAValue], SSAValue]:
        at = inner.as_index(args[0])
        places = [at if p == dim else inner.index(p) for p in range(rank)]
        return places, joined(inner, combiner, old, args[1])

    return scatter(b, shape_of(index), [(index, None), (values, None)], into, body)


@lowers("as_strided_scatter")
def _as_strided_scatter(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """The source at offset + sum of index * stride of the row-major tensor."""
    into, source = op.operands
    strides, offset = op.arg("stride"), op.arg("storage_offset")

    def body(inner: Body, args: list[SSAValue], old: SSAValue) -> tuple[list[SSAValue], SSAValue]:
        place = inner.constant(offset, IndexType())
        for axis, stride in enumerate(strides):
            step = inner.add(arith.MuliOp(inner.index(axis), inner.constant(stride, IndexType())))
            place = inner.add(arith.AddiOp(place, step))
        return [place], args[0]

    flat = b.reshape(into, [prod(shape_of(into))])
    made = scatter(b, shape_of(source), [(source, None)], flat, body)
    return b.reshape(made, shape_of(into))


@lowers("xor_sum")
def _xor_sum(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """Every element joins the place that its kept indices name."""
    source, shape = op.operands[0], shape_of(op.operands[0])
    given = op.arg("dims")
    dims = range(len(shape)) if given is None else [normalized(p, len(shape)) for p in given]
    kept = [p for p in range(len(shape)) if p not in dims]
    element = element_of(op.results[0])
    start = b.pointwise([], element, lambda i, _: i.constant(0, element), shape_of(op.results[0]))

    def body(inner: Body, args: list[SSAValue], old: SSAValue) -> tuple[list[SSAValue], SSAValue]:
        return [inner.index(p) for p in kept], scalar.bitwise_xor(inner, old, args[0])

    return scatter(b, shape, [(source, None)], start, body)
