"""Sums, products, quotients, comparison, choice and conversion of complex numbers."""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.split_complex.table import ComplexBuilder, Parts, splits
from lamina.lowering.tensor_types import element_of, is_complex, part_type, shape_of


@splits("add", "sub")
def add(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """Part by part."""
    name = op.name.removeprefix("prims.")
    (x, y), (u, v) = b.parts(op.operands[0]), b.parts(op.operands[1])
    return b(name, x, u), b(name, y, v)


@splits("neg")
def neg(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """Part by part."""
    x, y = b.parts(op.operands[0])
    return b("neg", x), b("neg", y)


@splits("conj", "conj_physical")
def conj(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """x - iy."""
    x, y = b.parts(op.operands[0])
    return x, b("neg", y)


def product(b: ComplexBuilder, left: Parts, right: Parts) -> Parts:
    """(x + iy)(u + iv) by four products, as torch does it."""
    (x, y), (u, v) = left, right
    real = b.sub(b.mul(x, u), b.mul(y, v))
    return real, b.add(b.mul(x, v), b.mul(y, u))


@splits("mul")
def mul(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """See `product`."""
    return product(b, b.parts(op.operands[0]), b.parts(op.operands[1]))


def quotient(b: ComplexBuilder, left: Parts, right: Parts) -> Parts:
    """Smith's method (Communications of the ACM 5, 1962): no overflow in |divisor| squared.

    Both parts are divided by zero where the divisor is zero.
    """
    (x, y), (u, v) = left, right
    wide = b.test("ge", b("abs", u), b("abs", v))
    # With the larger part of the divisor as `large`: (p + q * ratio) / (large + small * ratio).
    large, small = b.where(wide, u, v), b.where(wide, v, u)
    ratio = b.div(small, large)
    scale = b.add(large, b.mul(small, ratio))
    p, q = b.where(wide, x, y), b.where(wide, y, x)
    real = b.div(b.add(p, b.mul(q, ratio)), scale)
    turned = b.div(b.sub(q, b.mul(p, ratio)), scale)
    imag = b.where(wide, turned, b("neg", turned))
    zero = b.test("eq", large, 0.0)
    nothing = b("abs", large)
    return b.where(zero, b.div(x, nothing), real), b.where(zero, b.div(y, nothing), imag)


@splits("div")
def div(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """See `quotient`."""
    return quotient(b, b.parts(op.operands[0]), b.parts(op.operands[1]))


def reciprocal(b: ComplexBuilder, z: Parts) -> Parts:
    """1 / z."""
    return quotient(b, (b.like(z[0], 1), b.like(z[0], 0)), z)


@splits("reciprocal")
def _reciprocal(op: SchemaOp, b: ComplexBuilder) -> Parts:
    return reciprocal(b, b.parts(op.operands[0]))


@splits("abs")
def absolute(op: SchemaOp, b: ComplexBuilder) -> SSAValue:
    """sqrt(x^2 + y^2), without overflow."""
    return b("hypot", *b.parts(op.operands[0]))


@splits("sign")
def sign(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """z / |z|, and 0 for 0: torch's sgn."""
    x, y = b.parts(op.operands[0])
    size = b("hypot", x, y)
    nothing = b.test("eq", size, 0.0)
    zero = b.like(x, 0)
    return b.where(nothing, zero, b.div(x, size)), b.where(nothing, zero, b.div(y, size))


@splits("eq", "ne")
def equal(op: SchemaOp, b: ComplexBuilder) -> SSAValue:
    """Both parts equal, or one of them not."""
    (x, y), (u, v) = b.parts(op.operands[0]), b.parts(op.operands[1])
    name = op.name.removeprefix("prims.")
    join = "bitwise_and" if name == "eq" else "bitwise_or"
    return b(join, b(name, x, u), b(name, y, v))


@splits("isfinite")
def isfinite(op: SchemaOp, b: ComplexBuilder) -> SSAValue:
    """Both parts are."""
    x, y = b.parts(op.operands[0])
    return b("bitwise_and", b("isfinite", x), b("isfinite", y))


@splits("where")
def where(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """Part by part."""
    (x, y), (u, v) = b.parts(op.operands[1]), b.parts(op.operands[2])
    return b.where(op.operands[0], x, u), b.where(op.operands[0], y, v)


@splits("convert_element_type")
def convert(op: SchemaOp, b: ComplexBuilder) -> Parts | SSAValue:
    """A real number has no imaginary part; a complex one loses it, but counts for a bool."""
    source, element = op.operands[0], element_of(op.results[0])
    kind = part_type(element)
    if not is_complex(element_of(source)):
        return b.convert(source, kind), b.full(shape_of(source), 0, kind)
    x, y = b.parts(source)
    if is_complex(element):
        return b.convert(x, kind), b.convert(y, kind)
    if element == i1:
        return b("bitwise_or", b.convert(x, i1), b.convert(y, i1))
    return b.convert(x, kind)
