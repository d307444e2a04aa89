"""Powers: floats by `math.powf`, integers by squaring and multiplying."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, lowers
from lamina.lowering.scalar import compare, is_float, is_unsigned, mul, select, width_of
from lamina.lowering.tensor_types import element_of
from lamina.passes.loop.canonicalize_loop import splat_value


@lowers("pow")
def _pow(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    base, exponent = op.operands
    element = element_of(base)
    if not is_float(element):
        return _integer(b, base, exponent)

    def body(inner: Body, args: list[SSAValue]) -> SSAValue:
        x, y = (scalar.widen(inner, a) for a in args)
        return scalar.narrow(inner, inner.add(math.PowFOp(x, y)), element)

    return b.pointwise([base, exponent], element, body)


def _integer(b: LoopBuilder, base: SSAValue, exponent: SSAValue) -> SSAValue:
    element = element_of(base)
    constant = splat_value(exponent)
    if isinstance(constant, IntegerAttr) and constant.value.data >= 0:
        number = constant.value.data
        return b.pointwise([base], element, lambda i, a: fixed_power(i, a[0], number))
    return b.pointwise([base, exponent], element, lambda i, a: integer_power(i, *a))


def fixed_power(b: Body, base: SSAValue, exponent: int) -> SSAValue:
    """base ** exponent for a number known now, wrapping."""
    result: SSAValue | None = None
    square = base
    while exponent:
        if exponent & 1:
            result = square if result is None else mul(b, result, square)
        exponent >>= 1
        square = mul(b, square, square) if exponent else square
    return b.constant(1, base.type) if result is None else result


def integer_power(b: Body, base: SSAValue, exponent: SSAValue) -> SSAValue:
    """base ** exponent, wrapping; negative exponents give 0 but for bases 1 and -1, as in torch.

    Square and multiply over every bit of the exponent, unrolled.
    """
    kind = base.type
    zero, one = b.constant(0, kind), b.constant(1, kind)
    result, square, rest = one, base, exponent
    for bit in range(width_of(kind)):
        if bit:
            square = mul(b, square, square)
            rest = b.add(arith.ShRUIOp(rest, one))
        odd = compare(b, "ne", b.add(arith.AndIOp(rest, one)), zero)
        result = select(b, odd, mul(b, result, square), result)
    if is_unsigned(kind):
        return result
    # Bases 1 and -1 need only the lowest bit, which is right for negative exponents too.
    is_one = compare(b, "eq", base, one)
    is_unit = b.add(arith.OrIOp(is_one, compare(b, "eq", base, b.constant(-1, kind))))
    kept = b.add(arith.OrIOp(is_unit, compare(b, "ge", exponent, zero)))
    return select(b, kept, result, zero)
