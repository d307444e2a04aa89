"""Functions by pieces: a low polynomial in each of sixteen intervals, coefficients by lookup.

AVX-512 looks sixteen lanes up in sixteen numbers by one permutation (`vpermps`), so that the choice
of an interval costs an instruction a coefficient, and the polynomials are short. For odd functions
of f32 that level off: the pieces are of f(x) / x on x >= 0, near its limit the argument stays.
"""

from collections.abc import Callable, Sequence

from lamina.codegen.llvm_emitter.types import float_literals
from lamina.codegen.vector_math.builder import MathBuilder, Value
from lamina.dialects.records import record

_LANES = 16
_WIDE = f"<{_LANES} x float>"
_NEAREST = 1.5 * 2.0**23
"""Added to a small f32 it leaves the nearest integer in the last bits."""

_PERMUTE = "llvm.x86.avx512.permvar.sf.512"
_RANGE = "llvm.x86.avx512.mask.range.ps.512"

Row = tuple[float, ...]
"""A number for each interval."""


@record
class Pieces:
    """f(x) / x near i * step, for i = 0 .. 15.

    In t = x - i * step it is high[i] + (low[i] + t * (c1[i] + ...)), `slopes` highest power first.
    From `limit` on f is its value there.
    """

    step: float
    limit: float
    high: Row
    low: Row
    slopes: Sequence[Row]


def has_lookup(b: MathBuilder) -> bool:
    """Whether `odd_by_pieces` can be used: f32 on AVX-512."""
    return b.single and b.target.architecture == "x86_64" and b.target.vector_bits >= 512


def odd_by_pieces(b: MathBuilder, x: Value, pieces: Pieces) -> Value:
    """f(x) for the odd function that `pieces` describe; NaN at NaN."""
    return in_sixteens(b, lambda wide, part: _evaluate(wide, part, pieces), x)


def by_pieces(b: MathBuilder, x: Value, pieces: Pieces) -> Value:
    """The same for x from 0 to the limit, or NaN."""
    return in_sixteens(b, lambda wide, part: _within(wide, part, pieces), x)


def _evaluate(b: MathBuilder, x: Value, pieces: Pieces) -> Value:
    return b.copysign(_within(b, b.at_most(b.abs(x), pieces.limit), pieces), x)


def _within(b: MathBuilder, size: Value, pieces: Pieces) -> Value:
    # The last four bits are the interval; a permutation looks at no others.
    marked = b.fma(size, 1.0 / pieces.step, _NEAREST)
    interval = b.as_bits(marked)
    t = b.fma(marked - _NEAREST, -pieces.step, size)
    first, *rest = pieces.slopes
    total = looked_up(b, interval, first)
    for row in (*rest, pieces.low):
        total = b.fma(total, t, looked_up(b, interval, row))
    # The quotient is not rounded to one number: its second part is scaled on its own.
    return b.fma(size, looked_up(b, interval, pieces.high), size * total)


def looked_up(b: MathBuilder, interval: Value, row: Row) -> Value:
    """The numbers of `row` that the last four bits of each lane choose; b has sixteen lanes."""
    numbers = ", ".join([f"float {literal}" for literal in float_literals(row)])
    table = Value(b, b.type, f"<{numbers}>")
    return b.call(_PERMUTE, b.type, [table, interval])


def smaller_magnitude(b: MathBuilder, x: Value, limit: float) -> Value:
    """x, or the limit with the sign of x if that is nearer to zero or x is NaN; sixteen lanes."""
    kinds = f"{b.type}, {b.type}, i32, {b.type}, i16, i32"
    b.shared.declarations[_RANGE] = f"declare {b.type} @{_RANGE}({kinds})"
    pair = f"{b.type} {x.text}, {b.type} {b.const(limit).text}"
    # 2: the smaller magnitude, sign of the first; the rest: no mask, current rounding.
    text = f"call {b.type} @{_RANGE}({pair}, i32 2, {b.type} {x.text}, i16 -1, i32 4)"
    return b.emit(b.type, text)


def in_sixteens(b: MathBuilder, function: Callable[[MathBuilder, Value], Value], x: Value) -> Value:
    """`function` of any number of lanes, on vectors of sixteen."""
    wide = b.other(_WIDE)
    if b.count == 0:
        text = f"insertelement {_WIDE} zeroinitializer, float {x.text}, i64 0"
        made = function(wide, wide.emit(_WIDE, text))
        return b.emit(b.type, f"extractelement {_WIDE} {made.text}, i64 0")
    parts = [
        function(wide, _lanes(wide, x, range(start, start + _LANES), b.count))
        for start in range(0, b.count, _LANES)
    ]
    whole = parts[0]
    for number, part in enumerate(parts[1:], start=1):
        whole = _joined(wide, whole, part, number * _LANES)
    return Value(b, b.type, _lanes(b, whole, range(b.count), len(parts) * _LANES).text)


def _lanes(b: MathBuilder, x: Value, lanes: range, count: int) -> Value:
    """Some lanes of x, which has `count`; lanes beyond its end are of no matter."""
    if lanes == range(count):
        return x
    mask = ", ".join(f"i32 {lane if lane < count else 0}" for lane in lanes)
    text = f"shufflevector {x.type} {x.text}, {x.type} poison, <{len(lanes)} x i32> <{mask}>"
    return b.emit(f"<{len(lanes)} x float>", text)


def _joined(b: MathBuilder, left: Value, right: Value, count: int) -> Value:
    """`left`, of `count` lanes, with the sixteen lanes of `right` behind it."""
    right = _lanes(b, right, range(count), _LANES)
    lanes = [*range(count), *range(count, count + _LANES)]
    mask = ", ".join(f"i32 {lane}" for lane in lanes)
    kind = f"<{count} x float>"
    text = f"shufflevector {kind} {left.text}, {kind} {right.text}, <{len(lanes)} x i32> <{mask}>"
    return b.emit(f"<{len(lanes)} x float>", text)
