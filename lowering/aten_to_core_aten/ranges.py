"""Numbers at equal distances or in equal ratios."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_complex, is_float

_OVERLOADS = ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")


@lowers(*(f"linspace.{overload}" for overload in _OVERLOADS))
def linspace(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Steps from both ends to the middle; of integers in f64, cut to whole numbers."""
    element = element_of(op.results[0])
    if is_float(element) or is_complex(element):
        return _spaced(op, b, op.arg("start"), op.arg("end"), element)
    start, end = (_whole(b, op.arg(name), element) for name in ("start", "end"))
    return b.cast(_spaced(op, b, start, end, f64), element)


@lowers(*(f"logspace.{overload}" for overload in _OVERLOADS))
def logspace(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """base to the power of linspace, in f64; the ends are of the result's type.

    One step alone is not rounded to it: torch fills with the power of `start` (`RangeFactories`).
    """
    element, base = element_of(op.results[0]), op.arg("base")
    start, end = op.arg("start"), op.arg("end")
    if is_complex(element):
        return b("pow.Scalar", base, _spaced(op, b, start, end, element))
    if not is_float(element):
        start, end = _whole(b, start, element), _whole(b, end, element)
    elif _is_half(element) and op.arg("steps") != 1:
        start, end = _rounded(b, start, element), _rounded(b, end, element)
    powers = b("pow.Scalar", float(base), _spaced(op, b, start, end, f64))
    return b.cast(powers, element)


def _rounded(b: CoreBuilder, value: SSAValue | float, element: Attribute) -> SSAValue:
    """As the element type has it, whatever happens to roundings inside kernels."""
    return b("_to_copy", _tensor(b, value, f32), dtype=element)


def _is_half(element: Attribute) -> bool:
    return str(element) in ("f16", "bf16")


def _whole(b: CoreBuilder, value: SSAValue | float, element: Attribute) -> SSAValue | float:
    return b.cast(value, element) if isinstance(value, SSAValue) else int(value)


def _spaced(
    op: SchemaOp, b: CoreBuilder, start: SSAValue | float, end: SSAValue | float, element: Attribute
) -> SSAValue:
    """start + i step in the first half, end - (steps - 1 - i) step in the second."""
    steps = op.arg("steps")
    if _is_half(element):
        return _spaced_halves(b, start, end, steps, element)
    if not isinstance(start, SSAValue) and not isinstance(end, SSAValue):
        return _between_numbers(b, start, end, steps, element)
    first, last = _tensor(b, start, element), _tensor(b, end, element)
    if steps < 2:
        return b.expand(first, [steps])
    step = b("div.Scalar", b("sub.Tensor", last, first), steps - 1)
    index, position, back = _positions(b, steps, element)
    low = b("add.Tensor", b("mul.Tensor", position, step), first)
    high = b("sub.Tensor", last, b("mul.Tensor", back, step))
    return b("where.self", b("lt.Scalar", index, steps // 2), low, high)


def _tensor(b: CoreBuilder, value: SSAValue | float, element: Attribute) -> SSAValue:
    return b.cast(value, element) if isinstance(value, SSAValue) else b.full([], value, element)


def _spaced_halves(
    b: CoreBuilder, start: SSAValue | float, end: SSAValue | float, steps: int, element: Attribute
) -> SSAValue:
    """Torch rounds every number on the way, which shows where they cancel near 0."""

    def rounded(x: SSAValue) -> SSAValue:
        return b("_to_copy", b("_to_copy", x, dtype=element), dtype=f32)

    first, last = rounded(_tensor(b, start, f32)), rounded(_tensor(b, end, f32))
    if steps < 2:
        return b.cast(b.expand(first, [steps]), element)
    step = rounded(b("div.Scalar", rounded(b("sub.Tensor", last, first)), steps - 1))
    index, position, back = _positions(b, steps, f32)
    low = b("add.Tensor", first, rounded(b("mul.Tensor", rounded(position), step)))
    high = b("sub.Tensor", last, rounded(b("mul.Tensor", rounded(back), step)))
    return b.cast(b("where.self", b("lt.Scalar", index, steps // 2), low, high), element)


def _between_numbers(
    b: CoreBuilder, start: float, end: float, steps: int, element: Attribute
) -> SSAValue:
    if steps < 2:
        return b.full([steps], start if is_complex(element) else float(start), element)
    step = (end - start) / (steps - 1)
    index, position, back = _positions(b, steps, element)
    low = b("add.Scalar", b("mul.Scalar", position, step), start)
    high = b("add.Scalar", b("mul.Scalar", back, -step), end)
    return b("where.self", b("lt.Scalar", index, steps // 2), low, high)


def _positions(
    b: CoreBuilder, steps: int, element: Attribute
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """0, 1, ... as i64 and as `element`, and the same counted from the end."""
    index = b("arange.start_step", 0, steps, 1, dtype=i64)
    position = b.cast(index, element)
    return index, position, b("add.Scalar", b("neg", position), steps - 1)
