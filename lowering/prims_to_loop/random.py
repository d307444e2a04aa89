"""Random numbers: philox4x32-10 as integer arithmetic in the body of a nest.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011). Each element's
number depends on the state, the op's offset and the element's row-major position only, so that
threads, vectors and schedules cannot change it. The words are kept in i64: a product of two 32-bit
words fits, and its halves are a shift and a mask.
"""

from __future__ import annotations

from math import pi

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.rounding import is_half
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, Map, lowers
from lamina.lowering.tensor_types import element_of, shape_of

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
WORD = (1 << 32) - 1

DIGITS = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53}
"""Bits of a uniform number: all that the type can tell apart in [1/2, 1)."""

Words = tuple[SSAValue, SSAValue, SSAValue, SSAValue]


@lowers("philox")
def _philox(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """A vector of numbers, in the shape asked for."""
    shape, element = shape_of(op.results[0]), element_of(op.results[0])
    count = 1
    for extent in shape:
        count *= extent
    distribution = {"uniform": uniform, "normal": normal}[op.arg("distribution")]

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        seed, counter = args
        number = scalar.add(inner, counter, inner.constant(op.arg("offset"), i64))
        position = inner.add(arith.IndexCastOp(inner.index(0), i64))
        words = philox(
            inner,
            (*_halves(inner, position), *_halves(inner, number)),
            _halves(inner, seed),
        )
        return [distribution(inner, words, element)]

    state = op.arg("state")
    reads: list[tuple[SSAValue, Map]] = [(state, [0]), (state, [1])]
    made = b.generic([count], reads, [(None, "store", [count], element)], body).res[0]
    return b.reshape(made, shape)


def philox(b: Body, counter: Words, key: tuple[SSAValue, SSAValue]) -> Words:
    """Ten rounds on four counter words and two key words, each an i64 below 2^32."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for number in range(ROUNDS):
        if number:
            k0, k1 = (
                _low(b, scalar.add(b, word, b.constant(step, i64)))
                for word, step in zip((k0, k1), WEYL, strict=True)
            )
        low0, high0 = _halves(b, scalar.mul(b, c0, b.constant(MULTIPLIERS[0], i64)))
        low1, high1 = _halves(b, scalar.mul(b, c2, b.constant(MULTIPLIERS[1], i64)))
        c0, c1, c2, c3 = _xor(b, high1, c1, k0), low1, _xor(b, high0, c3, k1), low0
    return c0, c1, c2, c3


def uniform(b: Body, words: Words, element: Attribute) -> SSAValue:
    """A multiple of 2^-digits in [0, 1)."""
    digits = DIGITS[str(element)]
    wide = f32 if is_half(element) else element
    return scalar.rounded(b, _fraction(b, words[0], words[1], digits, wide), element)


def normal(b: Body, words: Words, element: Attribute) -> SSAValue:
    """sqrt(-2 log(u)) cos(2 pi v) (Box and Muller 1958), u in (0, 1] and v in [0, 1)."""
    wide = f64 if element == f64 else f32
    radius = _positive_fraction(b, words[0], words[1], wide)
    squared = scalar.mul(b, b.constant(-2, wide), b.add(math.LogOp(radius)))
    turn = _fraction(b, *(words[2:] if wide == f64 else words[1:3]), DIGITS[str(wide)], wide)
    angle = scalar.mul(b, b.constant(2 * pi, wide), turn)
    value = scalar.mul(b, b.add(math.SqrtOp(squared)), b.add(math.CosOp(angle)))
    return scalar.rounded(b, value, element)


def _positive_fraction(b: Body, high: SSAValue, low: SSAValue, element: Attribute) -> SSAValue:
    """A number in (0, 1], never 0: the logarithm is taken of it."""
    if element == f64:
        return scalar.add(b, _fraction(b, high, low, 53, f64), b.constant(2.0**-53, f64))
    # 31 bits, so that the tail goes beyond six deviations; rounding may give 1.
    return scalar.add(b, _fraction(b, high, low, 31, f32), b.constant(2.0**-32, f32))


def _fraction(b: Body, high: SSAValue, low: SSAValue, digits: int, element: Attribute) -> SSAValue:
    """The first `digits` bits of two words behind the binary point."""
    if digits > 32:
        upper = b.add(arith.ShLIOp(high, b.constant(digits - 32, i64)))
        bits = b.add(arith.OrIOp(upper, _shifted(b, low, 64 - digits)))
    else:
        # Vectors of i32 become floats on every machine, those of i64 do not.
        bits = scalar.convert(b, _shifted(b, high, 32 - digits), i32)
    number = scalar.convert(b, bits, element)
    return scalar.mul(b, number, b.constant(2.0**-digits, element))


def _halves(b: Body, value: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The low and the high word."""
    return _low(b, value), _shifted(b, value, 32)


def _low(b: Body, value: SSAValue) -> SSAValue:
    return b.add(arith.AndIOp(value, b.constant(WORD, i64)))


def _shifted(b: Body, value: SSAValue, amount: int) -> SSAValue:
    return b.add(arith.ShRUIOp(value, b.constant(amount, i64)))


def _xor(b: Body, *values: SSAValue) -> SSAValue:
    first, *rest = values
    for value in rest:
        first = b.add(arith.XOrIOp(first, value))
    return first
