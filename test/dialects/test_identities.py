"""What a combiner begins at changes nothing: asked of each combiner and element type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, Signedness, f32, i1, i8, i64
from xdsl.ir import Attribute

from lamina.dialects.loop.identities import identity_value

_COMBINERS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}
_NUMBERS: dict[Attribute, list[Any]] = {
    i1: [np.False_, np.True_],
    i8: [np.int8(n) for n in (-128, -1, 0, 5, 127)],
    i64: [np.int64(n) for n in (-(1 << 63), -1, 0, (1 << 63) - 1)],
    IntegerType(8, Signedness.UNSIGNED): [np.uint8(n) for n in (0, 5, 255)],
    f32: [np.float32(n) for n in (-np.inf, -1.5, 0.0, 3e38, np.inf)],
}


_PAIRS = [
    (combiner, element)
    for combiner in _COMBINERS
    for element in _NUMBERS
    if element != f32 or combiner not in ("and", "or")
]


@pytest.mark.parametrize(("combiner", "element"), _PAIRS, ids=str)
def test_an_identity_changes_nothing(combiner: str, element: Attribute) -> None:
    start = identity_value(combiner, element)
    assert isinstance(start, IntegerAttr | FloatAttr)
    for number in _NUMBERS[element]:
        begun = np.array(start.value.data).astype(number.dtype)
        assert _COMBINERS[combiner](begun, number) == number
