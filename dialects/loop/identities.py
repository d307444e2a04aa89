"""What the named combiners of nests begin at."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType, Signedness
from xdsl.ir import Attribute

_FLOATS = {"add": 0.0, "mul": 1.0, "max": float("-inf"), "min": float("inf")}


def identity_value(combiner: str, element: Attribute) -> FloatAttr | IntegerAttr:
    """The number that a combiner begins at, which changes nothing but the sign of a zero.

    Sums begin at 0.0, as torch's do: none is -0.0. Truth values are 0 and 1. Raises KeyError for a
    combiner that the element type does not have.
    """
    if not isinstance(element, IntegerType | IndexType):
        return FloatAttr(_FLOATS[combiner], element)  # pyright: ignore
    bits = element.width.data if isinstance(element, IntegerType) else 64
    is_signed = isinstance(element, IndexType) or element.signedness.data != Signedness.UNSIGNED
    if bits == 1 or not is_signed:
        low, high = 0, (1 << bits) - 1
        full = high
    else:
        low, high, full = -(1 << bits - 1), (1 << bits - 1) - 1, -1
    values = {"add": 0, "mul": 1, "max": low, "min": high, "and": full, "or": 0}
    return IntegerAttr(values[combiner], element)
