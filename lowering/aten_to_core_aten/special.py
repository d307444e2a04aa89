"""Special functions that others express."""

from __future__ import annotations

from math import log, pi, sqrt

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from lamina.dialects.elementwise import ROWS
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of

SHIFTED = ("t", "u", "v", "w")
"""Chebyshev polynomials that also exist with the argument 2 x - 1."""

POLYNOMIALS = tuple(row.aten for row in ROWS if row.vector == "orthogonal_polynomials")
"""Packets of functions of an argument `x` and a degree `n`."""


def _operand(op: SchemaOp, b: CoreBuilder, name: str) -> SSAValue:
    """A tensor or number in the result's dtype."""
    value, element = op.arg(name), element_of(op.results[0])
    return b.cast(value, element) if isinstance(value, SSAValue) else b.full([], value, element)


@lowers(*(f"{name}.{side}_scalar" for name in POLYNOMIALS for side in "xn"))
def polynomial_of_number(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The number as a tensor."""
    return b(op.overload_name.partition(".")[0], _operand(op, b, "x"), _operand(op, b, "n"))


@lowers(
    *(
        f"special_shifted_chebyshev_polynomial_{kind}{overload}"
        for kind in SHIFTED
        for overload in ("", ".x_scalar", ".n_scalar")
    )
)
def shifted_polynomial(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The polynomial at 2 x - 1."""
    x, n = _operand(op, b, "x"), _operand(op, b, "n")
    name = op.overload_name.partition(".")[0].replace("shifted_", "")
    return b(name, b("sub.Scalar", b("add.Tensor", x, x), 1), n)


@lowers("special_zeta.self_scalar", "special_zeta.other_scalar")
def zeta_of_number(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The number as a tensor."""
    return b("special_zeta", _operand(op, b, "self"), _operand(op, b, "other"))


@lowers("special_xlog1py", "special_xlog1py.self_scalar", "special_xlog1py.other_scalar")
def xlog1py(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x log1p(y), but 0 where x is 0 and y is no NaN."""
    x, y = _operand(op, b, "self"), _operand(op, b, "other")
    return _unless_zero(b, x, y, b("mul.Tensor", x, b("log1p", y)))


@lowers(
    "special_xlogy",
    "special_xlogy.self_scalar",
    "special_xlogy.other_scalar",
    "xlogy.Scalar_Self",
    "xlogy.Scalar_Other",
)
def xlogy(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x log(y), but 0 where x is 0 and y is no NaN."""
    x, y = _operand(op, b, "self"), _operand(op, b, "other")
    return _unless_zero(b, x, y, b("mul.Tensor", x, b("log", y)))


def _unless_zero(b: CoreBuilder, x: SSAValue, y: SSAValue, product: SSAValue) -> SSAValue:
    zero = b("logical_and", b("eq.Scalar", x, 0), b("logical_not", b("isnan", y)))
    return b("where.self", zero, b.full([], 0.0, element_of(product)), product)


@lowers("special_entr")
def entr(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """-x ln x; 0 at 0, -inf below."""
    x = _operand(op, b, "self")
    element = element_of(x)
    value = b("neg", b("mul.Tensor", x, b("log", x)))
    value = b("where.self", b("eq.Scalar", x, 0), b.full([], 0.0, element), value)
    return b("where.self", b("lt.Scalar", x, 0), b.full([], -float("inf"), element), value)


@lowers("special_ndtr")
def ndtr(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """erfc(-x / sqrt 2) / 2."""
    x = _operand(op, b, "self")
    return b("mul.Scalar", b("erfc", b("mul.Scalar", x, -sqrt(0.5))), 0.5)


@lowers("special_log_ndtr")
def log_ndtr(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """ln ndtr(x); below -1 by erfcx, where ndtr itself vanishes."""
    x = _operand(op, b, "self")
    t = b("mul.Scalar", x, sqrt(0.5))
    scaled = b("mul.Scalar", b("special_erfcx", b("neg", t)), 0.5)
    low = b("sub.Tensor", b("log", scaled), b("mul.Tensor", t, t))
    high = b("log1p", b("mul.Scalar", b("erfc", t), -0.5))
    return b("where.self", b("lt.Scalar", x, -1), low, high)


@lowers("mvlgamma", "special_multigammaln")
def mvlgamma(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """p (p - 1) / 4 ln pi + sum of lgamma(x - i / 2), i < p (DLMF 35.3.4)."""
    x, p = _operand(op, b, "self"), op.arg("p")
    if p < 1:
        raise b.refuse(f"p = {p}: the dimension is at least 1")
    total = b("lgamma", x)
    for i in range(1, p):
        total = b("add.Tensor", total, b("lgamma", b("add.Scalar", x, -i / 2)))
    return b("add.Scalar", total, p * (p - 1) / 4 * log(pi))


@lowers("polygamma", "special_polygamma")
def polygamma(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """(-1)^(n + 1) n! zeta(n + 1, x) (DLMF 25.11.12); digamma for n = 0.

    For n = 1 torch reflects x below 1/2, and the sine of a rounded multiple of pi is not 0: its
    poles are large numbers, here as well.
    """
    x, n = _operand(op, b, "self"), op.arg("n")
    if n < 0:
        raise b.refuse(f"n = {n}: the order is at least 0")
    if n == 0:
        return b("digamma", x)
    element = element_of(x)
    value = b("special_zeta", b.full([], float(n + 1), element), x)
    if n == 1:
        pole = b("logical_and", b("le.Scalar", x, 0), b("eq.Tensor", x, b("floor", x)))
        ratio = b("mul.Scalar", b("reciprocal", b("sin", b("mul.Scalar", x, pi))), pi)
        return b("where.self", pole, b("mul.Tensor", ratio, ratio), value)
    factorial = b("exp", b("lgamma", b.full([], float(n + 1), element)))
    value = b("mul.Tensor", value, factorial)
    return value if n % 2 else b("neg", value)


@lowers("lcm")
def lcm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """|x / gcd(x, y) * y|, 0 for zeros; narrow integers wrap at the end, as C computes in int."""
    element = element_of(op.results[0])
    wide = i32 if str(element) in ("i8", "i16", "ui8") else element
    x, y = (b.cast(op.arg(name), wide) for name in ("self", "other"))
    divisor = b("gcd", x, y)
    none = b("eq.Scalar", divisor, 0)
    safe = b("where.self", none, b.full([], 1, element_of(x)), divisor)
    quotient = b("div.Tensor_mode", x, safe, rounding_mode="trunc")
    return b.cast(b("abs", b("mul.Tensor", quotient, y)), element)
