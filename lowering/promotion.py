"""Torch's dtype promotion over IR types (https://pytorch.org/docs/stable/tensor_attributes.html)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ComplexType, IntegerType, Signedness, f32, f64, i1, i16, i64
from xdsl.ir import Attribute, SSAValue

from lamina.lowering.tensor_types import element_of, is_complex, is_float, is_unsigned, rank_of

_FLOAT_RANK = {"f16": 0, "bf16": 0, "f32": 1, "f64": 2}
_BOOL, _INTEGER, _FLOAT, _COMPLEX = range(4)


def common_element(values: Sequence[SSAValue | bool | int | float | complex]) -> Attribute:
    """The element type in which torch computes with these tensors and numbers.

    Tensors with dimensions count first, 0-d tensors only if they are of a higher kind (bool,
    integer, float, complex), numbers only if they are of a higher kind still.
    """
    ranked: Attribute | None = None
    scalar: Attribute | None = None
    number = -1
    for value in values:
        if not isinstance(value, SSAValue):
            number = max(number, _kind_of_number(value))
        elif rank_of(value) == 0:
            scalar = _join(scalar, element_of(value))
        else:
            ranked = _join(ranked, element_of(value))
    result = ranked
    if scalar is not None and (result is None or _kind(scalar) > _kind(result)):
        result = scalar if result is None or _kind(scalar) < _COMPLEX else _join(result, scalar)
    if result is None or number > _kind(result):
        return _default(number, result)
    return result


def _kind(element: Attribute) -> int:
    if element == i1:
        return _BOOL
    if is_float(element):
        return _FLOAT
    return _COMPLEX if is_complex(element) else _INTEGER


def _kind_of_number(value: bool | int | float | complex) -> int:
    if isinstance(value, bool):
        return _BOOL
    if isinstance(value, int):
        return _INTEGER
    return _FLOAT if isinstance(value, float) else _COMPLEX


def _default(kind: int, other: Attribute | None) -> Attribute:
    if kind == _COMPLEX:
        return ComplexType(f64 if other == f64 else f32)
    return {_BOOL: i1, _INTEGER: i64, _FLOAT: f32}[kind]


def _join(first: Attribute | None, second: Attribute) -> Attribute:
    """The smallest type that holds both."""
    if first is None or first == second:
        return second
    kinds = _kind(first), _kind(second)
    if kinds[0] != kinds[1]:
        high, low = (first, second) if kinds[0] > kinds[1] else (second, first)
        wide = _kind(high) == _COMPLEX and low == f64
        return ComplexType(f64) if wide else high
    if kinds[0] == _FLOAT:
        ranks = _FLOAT_RANK[str(first)], _FLOAT_RANK[str(second)]
        if ranks[0] == ranks[1]:
            return f32  # f16 with bf16
        return first if ranks[0] > ranks[1] else second
    if kinds[0] == _COMPLEX:
        return ComplexType(f64)
    return _join_integers(first, second)


def _join_integers(first: Attribute, second: Attribute) -> Attribute:
    assert isinstance(first, IntegerType) and isinstance(second, IntegerType)
    widths = first.width.data, second.width.data
    if is_unsigned(first) == is_unsigned(second):
        return first if widths[0] >= widths[1] else second
    unsigned, signed = (first, second) if is_unsigned(first) else (second, first)
    if signed.width.data > unsigned.width.data:
        return signed
    wider = max(unsigned.width.data * 2, 16)
    return {16: i16}.get(wider, IntegerType(min(wider, 64), Signedness.SIGNLESS))
