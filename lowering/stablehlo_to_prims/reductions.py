"""Reductions: by the primitive of a combiner, or by a monoid of several values."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, f32, i1
from xdsl.ir import Attribute, Block, Region, SSAValue

from lamina.dialects.loop import YieldOp
from lamina.dialects.loop.monoid import COMBINE, Monoid
from lamina.dialects.loop.rounding import is_half
from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, Map, d
from lamina.lowering.scalar import NotDefinedError, is_unsigned, number, width_of
from lamina.lowering.stablehlo_to_prims.scalar_bodies import one_op, scalar_body
from lamina.lowering.stablehlo_to_prims.shapes import scalar_number
from lamina.lowering.stablehlo_to_prims.table import (
    HloBuilder,
    lowers,
    result_element,
    result_shape,
    scalar_constant,
)
from lamina.lowering.tensor_types import element_of, is_complex, is_float, shape_of

PRIMITIVE = {"add": "sum", "multiply": "prod", "maximum": "amax", "minimum": "amin"}
"""Primitives that reduce as an op of two numbers combines."""

JOIN = {
    "add": "add",
    "multiply": "mul",
    "maximum": "maximum",
    "minimum": "minimum",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
"""Primitives of two operands."""


def combiner_of(block: Block) -> str | None:
    """The op that a region combines by, on bools by name of what it does; None for another."""
    name = one_op(block)
    if name not in JOIN:
        return None
    if element_of(block.args[0]) == i1:
        return {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}.get(name, name)
    return name


def identity_number(combiner: str, element: Attribute) -> float | None:
    """What a combiner ignores; None if there is nothing that fits its type."""
    if combiner in ("add", "or", "xor"):
        return 0
    if combiner == "multiply":
        return 1
    if combiner == "and":
        return -1
    if is_float(element):
        return -inf if combiner == "maximum" else inf
    if not isinstance(element, IntegerType):
        return None
    width, signed = width_of(element), not is_unsigned(element)
    if combiner == "maximum":
        return -(1 << width - 1) if signed else 0
    return (1 << (width - 1 if signed else width)) - 1


def joined_start(
    b: HloBuilder, combiner: str, made: SSAValue, start: SSAValue, element: Attribute
) -> SSAValue:
    """A reduction with its start, unless that is what the combiner ignores."""
    given, ignored = scalar_number(start), identity_number(combiner, element)
    same = bool if element == i1 else float
    if given is not None and ignored is not None and same(given) == same(ignored):
        return made
    name = JOIN[combiner]
    return b(name, made, b.splat(start, shape_of(made)))


@lowers("reduce")
def reduce_(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    """Several values at once are a monoid, whose identities are the starts."""
    count = len(op.operands) // 2
    dims, shape = op.ints("dimensions"), shape_of(op.operands[0])
    if not all(0 <= dim < len(shape) for dim in dims):
        raise ValueError(f"dimensions {dims} of {shape}")
    if not dims:
        return list(op.operands[:count])
    block = op.regions[0].block
    combiner = combiner_of(block) if count == 1 else None
    x = op.operands[0]
    element = element_of(x)
    if combiner is not None and element_of(op.operands[1]) == element == result_element(op):
        made = _by_combiner(b, combiner, x, dims)
        return [joined_start(b, combiner, made, op.operands[1], element)]
    return _by_monoid(op, b, block, dims)


def _by_combiner(b: HloBuilder, combiner: str, x: SSAValue, dims: list[int]) -> SSAValue:
    element = element_of(x)
    if combiner in PRIMITIVE:
        return b(PRIMITIVE[combiner], x, dims)
    if combiner == "xor" and element != i1:
        return b("xor_sum", x, dims)
    if combiner == "xor":
        odd = b("xor_sum", b.convert(x, IntegerType(8)), dims)
        return b.with_number("ne", odd, 0)
    if element == i1:
        return b("amax" if combiner == "or" else "amin", x, dims)
    signless = IntegerType(width_of(element))  # as combiners of bits want them
    made = b.loop.reduce(b.convert(x, signless), dims, combiner, signless)
    return b.convert(made, element)


def identities(op: HloOp, b: HloBuilder, starts: Sequence[SSAValue]) -> list[Attribute]:
    """The starts of a reduction as numbers. Raises UnsupportedError for those that are computed."""
    found: list[Attribute] = []
    for start in starts:
        literal = scalar_constant(start)
        if not isinstance(literal, DenseIntOrFPElementsAttr) or is_complex(element_of(start)):
            raise b.refuse(
                "starts from a value that is computed, by a region of its own",
                "a start that is a literal, or a region of one op",
            )
        first = next(iter(literal.iter_values()))
        assert not isinstance(first, tuple)
        found.append(number(first, wide_type(element_of(start))))
    return found


def wide_type(element: Attribute) -> Attribute:
    """The type in which elements are combined."""
    return f32 if is_half(element) else element


def make_monoid(op: HloOp, b: HloBuilder, block: Block, starts: Sequence[SSAValue]) -> Monoid:
    """A region and its starts as a monoid. Half floats come in f32 and are rounded in it."""
    kinds = [wide_type(element_of(start)) for start in starts]
    made = Block(arg_types=[*kinds, *kinds])
    inner = Body(made)
    types = [element_of(argument) for argument in block.args]
    try:
        args = [
            scalar.rounded(inner, value, kind) if value.type != kind else value
            for value, kind in zip(made.args, types, strict=True)
        ]
        results = [scalar.widen(inner, value) for value in scalar_body(inner, block, args)]
    except NotDefinedError as error:
        raise b.refuse(str(error)) from None
    made.add_op(YieldOp(results))
    return Monoid(tuple(identities(op, b, starts)), Region(made))


def _by_monoid(op: HloOp, b: HloBuilder, block: Block, dims: list[int]) -> list[SSAValue]:
    count = len(op.operands) // 2
    values, starts = op.operands[:count], op.operands[count:]
    monoid = make_monoid(op, b, block, starts)
    shape = shape_of(values[0])
    kept = [p for p in range(len(shape)) if p not in dims]
    into: Map = [d(p) for p in kept]
    kinds = [value.type for value in monoid.yielded]
    writes = [(into, COMBINE, [shape[p] for p in kept], kind) for kind in kinds]

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        return [scalar.widen(inner, value) for value in args]

    reads: list[tuple[SSAValue, Map]] = [(value, None) for value in values]
    made = b.loop.generic(shape, reads, writes, body, monoids=[monoid])
    return narrowed(op, b, list(made.res))


def narrowed(op: HloOp, b: HloBuilder, made: Sequence[SSAValue]) -> list[SSAValue]:
    """Results in the types that the op says."""
    return [b.implicitly(value, result_element(op, place)) for place, value in enumerate(made)]


@lowers("map")
def map_(op: HloOp, b: HloBuilder) -> SSAValue:
    """A region of scalars for each element."""
    block = op.regions[0].block

    def body(inner: Body, args: list[SSAValue]) -> SSAValue:
        return scalar_body(inner, block, args)[0]

    shape = result_shape(op)
    return b.loop.pointwise(list(op.operands), result_element(op), body, shape)
