"""What names in a graph stand for: values of the IR, and arrays that are known at import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from lamina.frontends.onnx.element_types import ELEMENT_OF_DTYPE

FOLDED_ELEMENTS = 4096
"""Arrays up to this many elements are computed at import; sizes come from such."""


@dataclass(eq=False)
class Known:
    """An array known at import, which becomes a value of the IR when an op reads it."""

    array: np.ndarray
    name: str = ""
    kind: str = "constant"
    """`parameter` for initializers: they keep their names as arguments."""
    value: SSAValue | None = None

    def is_small(self) -> bool:
        """Whether it may be folded."""
        return self.array.size <= FOLDED_ELEMENTS


Value = SSAValue | Known


def all_known(values: list[Value | None]) -> TypeGuard[list[Known | None]]:
    """Whether all values that are there are small arrays known at import."""
    return all(v is None or (isinstance(v, Known) and v.is_small()) for v in values)


def shape_of(value: Value) -> tuple[int, ...]:
    """Its sizes, all static."""
    if isinstance(value, Known):
        return value.array.shape
    assert isinstance(value.type, TensorType)
    return tuple(value.type.get_shape())


def element_of(value: Value) -> Attribute:
    """Its element type."""
    if isinstance(value, Known):
        return ELEMENT_OF_DTYPE[value.array.dtype]
    assert isinstance(value.type, TensorType)
    return value.type.element_type
