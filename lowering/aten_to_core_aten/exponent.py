"""Powers, shifts and lengths of pairs: float_power, ldexp, hypot, logaddexp2, bitwise shifts."""

from __future__ import annotations

from math import log

from xdsl.dialects.builtin import ComplexType, f64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_complex, shape_of


def _tensor(b: CoreBuilder, op: SchemaOp, name: str) -> SSAValue:
    """The argument in double precision; numbers as 0-d tensors."""
    value = op.arg(name)
    element = element_of(op.results[0])
    return b.cast(value, element) if isinstance(value, SSAValue) else b.full([], value, element)


@lowers("float_power.Tensor_Tensor", "float_power.Tensor_Scalar", "float_power.Scalar")
def float_power(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """pow in double precision."""
    assert element_of(op.results[0]) in (f64, ComplexType(f64))
    return b("pow.Tensor_Tensor", _tensor(b, op, "self"), _tensor(b, op, "exponent"))


@lowers("ldexp.Tensor")
def ldexp(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x 2^y, as torch computes it: the power first."""
    return b("mul.Tensor", op.arg("self"), b("pow.Scalar", 2.0, op.arg("other")))


@lowers("logaddexp2")
def logaddexp2(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """max + log2(1 + 2^-|x - y|); equal infinities give themselves."""
    x, y = (b.cast(op.arg(name), element_of(op.results[0])) for name in ("self", "other"))
    if is_complex(element_of(x)):
        raise b.refuse("of complex numbers", "logaddexp")
    largest = b("maximum", x, y)
    gap = b("neg", b("abs", b("sub.Tensor", x, y)))
    tail = b("div.Scalar", b("log1p", b("pow.Scalar", 2.0, gap)), log(2))
    infinite = b("logical_and", b("isinf", x), b("eq.Tensor", x, y))
    return b("where.self", infinite, x, b("add.Tensor", largest, tail))


@lowers("isin.Tensor_Tensor", "isin.Tensor_Scalar", "isin.Scalar_Tensor")
def isin(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Whether any of the tested elements is equal; every pair is compared."""
    overload = op.overload_name.partition(".")[2]
    if overload == "Tensor_Scalar":
        found = b("eq.Scalar", op.arg("elements"), op.arg("test_element"))
    elif overload == "Scalar_Tensor":
        found = b("any", b("eq.Scalar", op.arg("test_elements"), op.arg("element")))
    else:
        x, tests = op.arg("elements"), op.arg("test_elements")
        count = 1
        for extent in shape_of(tests):
            count *= extent
        pairs = b("eq.Tensor", b("unsqueeze", x, len(shape_of(x))), b.view(tests, [count]))
        found = b("any.dim", pairs, len(shape_of(x)))
    return b("logical_not", found) if op.arg("invert") else found
