"""Reductions: a combiner over dims, or a few nests one after the other."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, f32, i32, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.identities import identity_value
from lamina.dialects.loop.rounding import is_half
from lamina.dialects.loop.scalar_ops import constant_op
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.monoids import extreme_monoid
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, Map, d, lowers
from lamina.lowering.scalar import compare, select, width_of
from lamina.lowering.tensor_types import element_of, is_certain, normalized, shape_of

COMBINERS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


def _dims(op: SchemaOp) -> list[int]:
    rank = len(shape_of(op.operands[0]))
    dims = op.arg("dims")
    return list(range(rank)) if dims is None else sorted({normalized(x, rank) for x in dims})


def _accumulator(kind: Attribute) -> Attribute:
    return f32 if is_half(kind) else kind


def _narrowed(b: LoopBuilder, value: SSAValue, element: Attribute) -> SSAValue:
    if element_of(value) == element:
        return value
    return b.pointwise([value], element, lambda i, a: scalar.rounded(i, a[0], element))


@lowers(*COMBINERS)
def _reduce(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    name = op.name.partition(".")[2]
    element = element_of(op.results[0])
    wide = _accumulator(element)
    source, dims = op.operands[0], _dims(op)
    if name in ("amax", "amin") and scalar.is_unsigned(element):
        return _unsigned_extreme(b, name, source, dims, element)
    reduced = b.reduce(
        source, dims, COMBINERS[name], wide, lambda i, a: scalar.convert(i, a[0], wide)
    )
    return _narrowed(b, reduced, element)


def _unsigned_extreme(
    b: LoopBuilder, name: str, source: SSAValue, dims: list[int], element: Attribute
) -> SSAValue:
    """Combiners compare signed numbers: bools join by and/or, unsigned ones as i64."""
    if element.width.data == 1:  # pyright: ignore[reportAttributeAccessIssue]
        return b.reduce(source, dims, "or" if name == "amax" else "and", element)
    wide = b.reduce(source, dims, COMBINERS[name], i64, lambda i, a: scalar.convert(i, a[0], i64))
    return _narrowed(b, wide, element)


@lowers("var")
def _var(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """Mean first, then sum(d^2) - sum(d)^2 / n of the distances d from it, which is rounded."""
    element = element_of(op.results[0])
    wide = _accumulator(element)
    source, dims = op.operands[0], _dims(op)
    shape = shape_of(source)
    count = prod(shape[p] for p in dims)
    correction = op.arg("correction")
    divisor = max(0.0, count - (1 if correction is None else correction))
    total = b.reduce(source, dims, "add", wide, lambda i, a: scalar.convert(i, a[0], wide))
    mean = b.pointwise([total], wide, lambda i, a: scalar.divide(i, a[0], i.constant(count, wide)))
    kept: Map = [d(p) for p in range(len(shape)) if p not in dims]

    def distance(inner: Body, args: list[SSAValue]) -> SSAValue:
        return scalar.sub(inner, scalar.convert(inner, args[0], wide), args[1])

    def squared(inner: Body, args: list[SSAValue]) -> SSAValue:
        away = distance(inner, args)
        return scalar.mul(inner, away, away)

    rest = b.reduce(source, dims, "add", wide, distance, extra=[(mean, kept)])
    spread = b.reduce(source, dims, "add", wide, squared, extra=[(mean, kept)])

    def scaled(inner: Body, args: list[SSAValue]) -> SSAValue:
        share = scalar.mul(
            inner, args[1], scalar.divide(inner, args[1], inner.constant(count, wide))
        )
        exact = inner.add(
            arith.MaximumfOp(scalar.sub(inner, args[0], share), inner.constant(0.0, wide))
        )
        value = scalar.divide(inner, exact, inner.constant(divisor, wide))
        return scalar.rounded(inner, value, element)

    return b.pointwise([spread, rest], element, scaled)


@lowers("argmax", "argmin")
def _arg_extreme(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """The extreme value and the least position that holds it, in one walk; NaN is extreme.

    A place that holds NaN counts as a negative one, below all others, with the most extreme value.
    """
    source, dims = op.operands[0], _dims(op)
    largest = op.name == "prims.argmax"
    shape, wide = shape_of(source), _compared(element_of(source))
    place = i32 if is_certain(lambda: prod(shape[p] for p in dims) < 1 << 31) else i64
    most = identity_value("min" if largest else "max", wide)
    lowest = -(1 << width_of(place) - 1)

    def pair(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        value = scalar.convert(inner, args[0], wide)
        flat = inner.constant(0, IndexType())
        for dim in dims:
            flat = inner.add(arith.MuliOp(flat, inner.constant(shape[dim], IndexType())))
            flat = inner.add(arith.AddiOp(flat, inner.index(dim)))
        here = inner.add(arith.IndexCastOp(flat, place))
        if not scalar.is_float(wide):
            return [value, here]
        nan = compare(inner, "ne", value, value)
        first = inner.add(arith.OrIOp(here, inner.constant(lowest, place)))
        extreme = inner.add(constant_op(most))
        return [select(inner, nan, extreme, value), select(inner, nan, first, here)]

    found = b.reduce_together(source, dims, extreme_monoid(wide, place, largest=largest), pair)

    def decoded(inner: Body, args: list[SSAValue]) -> SSAValue:
        at = inner.add(arith.AndIOp(args[0], inner.constant(-1 - lowest, place)))
        return scalar.convert(inner, at, i64)

    return b.pointwise([found[1]], i64, decoded)


def _compared(element: Attribute) -> Attribute:
    """The type in which elements are compared: floats, or integers with sign."""
    if not scalar.is_unsigned(element):
        return _accumulator(element)
    return i32 if width_of(element) < width_of(i32) else i64
