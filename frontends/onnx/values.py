"""What names in a graph stand for: tensors, known at import or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.narrow_types import NarrowType
from lamina.frontends.onnx.element_types import ELEMENT_OF_DTYPE, NARROW_OF_DTYPE
from lamina.runtime.entry import as_codes

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
    codes: NarrowType | None = None
    """The type that callers see of the argument, where the array holds its codes."""

    def is_small(self) -> bool:
        """Whether it may be folded."""
        return self.array.size <= FOLDED_ELEMENTS


Value = SSAValue | Known


@dataclass(frozen=True, eq=False)
class Coded:
    """A tensor of a narrow type, as its codes in ui8."""

    codes: Value
    type: NarrowType


Held = Value | Coded


def held(array: np.ndarray, name: str = "", kind: str = "constant") -> Known | Coded:
    """An array known at import, of any element type that is taken."""
    narrow = NARROW_OF_DTYPE.get(array.dtype)
    if narrow is None:
        return Known(array, name, kind)
    return Coded(Known(as_codes(np.ascontiguousarray(array)), name, kind, codes=narrow), narrow)


def all_known(values: Sequence[Held | None]) -> TypeGuard[Sequence[Known | None]]:
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


def described(value: Held) -> str:
    """The type of a value, for messages."""
    if isinstance(value, Coded):
        return str(TensorType(element_of(value.codes), shape_of(value.codes))).replace(
            "ui8", value.type.name
        )
    return str(TensorType(element_of(value), shape_of(value)))
