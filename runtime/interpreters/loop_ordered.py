"""Scatter, scan, reductions of segments, sort and Fourier transforms over NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, register_impls
from xdsl.interpreter import impl as implements
from xdsl.ir import SSAValue

from lamina.dialects.errors import ExecutionError
from lamina.dialects.loop import (
    FourierOp,
    IndexOp,
    ReadOp,
    ScanOp,
    ScatterOp,
    SegmentReduceOp,
    SortOp,
    YieldOp,
)
from lamina.dialects.loop.body_ops import out_of_range
from lamina.dialects.loop.nest import OrderedNest
from lamina.runtime.interpreters.fourier import transformed
from lamina.runtime.interpreters.loop_access import grids, indirect, read
from lamina.runtime.interpreters.loop_body import evaluate
from lamina.runtime.interpreters.loop_memory import unwritten
from lamina.runtime.interpreters.values import numpy_dtype


@register_impls
class OrderedFunctions(InterpreterFunctions):
    """xDSL interpreter functions of the loop ops whose points depend on one another."""

    @implements(ScatterOp)
    def scatter(self, interpreter: Interpreter, op: ScatterOp, args: PythonValues) -> PythonValues:
        return _given(op, args, [_scatter(op, args)])

    @implements(ScanOp)
    def scan(self, interpreter: Interpreter, op: ScanOp, args: PythonValues) -> PythonValues:
        return _given(op, args, _scan(op, args))

    @implements(SegmentReduceOp)
    def segments(
        self, interpreter: Interpreter, op: SegmentReduceOp, args: PythonValues
    ) -> PythonValues:
        return _given(op, args, _segments(op, args))

    @implements(SortOp)
    def sort(self, interpreter: Interpreter, op: SortOp, args: PythonValues) -> PythonValues:
        return _given(op, args, _sort(op, args[0]))

    @implements(FourierOp)
    def fourier(self, interpreter: Interpreter, op: FourierOp, args: PythonValues) -> PythonValues:
        return _given(op, args, [_fourier(op, args[0])])


def _given(
    op: OrderedNest | SortOp | FourierOp, args: Sequence[Any], results: Sequence[Any]
) -> tuple[Any, ...]:
    """The results, or nothing once they are written into memrefs."""
    if not op.outs:
        return tuple(results)
    for memory, result in zip(args[len(args) - len(op.outs) :], results, strict=True):
        memory[...] = result
    return ()


def _bound(op: OrderedNest, args: Sequence[Any]) -> dict[SSAValue, Any]:
    """Body arguments for the reads and sources, on arrays over the whole domain."""
    grid = grids(op.extents, 0, op.extents[0] if op.extents else 1)
    first = 1 if isinstance(op, ScatterOp | SegmentReduceOp) else 0
    inputs = args[first : first + len(op.inputs)]
    sources = args[first + len(op.inputs) :][: len(op.sources)]
    values: dict[SSAValue, Any] = {}
    arguments = op.block.args
    for argument, value, index_map in zip(arguments, inputs, op.read_maps, strict=False):
        made = np.asarray(read(value, index_map, None, grid))
        values[argument] = np.broadcast_to(made, op.extents)
    values.update(zip(arguments[len(op.inputs) :], sources, strict=False))
    for inner in op.block.ops:
        if isinstance(inner, IndexOp):
            values[inner.result] = np.broadcast_to(grid[inner.dim.value.data], op.extents)
    return values


def _run(op: OrderedNest, values: dict[SSAValue, Any], wanted: Sequence[SSAValue]) -> list[Any]:
    """What the body gives for known arguments; ops with an unknown operand are left out."""
    known = dict(values)
    for inner in op.block.ops:
        if isinstance(inner, YieldOp | IndexOp) or any(o not in known for o in inner.operands):
            continue
        if isinstance(inner, ReadOp):
            known[inner.result] = indirect(inner, known)
        else:
            known[inner.results[0]] = evaluate(inner, [known[o] for o in inner.operands])
    return [known[v] for v in wanted]


def _flat(values: dict[SSAValue, Any], op: OrderedNest) -> dict[SSAValue, Any]:
    """Scalars of the body as vectors over all points in row-major order."""
    tables = {
        argument for argument in op.block.args if isinstance(argument.type, TensorType | MemRefType)
    }
    return {key: v if key in tables else np.ravel(v) for key, v in values.items()}


def _scatter(op: ScatterOp, args: Sequence[Any]) -> Any:
    """Points in rounds: each round has at most one point for each element."""
    result = np.array(args[0])
    if 0 in op.extents:
        return result
    values = _flat(_bound(op, args), op)
    count = int(np.prod(op.extents))
    if op.mask is not None:
        [mask] = _run(op, values, [op.mask])
        taken = np.flatnonzero(np.broadcast_to(mask, count))
        values = _points(values, count, taken)
        count = len(taken)
        if not count:
            return result
    places = [np.broadcast_to(p, count) for p in _run(op, values, op.places)]
    for place, extent in zip(places, result.shape, strict=True):
        if place.min() < 0 or place.max() >= extent:
            raise ExecutionError(out_of_range(extent))
    flat = np.zeros(count, np.int64)
    for place, extent in zip(places, result.shape, strict=True):
        flat = flat * extent + place
    memory = result.reshape(-1)
    for points in _rounds(flat):
        here = _points(values, count, points)
        here[op.block.args[-1]] = memory[flat[points]]
        [made] = _run(op, here, [op.value])
        memory[flat[points]] = made
    return result


def _points(values: dict[SSAValue, Any], count: int, points: Any) -> dict[SSAValue, Any]:
    """Of vectors over `count` points those of some of these."""
    return {
        key: v[points] if not _is_table(key) and np.shape(v) == (count,) else v
        for key, v in values.items()
    }


def _rounds(targets: Any) -> list[Any]:
    """Points by how many earlier ones have their target."""
    order = np.argsort(targets, kind="stable")
    ordered = targets[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(ordered)])
    earlier = np.empty(len(targets), np.int64)
    earlier[order] = np.arange(len(ordered)) - np.repeat(starts, lengths)
    return [np.flatnonzero(earlier == number) for number in range(int(earlier.max()) + 1)]


def _scan(op: ScanOp, args: Sequence[Any]) -> list[Any]:
    written = [v.type for v in (op.outs or op.res)]
    results = [np.zeros(op.extents, numpy_dtype(t.element_type)) for t in written]  # pyright: ignore
    if 0 in op.extents:
        return results
    values = _bound(op, args)
    carried = op.block.args[len(op.inputs) + len(op.sources) :]
    others = [extent for dim, extent in enumerate(op.extents) if dim != op.dim]
    state = [np.full(others, s.value.data).astype(numpy_dtype(s.type)) for s in op.starts]
    scalars = {k: np.shape(v) == op.extents and not _is_table(k) for k, v in values.items()}
    for at in range(op.extents[op.dim]):
        here = {k: np.take(v, at, op.dim) if scalars[k] else v for k, v in values.items()}
        here.update(zip(carried, state, strict=True))
        made = _run(op, here, op.yielded)
        state = [np.broadcast_to(m, others) for m in made[: len(state)]]
        where = tuple(at if dim == op.dim else slice(None) for dim in range(len(op.extents)))
        for result, value in zip(results, made[len(state) :], strict=True):
            result[where] = value
    return results


def _segments(op: SegmentReduceOp, args: Sequence[Any]) -> list[Any]:
    """One position of a segment after the other, all columns at once."""
    written = [v.type for v in (op.outs or op.res)]
    results = [np.zeros(op.kept_extents, numpy_dtype(t.element_type)) for t in written]  # pyright: ignore
    if 0 in op.kept_extents:
        return results
    offsets = np.asarray(args[0])
    if (np.diff(offsets) < 0).any() or offsets[0] < 0 or offsets[-1] > op.extents[1]:
        raise ExecutionError(
            f"offsets of segments must not fall, and lie between 0 and {op.extents[1]}"
        )
    values = _bound(op, args)
    carried = op.block.args[len(op.inputs) + len(op.sources) :]
    columns = op.extents[2:]
    scalars = {k: np.shape(v) == op.extents and not _is_table(k) for k, v in values.items()}
    for segment, (low, high) in enumerate(pairwise(offsets)):
        state = [np.full(columns, s.value.data).astype(numpy_dtype(s.type)) for s in op.starts]
        for at in range(low, high):
            here = {k: v[segment, at] if scalars[k] else v for k, v in values.items()}
            here.update(zip(carried, state, strict=True))
            state = [np.broadcast_to(m, columns) for m in _run(op, here, op.yielded)]
        for result, value in zip(results, state, strict=False):
            result[segment] = value
    return results


def _is_table(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType | MemRefType)


def _sort(op: SortOp, x: Any) -> list[Any]:
    """Stable; NaN last, or first if descending. Working memory is left as nobody wrote it."""
    if x.dtype.kind not in "biuf":
        x = x.astype(np.float32)
    if op.descending is None:
        order = np.argsort(x, axis=-1, kind="stable")
    else:
        # Ties keep their order if the reversed row is sorted and read backwards.
        turned = np.argsort(np.flip(x, -1), axis=-1, kind="stable")
        order = x.shape[-1] - 1 - np.flip(turned, -1)
    values = np.take_along_axis(x, order, axis=-1)
    start, count = op.window or (0, x.shape[-1])
    made = [v[..., start : start + count] for v in (values, order)]
    rest = x.shape[-1] if op.window is None else x.shape[-1] + count
    shape = (*x.shape[:-1], rest)
    return [*made, *(unwritten(shape, v.dtype) for v in (values, order))]


def _fourier(op: FourierOp, x: Any) -> Any:
    """By NumPy, which has complex numbers."""
    kind, columns = op.kind.data, op.columns is not None
    given = x if kind == "r2c" else x[..., 0] + 1j * x[..., 1]
    inverse, scale = op.inverse is not None, op.scale.value.data
    given = np.swapaxes(given, -1, -2) if columns else given
    whole = op.is_whole
    found = transformed(given, kind, op.size, scale, inverse=inverse, onesided=not whole)
    found = np.swapaxes(found, -1, -2) if columns else found
    return found if kind == "c2r" else np.stack([np.real(found), np.imag(found)], -1)
