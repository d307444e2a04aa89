"""Ops of `memref` and `vector` as scheduled code has them, without xDSL's constructors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.segments import SEGMENTS, integer64, segment_sizes
from lamina.dialects.plain_ops import plain_op

ALIGNMENT = 64
"""Bytes: buffers and scratch begin at lines of the caches."""


def load_op(memory: SSAValue, indices: Sequence[SSAValue]) -> memref.LoadOp:
    """`memref.load`."""
    kind = memory.type
    assert isinstance(kind, MemRefType)
    return plain_op(memref.LoadOp, (memory, *indices), (kind.element_type,))


def store_op(value: SSAValue, memory: SSAValue, indices: Sequence[SSAValue]) -> memref.StoreOp:
    """`memref.store`."""
    return plain_op(memref.StoreOp, (value, memory, *indices))


def vector_load_op(memory: SSAValue, at: SSAValue, kind: Attribute) -> vector.LoadOp:
    """`vector.load` of a vector of type `kind`, from flat memory."""
    return plain_op(vector.LoadOp, (memory, at), (kind,))


def vector_store_op(value: SSAValue, memory: SSAValue, at: SSAValue) -> vector.StoreOp:
    """`vector.store` to flat memory."""
    return plain_op(vector.StoreOp, (value, memory, at))


def alloca_op(element: Attribute, count: int) -> memref.AllocaOp:
    """`memref.alloca` of so many elements, aligned."""
    properties = {"alignment": integer64(ALIGNMENT), SEGMENTS: segment_sizes(0, 0)}
    return plain_op(memref.AllocaOp, (), (_row_of(element, count),), properties)


@lru_cache(maxsize=1024)
def _row_of(element: Attribute, count: int) -> MemRefType:
    return MemRefType(element, [count])
