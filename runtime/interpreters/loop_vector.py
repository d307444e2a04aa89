"""One-dimensional vectors over NumPy: `vector`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Attribute

from lamina.runtime.interpreters.loop_memory import masked_read, run_of

DYNAMIC = -(1 << 63)
"""Stands in a static position where an operand gives it."""


@register_impls
class VectorFunctions(InterpreterFunctions):
    """xDSL interpreter functions of `vector`, for one-dimensional vectors."""

    @impl(vector.LoadOp)
    def load(self, interpreter: Interpreter, op: vector.LoadOp, args: PythonValues) -> Any:
        on = np.ones(_count(op.result.type), np.bool_)
        lanes = run_of(op, args[0], args[1:], on.size, on)
        return (args[0].reshape(-1)[lanes],)

    @impl(vector.StoreOp)
    def store(self, interpreter: Interpreter, op: vector.StoreOp, args: PythonValues) -> Any:
        value, memory, *indices = args
        on = np.ones(value.size, np.bool_)
        memory.reshape(-1)[run_of(op, memory, tuple(indices), value.size, on)] = value
        return ()

    @impl(vector.MaskedLoadOp)
    def masked_load(
        self, interpreter: Interpreter, op: vector.MaskedLoadOp, args: PythonValues
    ) -> Any:
        memory, *indices, mask, otherwise = args
        lanes = run_of(op, memory, tuple(indices), mask.size, mask)
        return (masked_read(memory, lanes, mask, otherwise),)

    @impl(vector.MaskedStoreOp)
    def masked_store(
        self, interpreter: Interpreter, op: vector.MaskedStoreOp, args: PythonValues
    ) -> Any:
        memory, *indices, mask, value = args
        lanes = run_of(op, memory, tuple(indices), mask.size, mask)
        memory.reshape(-1)[lanes[mask]] = value[mask]
        return ()

    @impl(vector.CreateMaskOp)
    def create_mask(
        self, interpreter: Interpreter, op: vector.CreateMaskOp, args: PythonValues
    ) -> Any:
        return (np.arange(_count(op.mask_vector.type)) < args[0],)

    @impl(vector.BroadcastOp)
    def broadcast(
        self, interpreter: Interpreter, op: vector.BroadcastOp, args: PythonValues
    ) -> Any:
        return (np.broadcast_to(args[0], (_count(op.vector.type),)),)

    @impl(vector.ShuffleOp)
    def shuffle(self, interpreter: Interpreter, op: vector.ShuffleOp, args: PythonValues) -> Any:
        return (np.concatenate(args)[np.maximum(op.mask.get_values(), 0)],)

    @impl(vector.ExtractOp)
    def extract(self, interpreter: Interpreter, op: vector.ExtractOp, args: PythonValues) -> Any:
        return (args[0][_position(op, args[1:])],)

    @impl(vector.InsertOp)
    def insert(self, interpreter: Interpreter, op: vector.InsertOp, args: PythonValues) -> Any:
        made = np.array(args[1])
        made[_position(op, args[2:])] = args[0]
        return (made,)

    @impl(vector.ReductionOp)
    def reduction(
        self, interpreter: Interpreter, op: vector.ReductionOp, args: PythonValues
    ) -> Any:
        join = _JOIN[op.kind.data.value]
        made = join.reduce(args[0], dtype=args[0].dtype)
        return (join(made, args[1]) if len(args) > 1 else made,)


_JOIN: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "minui": np.minimum,
    "maxui": np.maximum,
    "minnumf": np.fmin,
    "maxnumf": np.fmax,
    "minimumf": np.minimum,
    "maximumf": np.maximum,
}


def _count(kind: Attribute) -> int:
    assert isinstance(kind, VectorType)
    return prod(kind.get_shape())


def _position(op: vector.ExtractOp | vector.InsertOp, dynamic: PythonValues) -> int:
    (static,) = op.static_position.get_values()
    return int(dynamic[0]) if static == DYNAMIC else static
