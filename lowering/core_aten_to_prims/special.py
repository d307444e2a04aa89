"""Special functions: one primitive each, on operands in the result's dtype and shape."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.pointwise import operands
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers

UNARY = {
    "digamma": "digamma",
    "erfc": "erfc",
    "erfinv": "erf_inv",
    "i0": "bessel_i0",
    "lgamma": "lgamma",
    "special_airy_ai": "airy_ai",
    "special_bessel_j0": "bessel_j0",
    "special_bessel_j1": "bessel_j1",
    "special_bessel_y0": "bessel_y0",
    "special_bessel_y1": "bessel_y1",
    "special_erfcx": "erfcx",
    "special_i0e": "bessel_i0e",
    "special_i1": "bessel_i1",
    "special_i1e": "bessel_i1e",
    "special_modified_bessel_k0": "modified_bessel_k0",
    "special_modified_bessel_k1": "modified_bessel_k1",
    "special_ndtri": "ndtri",
    "special_scaled_modified_bessel_k0": "scaled_modified_bessel_k0",
    "special_scaled_modified_bessel_k1": "scaled_modified_bessel_k1",
    "special_spherical_bessel_j0": "spherical_bessel_j0",
}
"""Core op -> primitive, of one operand."""

BINARY = ("gcd", "igamma", "igammac", "nextafter")

POLYNOMIALS = (
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
)
"""Of an argument and a degree."""


@lowers(*UNARY)
def unary(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The function's primitive."""
    name = op.schema.args[0].name
    (x,) = operands(op, b, name)
    return b(UNARY[op.overload_name.removesuffix(".default")], x)


@lowers(*BINARY, "special_zeta")
def binary(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The primitive of the same name."""
    name = op.overload_name.removesuffix(".default").removeprefix("special_")
    return b(name, *operands(op, b, "self", "other"))


@lowers(*(f"special_{name}" for name in POLYNOMIALS))
def polynomial(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The primitive of the same name."""
    name = op.overload_name.removesuffix(".default").removeprefix("special_")
    return b(name, *operands(op, b, "x", "n"))


@lowers("frexp.Tensor")
def frexp(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """prims.frexp."""
    return list(b.op("frexp", op.arg("self")).results)
