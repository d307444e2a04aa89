"""Complex numbers: parts, sizes, angles. Core takes tensors apart and together by views."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_complex, is_float, is_integer, shape_of


def part(b: CoreBuilder, z: SSAValue, place: int) -> SSAValue:
    """The real part (0) or the imaginary one (1)."""
    return b("select.int", b("view_as_real", z), -1, place)


def real_part(b: CoreBuilder, x: SSAValue) -> SSAValue:
    """The real part of complex numbers; real tensors as they are."""
    return part(b, x, 0) if is_complex(element_of(x)) else x


def joined(b: CoreBuilder, real: SSAValue, imag: SSAValue) -> SSAValue:
    """The complex tensor with these parts."""
    pairs = [b("unsqueeze", x, -1) for x in (real, imag)]
    return b("view_as_complex", b("cat", pairs, -1))


def conjugate(b: CoreBuilder, z: SSAValue) -> SSAValue:
    """x - iy; real tensors as they are."""
    if not is_complex(element_of(z)):
        return z
    return joined(b, part(b, z, 0), b("neg", part(b, z, 1)))


@lowers("real", "imag")
def real(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """One part; a real tensor is its own real part."""
    x = op.operands[0]
    if not is_complex(element_of(x)):
        return x
    return part(b, x, 1 if op.overload_name.startswith("imag") else 0)


@lowers("complex")
def complex_(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """real + i imag, both broadcast."""
    shape = shape_of(op.results[0])
    return joined(b, b.expand(op.arg("real"), shape), b.expand(op.arg("imag"), shape))


@lowers("polar")
def polar(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """abs (cos angle + i sin angle)."""
    shape = shape_of(op.results[0])
    size, angle = b.expand(op.arg("abs"), shape), b.expand(op.arg("angle"), shape)
    return joined(b, b("mul.Tensor", size, b("cos", angle)), b("mul.Tensor", size, b("sin", angle)))


@lowers("_conj", "conj", "conj_physical", "_conj_physical", "_conj_copy")
def conj(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x - iy."""
    return conjugate(b, op.operands[0])


@lowers("adjoint", "matrix_H", "mH")
def adjoint(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The conjugate of the transposed matrix."""
    return conjugate(b, b.swap(op.operands[0], -2, -1))


@lowers("vdot")
def vdot(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Sum of conj(x) * y."""
    x, y = conjugate(b, op.operands[0]), op.operands[1]
    element = element_of(x)
    dtype = element if is_integer(element) else None  # else the sum is of i64
    return b("sum.dim_IntList", b("mul.Tensor", x, y), [0], dtype=dtype)


@lowers("angle")
def angle(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The direction from 0; for real numbers 0 or pi, NaN for NaN."""
    x = op.operands[0]
    if is_complex(element_of(x)):
        return b("atan2", part(b, x, 1), part(b, x, 0))
    element, shape = element_of(op.results[0]), shape_of(x)
    negative = b("lt.Scalar", x, 0)
    made = b("where.self", negative, b.full(shape, math.pi, element), b.full(shape, 0.0, element))
    return b("where.self", b("isnan", x), x, made) if is_float(element_of(x)) else made


@lowers("sgn")
def sgn(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """z / |z|, and 0 for 0."""
    z = op.operands[0]
    if not is_complex(element_of(z)):
        return b("sign", z)
    size = b("abs", z)
    nothing = b.full(shape_of(z), 0, element_of(z))
    unit = b("div.Tensor", z, b.cast(size, element_of(z)))
    return b("where.self", b("eq.Scalar", size, 0), nothing, unit)


@lowers("logaddexp")
def logaddexp(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """max + log1p(exp(-|x - y|)); equal infinities give themselves.

    Of complex numbers the one with the larger real part is the maximum.
    """
    x, y = (b.cast(op.arg(name), element_of(op.results[0])) for name in ("self", "other"))
    if is_complex(element_of(x)):
        shape = shape_of(op.results[0])
        x, y = b.expand(x, shape), b.expand(y, shape)
        first = b("ge.Tensor", part(b, x, 0), part(b, y, 0))
        best, least = b("where.self", first, x, y), b("where.self", first, y, x)
        tail = b("log", b("add.Scalar", b("exp", b("sub.Tensor", least, best)), 1))
        return b("add.Tensor", best, tail)
    best = b("maximum", x, y)
    tail = b("log1p", b("exp", b("neg", b("abs", b("sub.Tensor", x, y)))))
    same = b("logical_and", b("eq.Tensor", x, y), b("isinf", x))
    return b("where.self", same, x, b("add.Tensor", best, tail))


@lowers("isreal")
def isreal(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Whether the imaginary part is 0."""
    z = op.operands[0]
    if not is_complex(element_of(z)):
        return b("full", shape_of(z), True, dtype=element_of(op.results[0]))
    return b("eq.Scalar", part(b, z, 1), 0)
