"""Shapes of types, as tuples: xDSL makes them of an attribute for each extent every time."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import Attribute

from lamina.dialects.identity_cache import once_an_object


@once_an_object
def shape_of_type(kind: Attribute) -> tuple[int, ...]:
    """The extents of a ranked tensor or memref, -1 where they are open."""
    assert isinstance(kind, TensorType | MemRefType)
    shaped: Any = kind
    return tuple(shaped.get_shape())
