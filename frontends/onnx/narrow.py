"""Conversions between narrow types, which the program holds as codes, and ordinary elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from lamina.dialects.narrow_types import NarrowFloat, NarrowInteger, NarrowType, PowerOfTwo
from lamina.dialects.schema.promotion import ui8
from lamina.frontends.onnx.element_types import FLOATS
from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.values import Coded, Held, Value, element_of, shape_of

MOVING = frozenset(
    {
        "Compress",
        "Concat",
        "DepthToSpace",
        "Expand",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Identity",
        "Reshape",
        "ReverseSequence",
        "Shape",
        "Size",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
        "Where",
    }
)
"""Ops that move elements without looking at them: they take codes as they are."""

_FRACTION = 23
"""Bits of the mantissa of f32, whose exponent has the bias 127."""
_BIAS = 127
_INFINITY = 0x7F800000
_MAGNITUDE = 0x7FFFFFFF


def moved_type(n: Node) -> NarrowType | None:
    """The narrow type of the elements that a node moves, if it is such a node."""
    if n.proto.op_type not in MOVING or n.proto.domain not in ("", "ai.onnx"):
        return None
    types = {v.type for v in n.held if isinstance(v, Coded)}
    return types.pop() if len(types) == 1 else None


def codes_of(values: Sequence[Held | None]) -> list[Held | None]:
    """The inputs of such a node, with codes in the place of narrow tensors."""
    return [value.codes if isinstance(value, Coded) else value for value in values]


def as_moved(results: Any, narrow: NarrowType) -> list[Any]:
    """What a node that moves codes gives; sizes stay what they are."""
    listed = results if isinstance(results, list | tuple) else [results]
    return [Coded(r, narrow) if element_of(r) == ui8 else r for r in listed]


def decoded(n: Node, given: Coded, element: Attribute) -> Value:
    """The numbers, in an ordinary element type that has them all or as they are cast to it."""
    code = n.op("_to_copy.default", given.codes, dtype=i32)
    if isinstance(given.type, NarrowInteger):
        return n.cast(_integer(n, code, given.type), element)
    if isinstance(given.type, PowerOfTwo):
        return n.cast(_power_of_two(n, code), element)
    return n.cast(_float(n, code, given.type), element)


def encoded(
    n: Node, value: Value, narrow: NarrowType, saturate: bool = True, mode: str = "up"
) -> Coded:
    """Numbers as codes: integers wrap, floats are rounded to nearest, ties to even.

    What is beyond the greatest number becomes it, or without `saturate` the infinity or NaN of the
    type. `mode` (up, down, nearest) is how powers of two are rounded.
    """
    if isinstance(narrow, NarrowInteger):
        value = n.cast(value, i32)
        return _coded(n, n.op("bitwise_and.Scalar", value, (1 << narrow.bits) - 1), narrow)
    bits = n.op("view.dtype", n.tensor(n.cast(value, f32)), i32)
    if isinstance(narrow, PowerOfTwo):
        return _coded(n, _exponent(n, bits, saturate, mode), narrow)
    return _coded(n, _code(n, bits, narrow, saturate), narrow)


def limited(n: Node, value: Value, narrow: NarrowInteger) -> Coded:
    """Whole numbers as codes; what is outside becomes the least or the greatest one."""
    low, high = narrow.limits
    number = float if element_of(value) in FLOATS else int
    clamped = n.op("clamp.default", value, number(low), number(high))
    return encoded(n, clamped, narrow)


def converted(n: Node, value: Value | Coded, to: NarrowType | Attribute) -> Value | Coded:
    """Cast: from and to any element type, by the attributes `saturate` and `round_mode`."""
    saturate, mode = bool(n.attr("saturate", 1)), str(n.attr("round_mode", "up"))
    if isinstance(value, Coded):
        if value.type == to and not (saturate and _has_infinity(value.type)):
            return value
        if not isinstance(to, NarrowType):
            return decoded(n, value, to)
        whole = isinstance(value.type, NarrowInteger)
        value = decoded(n, value, i32 if whole else f32)
    if not isinstance(to, NarrowType):
        return n.cast(value, to)
    if mode not in ("up", "down", "nearest"):
        raise n.refuse(f"round_mode {mode}", "up, down or nearest")
    return encoded(n, value, to, saturate, mode)


def _has_infinity(narrow: NarrowType) -> bool:
    return isinstance(narrow, NarrowFloat) and narrow.infinity is not None


def _coded(n: Node, code: Value, narrow: NarrowType) -> Coded:
    return Coded(n.cast(code, ui8), narrow)


def _integer(n: Node, code: Value, narrow: NarrowInteger) -> Value:
    code = n.op("bitwise_and.Scalar", code, (1 << narrow.bits) - 1)
    if not narrow.is_signed:
        return code
    sign = 1 << (narrow.bits - 1)
    return n.op("sub.Scalar", n.op("bitwise_xor.Scalar", code, sign), sign)


def _choose(n: Node, where: Value, number: int, other: Value) -> Value:
    chosen = n.op("full.default", list(shape_of(other)), number, dtype=element_of(other))
    return n.op("where.self", where, chosen, other)


def _shift(n: Node, value: Value, by: int, left: bool) -> Value:
    side = "left" if left else "right"
    return n.op(f"bitwise_{side}_shift.Tensor_Scalar", value, by)


def _float(n: Node, code: Value, t: NarrowFloat) -> Value:
    """The f32 of a code: its bits where it is normal, a multiple of the least number where not."""
    magnitude = n.op("bitwise_and.Scalar", code, t.sign - 1)
    shifted = _shift(n, magnitude, _FRACTION - t.mantissa, left=True)
    normal = n.op("add.Scalar", shifted, (_BIAS - t.bias) << _FRACTION)
    small = n.op("mul.Scalar", n.cast(magnitude, f32), 2.0 ** (1 - t.bias - t.mantissa))
    small = n.op("view.dtype", small, i32)
    is_small = n.op("lt.Scalar", magnitude, 1 << t.mantissa)
    bits = n.op("where.self", is_small, small, normal)
    if t.infinity is not None:
        bits = _choose(n, n.op("eq.Scalar", magnitude, t.infinity), _INFINITY, bits)
    quiet = _INFINITY | 1 << (_FRACTION - 1)
    if t.has_nan and t.has_negative_zero:
        beyond = t.greatest if t.infinity is None else t.infinity
        bits = _choose(n, n.op("gt.Scalar", magnitude, beyond), quiet, bits)
    is_negative = n.op("ne.Scalar", n.op("bitwise_and.Scalar", code, t.sign), 0)
    negative = n.op("bitwise_or.Scalar", bits, -(2**31))
    bits = n.op("where.self", is_negative, negative, bits)
    if not t.has_negative_zero:
        bits = _choose(n, n.op("eq.Scalar", code, t.nan), quiet, bits)
    return n.op("view.dtype", bits, f32)


def _code(n: Node, bits: Value, t: NarrowFloat, saturate: bool) -> Value:
    """The code of an f32 that is given by its bits."""
    magnitude = n.op("bitwise_and.Scalar", bits, _MAGNITUDE)
    cut = _FRACTION - t.mantissa
    last = n.op("bitwise_and.Scalar", _shift(n, magnitude, cut, left=False), 1)
    up = n.op("add.Scalar", n.op("add.Tensor", magnitude, last), (1 << (cut - 1)) - 1)
    rebased = n.op("sub.Scalar", _shift(n, up, cut, left=False), (_BIAS - t.bias) << t.mantissa)
    # Below the least normal number the codes count multiples of the least number.
    is_small = n.op("lt.Scalar", magnitude, (_BIAS + 1 - t.bias) << _FRACTION)
    zero = n.op("full.default", list(shape_of(magnitude)), 0, dtype=i32)
    low = n.op("view.dtype", n.op("where.self", is_small, magnitude, zero), f32)
    steps = n.op("round.default", n.op("mul.Scalar", low, 2.0 ** (t.bias - 1 + t.mantissa)))
    code = n.op("where.self", is_small, n.cast(steps, i32), rebased)
    is_beyond = n.op("gt.Scalar", code, t.greatest)
    code = _choose(n, is_beyond, t.greatest if saturate else t.overflow, code)
    is_nan = n.op("gt.Scalar", magnitude, _INFINITY)
    code = _choose(n, is_nan, t.nan, code)
    is_negative = n.op("lt.Scalar", bits, 0)
    if not t.has_negative_zero:  # the code of -0 is NaN's, which has no sign
        unsigned = n.op("eq.Scalar", n.op("bitwise_and.Scalar", code, t.sign - 1), 0)
        is_negative = n.op(
            "logical_and.default", is_negative, n.op("logical_not.default", unsigned)
        )
    return n.op("where.self", is_negative, n.op("bitwise_xor.Scalar", code, t.sign), code)


def _power_of_two(n: Node, code: Value) -> Value:
    """The f32 of an exponent: code 0 is a subnormal number of f32, 255 is NaN."""
    bits = _shift(n, code, _FRACTION, left=True)
    bits = _choose(n, n.op("eq.Scalar", code, 0), 1 << (_FRACTION - 1), bits)
    bits = _choose(n, n.op("eq.Scalar", code, 0xFF), _INFINITY | 1 << (_FRACTION - 1), bits)
    return n.op("view.dtype", bits, f32)


def _exponent(n: Node, bits: Value, saturate: bool, mode: str) -> Value:
    """The exponent of an f32 without its sign, as ONNX's Cast rounds it; NaN of what is not
    finite."""
    magnitude = n.op("bitwise_and.Scalar", bits, _MAGNITUDE)
    exponent = _shift(n, magnitude, _FRACTION, left=False)
    fraction = n.op("bitwise_and.Scalar", magnitude, (1 << _FRACTION) - 1)
    found = exponent
    if mode != "down":
        half = 1 << (_FRACTION - 1)
        up = n.op("gt.Scalar", fraction, 0 if mode == "up" else half)
        if mode == "nearest":  # a tie goes up, but from the least exponent
            tie = n.op("eq.Scalar", fraction, half)
            above = n.op("gt.Scalar", exponent, 0)
            up = n.op("logical_or.default", up, n.op("logical_and.default", tie, above))
        found = n.op("add.Tensor", exponent, n.cast(up, i32))
        if saturate:
            found = n.op("clamp.default", found, 0, 0xFE)
    return _choose(n, n.op("eq.Scalar", exponent, 0xFF), 0xFF, found)
