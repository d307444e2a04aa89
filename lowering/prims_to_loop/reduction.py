"""Reductions: a combiner over dims, or a few nests one after the other."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, f32, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.rounding import is_half
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, Map, d, lowers
from lamina.lowering.scalar import compare, select
from lamina.lowering.tensor_types import element_of, normalized, shape_of

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
    """The extreme value first, then the least position that holds it; NaN is extreme."""
    source, dims = op.operands[0], _dims(op)
    name = op.name.partition(".")[2]
    shape = shape_of(source)
    kept: Map = [d(p) for p in range(len(shape)) if p not in dims]
    given = element_of(source)
    wide = i64 if scalar.is_unsigned(given) else _accumulator(given)
    best = b.reduce(
        source,
        dims,
        "max" if name == "argmax" else "min",
        wide,
        lambda i, a: scalar.convert(i, a[0], wide),
    )

    def position(inner: Body, args: list[SSAValue]) -> SSAValue:
        value = scalar.convert(inner, args[0], wide)
        found = compare(inner, "eq", value, args[1])
        if scalar.is_float(wide):
            nan = compare(inner, "ne", value, value)
            found = inner.add(arith.OrIOp(found, nan))
        flat = inner.constant(0, IndexType())
        for dim in dims:
            flat = inner.add(arith.MuliOp(flat, inner.constant(shape[dim], IndexType())))
            flat = inner.add(arith.AddiOp(flat, inner.index(dim)))
        here = inner.add(arith.IndexCastOp(flat, i64))
        return select(inner, found, here, inner.constant((1 << 63) - 1, i64))

    return b.reduce(source, dims, "min", i64, position, extra=[(best, kept)])
