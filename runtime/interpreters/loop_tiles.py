"""Matrix tiles over NumPy: arrays of two dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import VectorType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Attribute, Operation

from lamina.dialects.loop.tiles import TileDotOp, TileLoadOp, TileStoreOp, TileZeroOp
from lamina.runtime.interpreters.loop_memory import lanes_of


@register_impls
class TileFunctions(InterpreterFunctions):
    """xDSL interpreter functions of the `loop.tile_...` ops."""

    @impl(TileZeroOp)
    def zero(self, interpreter: Interpreter, op: TileZeroOp, args: PythonValues) -> Any:
        return (np.zeros(_shape(op.result.type), np.float32),)

    @impl(TileLoadOp)
    def load(self, interpreter: Interpreter, op: TileLoadOp, args: PythonValues) -> Any:
        memory, at, stride = args
        return (memory[_places(op, memory, at, stride, _shape(op.result.type))],)

    @impl(TileStoreOp)
    def store(self, interpreter: Interpreter, op: TileStoreOp, args: PythonValues) -> Any:
        tile, memory, at, stride = args
        memory[_places(op, memory, at, stride, tile.shape)] = tile
        return ()

    @impl(TileDotOp)
    def dot(self, interpreter: Interpreter, op: TileDotOp, args: PythonValues) -> Any:
        left, right, total = (tile.astype(np.float32) for tile in args)
        pairs, elements = right.shape
        columns = right.reshape(pairs, elements // 2, 2).transpose(0, 2, 1)
        return (total + left @ columns.reshape(2 * pairs, elements // 2),)


def _shape(kind: Attribute) -> tuple[int, ...]:
    assert isinstance(kind, VectorType)
    return kind.get_shape()


def _places(op: Operation, memory: Any, at: Any, stride: Any, shape: tuple[int, ...]) -> Any:
    """Where the elements of a tile are; ExecutionError for one outside of the memory."""
    rows = int(at) + int(stride) * np.arange(shape[0])
    places = rows[:, None] + np.arange(shape[1])
    return lanes_of(op, memory, places, np.ones(places.shape, np.bool_))
