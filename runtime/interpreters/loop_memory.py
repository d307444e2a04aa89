"""Buffers over NumPy: `memref`, and the memory ops of `loop`.

A memref is a contiguous array. New memory holds NaN (all bits set in integers), so that a read of
what nobody wrote shows, and an access outside a buffer is an `ExecutionError`: schedules are
checked, not only run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Attribute, Operation

from lamina.dialects.errors import ExecutionError
from lamina.dialects.loop import (
    GatherOp,
    LiveCountOp,
    LiveRowOp,
    LiveTurnsOp,
    PollOp,
    PrefetchOp,
    RowOp,
)
from lamina.runtime.interpreters.values import numpy_dtype

_NEW_BYTE: ContextVar[int] = ContextVar("lamina_new_byte", default=255)


@contextmanager
def new_memory_of(byte: int) -> Iterator[None]:
    """Within it, all bytes of memory that nobody wrote yet are `byte`, 255 elsewhere.

    Two runs that differ in nothing else and have other results read what nobody wrote.
    """
    token = _NEW_BYTE.set(byte)
    try:
        yield
    finally:
        _NEW_BYTE.reset(token)


def allocate(kind: Attribute) -> Any:
    """Memory of a memref type that nobody wrote yet: NaN in floats, all bits set in integers."""
    assert isinstance(kind, MemRefType)
    return unwritten(kind.get_shape(), numpy_dtype(kind.element_type))


def unwritten(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
    """An array that nobody wrote yet: NaN in floats, all bits set in integers."""
    byte = _NEW_BYTE.get()
    if dtype == np.bool_:
        return np.full(shape, byte != 0, dtype)
    size = prod(shape) * dtype.itemsize
    return np.full(size, byte, np.uint8).view(dtype).reshape(shape)


def flat_offset(op: Operation, memory: Any, indices: PythonValues) -> int:
    """Row-major element offset of an access. Raises ExecutionError outside the buffer."""
    for axis, (index, extent) in enumerate(zip(indices, memory.shape, strict=True)):
        if not 0 <= index < extent:
            raise ExecutionError(f"{op.name}: index {axis} is {index}, the extent there {extent}")
    strides = [prod(memory.shape[axis + 1 :]) for axis in range(memory.ndim)]
    return sum(int(i) * s for i, s in zip(indices, strides, strict=True))


def lanes_of(op: Operation, memory: Any, offsets: Any, mask: Any) -> Any:
    """The offsets of the lanes that are on, checked; the others are 0."""
    offsets = np.where(mask, offsets, 0)
    if offsets.size and np.any(mask) and not 0 <= offsets.min() <= offsets.max() < memory.size:
        low, high = int(offsets[mask].min()), int(offsets[mask].max())
        raise ExecutionError(
            f"{op.name}: lanes at elements {low} to {high} of a buffer of {memory.size}"
        )
    return offsets


def run_of(op: Operation, memory: Any, indices: PythonValues, count: int, mask: Any) -> Any:
    """Offsets of `count` elements in a row from `indices`; a masked access may start outside."""
    if np.all(mask):
        start = flat_offset(op, memory, indices)
        if start + count <= memory.size:
            return np.arange(start, start + count)
    else:
        strides = [prod(memory.shape[axis + 1 :]) for axis in range(memory.ndim)]
        start = sum(int(i) * s for i, s in zip(indices, strides, strict=True))
    return lanes_of(op, memory, start + np.arange(count), mask)


def masked_read(memory: Any, lanes: Any, mask: Any, otherwise: Any) -> Any:
    """The elements at `lanes` where the mask is on, else those of `otherwise`."""
    if not np.any(mask):
        return np.array(otherwise)
    return np.where(mask, memory.reshape(-1)[lanes], otherwise)


@register_impls
class MemoryFunctions(InterpreterFunctions):
    """xDSL interpreter functions of `memref`, and of the memory ops of `loop`."""

    @impl(memref.AllocOp)
    def alloc(self, interpreter: Interpreter, op: memref.AllocOp, args: PythonValues) -> Any:
        return (allocate(op.memref.type),)

    @impl(memref.AllocaOp)
    def alloca(self, interpreter: Interpreter, op: memref.AllocaOp, args: PythonValues) -> Any:
        return (allocate(op.memref.type),)

    @impl(memref.DeallocOp)
    def dealloc(self, interpreter: Interpreter, op: memref.DeallocOp, args: PythonValues) -> Any:
        return ()

    @impl(memref.CastOp)
    def cast(self, interpreter: Interpreter, op: memref.CastOp, args: PythonValues) -> Any:
        return args

    @impl(memref.ViewOp)
    def view(self, interpreter: Interpreter, op: memref.ViewOp, args: PythonValues) -> Any:
        kind = op.result.type
        assert isinstance(kind, MemRefType)
        memory, start = args[0], int(args[1])
        dtype = numpy_dtype(kind.element_type)
        end = start + prod(kind.get_shape()) * dtype.itemsize
        if start < 0 or end > memory.size:
            raise ExecutionError(f"memref.view: bytes {start} to {end} of {memory.size}")
        return (memory[start:end].view(dtype).reshape(kind.get_shape()),)

    @impl(memref.LoadOp)
    def load(self, interpreter: Interpreter, op: memref.LoadOp, args: PythonValues) -> Any:
        memory = args[0]
        return (memory.reshape(-1)[flat_offset(op, memory, args[1:])],)

    @impl(memref.StoreOp)
    def store(self, interpreter: Interpreter, op: memref.StoreOp, args: PythonValues) -> Any:
        value, memory = args[:2]
        memory.reshape(-1)[flat_offset(op, memory, args[2:])] = value
        return ()

    @impl(memref.CopyOp)
    def copy(self, interpreter: Interpreter, op: memref.CopyOp, args: PythonValues) -> Any:
        source, destination = args
        if np.shares_memory(source, destination):
            raise ExecutionError("memref.copy: source and destination overlap")
        destination[...] = source
        return ()

    @impl(LiveCountOp)
    def live_count(
        self, interpreter: Interpreter, op: LiveCountOp, args: PythonValues
    ) -> PythonValues:
        return (np.int64(prod(op.live.data.ends([int(count) for count in args]))),)

    @impl(LiveRowOp)
    def live_row(self, interpreter: Interpreter, op: LiveRowOp, args: PythonValues) -> PythonValues:
        number, *counts = (int(value) for value in args)
        return (np.int64(op.live.data.row(number, counts)),)

    @impl(LiveTurnsOp)
    def live_turns(
        self, interpreter: Interpreter, op: LiveTurnsOp, args: PythonValues
    ) -> PythonValues:
        number, *counts = (int(value) for value in args)
        return (np.int64(op.live.data.turns_from(number, op.rows, counts)),)

    @impl(RowOp)
    def row(self, interpreter: Interpreter, op: RowOp, args: PythonValues) -> Any:
        memory, index = args
        if not 0 <= index < len(memory):
            raise ExecutionError(f"loop.row: row {index} of {len(memory)}")
        return (memory[int(index) :][:1].reshape(memory.shape[1:]),)

    @impl(PollOp)
    def poll(self, interpreter: Interpreter, op: PollOp, args: PythonValues) -> Any:
        return ()

    @impl(PrefetchOp)
    def prefetch(self, interpreter: Interpreter, op: PrefetchOp, args: PythonValues) -> Any:
        return ()

    @impl(GatherOp)
    def gather(self, interpreter: Interpreter, op: GatherOp, args: PythonValues) -> Any:
        memory, *indices, offsets, mask, otherwise = args
        strides = [prod(memory.shape[axis + 1 :]) for axis in range(memory.ndim)]
        start = sum(int(i) * s for i, s in zip(indices, strides, strict=True))
        lanes = lanes_of(op, memory, start + np.asarray(offsets), mask)
        return (masked_read(memory, lanes, mask, otherwise),)
