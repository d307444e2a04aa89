"""Elementwise arithmetic, comparison and selection. The core ops still promote and broadcast."""

from __future__ import annotations

from math import pi

from xdsl.dialects.builtin import AnyFloat, IntegerType, f32
from xdsl.ir import SSAValue

from lamina.dialects.elementwise import ROWS, SECOND_NAMES, spellings
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_bool, is_complex, is_float


@lowers(*(second for row in ROWS if row.core for second in row.second_names))
def alias(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The same op under its first name."""
    arguments = [op.arg(argument.name) for argument in op.schema.args]
    positional = [v for a, v in zip(op.schema.args, arguments, strict=True) if not a.kwarg_only]
    keyword = {a.name: v for a, v in zip(op.schema.args, arguments, strict=True) if a.kwarg_only}
    return b(SECOND_NAMES[op.overload_name], *positional, **keyword)


@lowers("positive")
def positive(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The operand."""
    return op.arg("self")


@lowers("rsub.Scalar")
def rsub_scalar(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """other - alpha * self."""
    other = b.full([], op.arg("other"), element_of(op.results[0]))
    return b("sub.Tensor", other, op.arg("self"), alpha=op.arg("alpha"))


@lowers("rsub.Tensor")
def rsub_tensor(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """other - alpha * self."""
    return b("sub.Tensor", op.arg("other"), op.arg("self"), alpha=op.arg("alpha"))


@lowers("square")
def square(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x * x, in the result's dtype (bool becomes i64)."""
    x = b.cast(op.arg("self"), element_of(op.results[0]))
    return b("mul.Tensor", x, x)


@lowers("clamp_min")
def clamp_min(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """clamp from below."""
    return b("clamp", op.arg("self"), op.arg("min"), None)


@lowers("clamp_max")
def clamp_max(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """clamp from above."""
    return b("clamp", op.arg("self"), None, op.arg("max"))


@lowers("clamp_min.Tensor", "max.other")
def maximum(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """maximum, NaN wins."""
    return b("maximum", *op.operands)


@lowers("clamp_max.Tensor", "min.other")
def minimum(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """minimum, NaN wins."""
    return b("minimum", *op.operands)


@lowers("fmax", "fmin")
def ignoring_nan(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """maximum or minimum, where NaN loses."""
    x, y = op.arg("self"), op.arg("other")
    best = b("maximum" if op.overload_name.startswith("fmax") else "minimum", x, y)
    result = b("where.self", b("isnan", y), x, best)
    return b("where.self", b("isnan", x), y, result)


@lowers("masked_fill.Scalar")
def masked_fill(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """where(mask, value, self), the value in self's dtype."""
    x = op.arg("self")
    value = b.full([], op.arg("value"), element_of(x))
    return b("where.self", op.arg("mask"), value, x)


@lowers("masked_fill.Tensor")
def masked_fill_tensor(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """where(mask, value, self), the value in self's dtype."""
    x = op.arg("self")
    return b("where.self", op.arg("mask"), b.cast(op.arg("value"), element_of(x)), x)


@lowers("where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where_scalar(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Scalars become 0-d tensors of the result's dtype."""
    sides = [
        side if isinstance(side, SSAValue) else b.full([], side, element_of(op.results[0]))
        for side in (op.arg("self"), op.arg("other"))
    ]
    return b("where.self", op.arg("condition"), *sides)


@lowers("floor_divide")
def floor_divide(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """div, rounded down."""
    return b("div.Tensor_mode", op.arg("self"), op.arg("other"), rounding_mode="floor")


@lowers("floor_divide.Scalar")
def floor_divide_scalar(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """div, rounded down."""
    return b("div.Scalar_mode", op.arg("self"), op.arg("other"), rounding_mode="floor")


@lowers("addcmul")
def addcmul(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """self + value * tensor1 * tensor2."""
    product = b("mul.Tensor", op.arg("tensor1"), op.arg("tensor2"))
    return b("add.Tensor", op.arg("self"), product, alpha=op.arg("value"))


@lowers("addcdiv")
def addcdiv(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """self + value * tensor1 / tensor2."""
    quotient = b("div.Tensor", op.arg("tensor1"), op.arg("tensor2"))
    return b("add.Tensor", op.arg("self"), quotient, alpha=op.arg("value"))


@lowers("lerp.Scalar")
def lerp_scalar(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """From the nearer end, as torch does (aten/src/ATen/native/Lerp.h)."""
    start, end, weight = op.arg("self"), op.arg("end"), op.arg("weight")
    distance = b("sub.Tensor", end, start)
    if abs(weight) < 0.5:
        return b("add.Tensor", start, distance, alpha=weight)
    return b("sub.Tensor", end, distance, alpha=1 - weight)


@lowers("lerp.Tensor")
def lerp_tensor(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """From the nearer end, as torch does."""
    start, end, weight = op.arg("self"), op.arg("end"), op.arg("weight")
    distance = b("sub.Tensor", end, start)
    low = b("add.Tensor", start, b("mul.Tensor", weight, distance))
    rest = b("add.Scalar", b("neg", weight), 1)
    high = b("sub.Tensor", end, b("mul.Tensor", distance, rest))
    return b("where.self", b("lt.Scalar", b("abs", weight), 0.5), low, high)


@lowers("xlogy.Tensor")
def xlogy(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x * log(y), but 0 where x is 0 and y is no NaN."""
    element = element_of(op.results[0])
    x, y = (b.cast(op.arg(name), element) for name in ("self", "other"))
    product = b("mul.Tensor", x, b("log", y))
    zero = b("logical_and", b("eq.Scalar", x, 0), b("logical_not", b("isnan", y)))
    return b("where.self", zero, b.full([], 0.0, element), product)


@lowers(*spellings("exp2"))
def exp2(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """2 to the power x."""
    return b("pow.Scalar", 2, b.cast(op.arg("self"), element_of(op.results[0])))


@lowers("isfinite")
def isfinite(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Neither NaN nor infinite."""
    x = op.arg("self")
    return b("logical_not", b("logical_or", b("isnan", x), b("isinf", x)))


@lowers("isposinf", "isneginf")
def is_signed_infinity(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Infinite, of one sign."""
    compare = "gt.Scalar" if op.overload_name.startswith("isposinf") else "lt.Scalar"
    return b("logical_and", b("isinf", op.arg("self")), b(compare, op.arg("self"), 0))


@lowers("nan_to_num")
def nan_to_num(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """NaN, inf and -inf replaced by given values, or 0 and the largest finite ones."""
    x = op.arg("self")
    element = element_of(x)
    if not is_float(element):
        return x
    largest = largest_finite(str(element))
    values = [op.arg("nan"), op.arg("posinf"), op.arg("neginf")]
    nan, high, low = (
        v if v is not None else d for v, d in zip(values, (0.0, largest, -largest), strict=True)
    )
    infinite = b("isinf", x)
    above = b("logical_and", infinite, b("gt.Scalar", x, 0))
    below = b("logical_and", infinite, b("lt.Scalar", x, 0))
    result = b("where.self", b("isnan", x), b.full([], nan, element), x)
    result = b("where.self", above, b.full([], high, element), result)
    return b("where.self", below, b.full([], low, element), result)


def largest_finite(element: str) -> float:
    """The largest finite number of a float type."""
    return {
        "f16": 65504.0,
        "bf16": 3.3895313892515355e38,
        "f32": 3.4028234663852886e38,
        "f64": 1.7976931348623157e308,
    }[element]


@lowers("heaviside")
def heaviside(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """values at 0, else x > 0."""
    x = op.arg("self")
    step = b.cast(b("gt.Scalar", x, 0), element_of(op.results[0]))
    return b("where.self", b("eq.Scalar", x, 0), op.arg("values"), step)


@lowers("signbit")
def signbit(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x < 0; the highest bit of floats, which zeros and NaN have too."""
    return _negative(b, op.arg("self"))


def _negative(b: CoreBuilder, x: SSAValue) -> SSAValue:
    element = element_of(x)
    if isinstance(element, AnyFloat):
        x = b("view.dtype", x, IntegerType(element.bitwidth))
    return b("lt.Scalar", x, 0)


@lowers("frac")
def frac(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x - trunc(x)."""
    return b("sub.Tensor", op.arg("self"), b("trunc", op.arg("self")))


@lowers("deg2rad")
def deg2rad(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x * pi / 180."""
    return b("mul.Scalar", op.arg("self"), pi / 180)


@lowers("rad2deg")
def rad2deg(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x * 180 / pi."""
    return b("mul.Scalar", op.arg("self"), 180 / pi)


@lowers("round.decimals")
def round_decimals(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Scaled by a power of ten, rounded to even, scaled back."""
    x, decimals = op.arg("self"), op.arg("decimals")
    if not is_float(element_of(x)):
        return x
    scale = float(10 ** abs(decimals))
    before, after = ("mul.Scalar", "div.Scalar") if decimals > 0 else ("div.Scalar", "mul.Scalar")
    return b(after, b("round", b(before, x, scale)), scale) if decimals else b("round", x)


@lowers("isclose")
def isclose(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """x == y, or finite |x - y| <= atol + |rtol * y|; integers and booleans compute in f32."""
    x, y = op.arg("self"), op.arg("other")
    close = b("eq.Tensor", x, y)
    if op.arg("equal_nan") and is_float(element_of(x)):
        close = b("logical_or", close, b("logical_and", b("isnan", x), b("isnan", y)))
    if op.arg("rtol") == 0 and op.arg("atol") == 0:
        return close
    if not is_float(element_of(x)) and not is_complex(element_of(x)):
        x, y = b.cast(x, f32), b.cast(y, f32)
    allowed = b("add.Scalar", b("abs", b("mul.Scalar", y, op.arg("rtol"))), op.arg("atol"))
    actual = b("abs", b("sub.Tensor", x, y))
    finite = b("logical_not", b("logical_or", b("isnan", actual), b("isinf", actual)))
    return b("logical_or", close, b("logical_and", finite, b("le.Tensor", actual, allowed)))


@lowers(*spellings("sinc"))
def sinc(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """sin(pi x) / (pi x), 1 at 0."""
    x = b("mul.Scalar", b.cast(op.arg("self"), element_of(op.results[0])), pi)
    one = b.full([], 1.0, element_of(x))
    return b("where.self", b("eq.Scalar", x, 0), one, b("div.Tensor", b("sin", x), x))


@lowers(*spellings("logit"))
def logit(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """log(x / (1 - x)), x clamped to [eps, 1 - eps] if eps is given."""
    x, eps = b.cast(op.arg("self"), element_of(op.results[0])), op.arg("eps")
    if eps is not None:
        x = b("clamp", x, eps, 1 - eps)
    return b("log", b("div.Tensor", x, b("add.Scalar", b("neg", x), 1)))


@lowers("logical_not", "logical_and", "logical_or", "logical_xor")
def logical(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Kept, except that on bools the bitwise op is the same and shorter further down."""
    name = op.overload_name.partition(".")[0]
    if all(is_bool(element_of(operand)) for operand in op.operands):
        bitwise = name.replace("logical", "bitwise")
        return b(bitwise if name == "logical_not" else f"{bitwise}.Tensor", *op.operands)
    return b(name, *op.operands)


@lowers("copysign.Tensor", "copysign.Scalar")
def copysign(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """|x| with the sign of y, that of zeros and NaN included."""
    element = element_of(op.results[0])
    size, y = b("abs", b.cast(op.arg("self"), element)), op.arg("other")
    y = b.cast(y, element) if isinstance(y, SSAValue) else b.full([], y, element)
    return b("where.self", _negative(b, y), b("neg", size), size)


@lowers("bitwise_left_shift.Tensor_Scalar", "bitwise_left_shift.Scalar_Tensor")
@lowers("bitwise_right_shift.Tensor_Scalar", "bitwise_right_shift.Scalar_Tensor")
@lowers("__lshift__.Tensor", "__lshift__.Scalar", "__rshift__.Tensor", "__rshift__.Scalar")
def shift(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The bitwise shift of two tensors."""
    packet, element = op.overload_name.partition(".")[0], element_of(op.results[0])
    left = packet in ("bitwise_left_shift", "__lshift__")
    x, amount = (
        b.cast(v, element) if isinstance(v, SSAValue) else b.full([], v, element)
        for v in (op.arg("self"), op.arg("other"))
    )
    return b("bitwise_left_shift.Tensor" if left else "bitwise_right_shift.Tensor", x, amount)
