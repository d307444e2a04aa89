"""Special functions, and what takes floats apart."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float64Type, IntegerType, i32
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.elementwise import PRIMITIVES, SPECIAL_OP
from lamina.dialects.loop.special import SpecialOp
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, lowers
from lamina.lowering.scalar import compare, is_float, is_unsigned, select
from lamina.lowering.tensor_types import element_of, shape_of


@lowers(*(row.name for row in PRIMITIVES.values() if row.loop == SPECIAL_OP and not row.integer))
def _special(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    name, element = op.name.partition(".")[2], element_of(op.results[0])
    if not is_float(element):
        raise b.refuse("takes floating-point tensors", "prims.convert_element_type before it")

    def body(inner: Body, args: list[SSAValue]) -> SSAValue:
        wide = [scalar.widen(inner, a) for a in args]
        return scalar.narrow(inner, inner.add(SpecialOp(name, wide)), element)

    return b.pointwise(list(op.operands), element, body)


@lowers("gcd")
def _gcd(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    element = element_of(op.results[0])
    if not isinstance(element, IntegerType) or element.width.data == 1:
        raise b.refuse("takes integer tensors")

    def body(inner: Body, args: list[SSAValue]) -> SSAValue:
        if is_unsigned(element):
            signless = IntegerType(element.width.data)
            sizes = [inner.add(arith.BitcastOp(a, signless)) for a in args]
            return inner.add(arith.BitcastOp(inner.add(SpecialOp("gcd", sizes)), element))
        sizes = [inner.add(math.AbsIOp(a)) for a in args]
        return inner.add(SpecialOp("gcd", sizes))

    return b.pointwise(list(op.operands), element, body)


def _bits_of(kind: Attribute) -> IntegerType:
    return IntegerType(kind.bitwidth)  # pyright: ignore[reportAttributeAccessIssue]


@lowers("nextafter")
def _nextafter(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """One step on the bits, up where y lies further from 0; from 0 the least number of y's sign."""
    element = element_of(op.results[0])
    if not is_float(element):
        raise b.refuse("takes floating-point tensors")
    kind = _bits_of(element)

    def body(inner: Body, args: list[SSAValue]) -> SSAValue:
        given, (x, y) = args, (scalar.widen(inner, a) for a in args)
        zero, one = inner.constant(0, kind), inner.constant(1, kind)
        bits = inner.add(arith.BitcastOp(given[0], kind))
        target = inner.add(arith.BitcastOp(given[1], kind))
        away = compare(inner, "lt", x, y)
        away = inner.add(arith.XOrIOp(away, compare(inner, "lt", bits, zero)))
        step = select(inner, away, one, inner.constant(-1, kind))
        moved = scalar.add(inner, bits, step)
        sign = inner.add(arith.AndIOp(target, inner.constant(1 << (kind.width.data - 1), kind)))
        least = inner.add(arith.OrIOp(sign, one))
        float_zero = inner.constant(0, x.type)
        moved = select(inner, compare(inner, "eq", x, float_zero), least, moved)
        moved = select(inner, compare(inner, "eq", x, y), target, moved)
        # NaN wins, the first one.
        moved = select(inner, compare(inner, "ne", y, y), target, moved)
        moved = select(inner, compare(inner, "ne", x, x), bits, moved)
        return inner.add(arith.BitcastOp(moved, element))

    return b.pointwise(list(op.operands), element, body)


@lowers("frexp")
def _frexp(op: SchemaOp, b: LoopBuilder) -> list[SSAValue]:
    """x = m 2^e with |m| in 1/2 .. 1, by the bits; 0, infinities and NaN are their own m, e = 0."""
    (x,) = op.operands
    element = element_of(x)
    if not is_float(element):
        raise b.refuse("takes floating-point tensors")

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        mantissa, exponent = _apart(inner, scalar.widen(inner, args[0]))
        return [scalar.narrow(inner, mantissa, element), scalar.convert(inner, exponent, i32)]

    shape = shape_of(x)
    writes = [(None, "store", shape, element), (None, "store", shape, i32)]
    return list(b.generic(shape, [(x, None)], writes, body).res)


def _apart(b: Body, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    double = isinstance(x.type, Float64Type)
    kind, digits = _bits_of(x.type), 52 if double else 23
    field = 0x7FF if double else 0xFF
    bias = field // 2 - 1
    size = b.add(math.AbsFOp(x))
    least = b.constant(2.0 ** (1 - field // 2), x.type)
    subnormal = compare(b, "lt", size, least)
    lifted = scalar.mul(b, x, b.constant(2.0 ** (digits + 1), x.type))
    bits = b.add(arith.BitcastOp(select(b, subnormal, lifted, x), kind))
    raw = b.add(arith.ShRUIOp(bits, b.constant(digits, kind)))
    raw = b.add(arith.AndIOp(raw, b.constant(field, kind)))
    low = b.constant(bias + digits + 1, kind)
    exponent = scalar.sub(b, raw, select(b, subnormal, low, b.constant(bias, kind)))
    kept = b.add(arith.AndIOp(bits, b.constant(~(field << digits), kind)))
    made = b.add(arith.OrIOp(kept, b.constant(bias << digits, kind)))
    mantissa = b.add(arith.BitcastOp(made, x.type))
    finite = compare(b, "lt", size, b.constant(float("inf"), x.type))
    ordinary = b.add(arith.AndIOp(finite, compare(b, "ne", x, b.constant(0, x.type))))
    zero = b.constant(0, kind)
    return select(b, ordinary, mantissa, x), select(b, ordinary, exponent, zero)
