"""The loop layer over NumPy: a nest's body is evaluated on arrays over its domain.

Domains are cut along their first dimension so that temporaries stay small; contractions go through
einsum. Nests on tensors, nests that write into memrefs and scheduled loops all run, so that each
pass can be checked by running before and after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from importlib import import_module
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, register_impls
from xdsl.interpreter import impl as implements
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.loop import (
    TEAM_OPS,
    UNSTRUCTURED_OPS,
    ExternOp,
    GenericOp,
    IndexOp,
    KernelOp,
    ReadOp,
    ReshapeOp,
    ReturnOp,
    YieldOp,
)
from lamina.dialects.loop.access import is_contraction
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.packing import in_matrix_tiles, is_packed_by_tasks
from lamina.dialects.loop.tiles import TILE_OPS
from lamina.dialects.places import place_of
from lamina.runtime.extern_kernels.binding import Call
from lamina.runtime.extern_kernels.failures import failure
from lamina.runtime.interpreters.aten import TableFunctions
from lamina.runtime.interpreters.callees import called_program
from lamina.runtime.interpreters.loop_access import (
    evaluate_expr,
    grids,
    indirect,
    read,
    slice_grids,
)
from lamina.runtime.interpreters.loop_body import VECTOR_FORMS, evaluate
from lamina.runtime.interpreters.loop_bounds import (
    behind,
    bounded_dim,
    cut_at,
    leave_out,
    outside,
)
from lamina.runtime.interpreters.loop_reduce import identities, write
from lamina.runtime.interpreters.values import numpy_dtype

CHUNK_POINTS = 1 << 22
"""Domain points evaluated at once."""

EVALUATED = VECTOR_FORMS | {
    "vector.fma",
    "vector.bitcast",
    "loop.special",
    "loop.dot_pairs",
    "loop.compress",
}
"""Ops besides arith and math that are one NumPy call on their operands."""

SCHEDULED: dict[str, tuple[str, str]] = {
    "memref": ("loop_memory", "MemoryFunctions"),
    "vector": ("loop_vector", "VectorFunctions"),
    "scf": ("loop_control", "ControlFunctions"),
    "cf": ("loop_control", "ControlFunctions"),
}
"""Dialects of the scheduled level: module beside this one, and class."""


@register_impls
class LoopFunctions(InterpreterFunctions):
    """xDSL interpreter functions of the structured loop ops."""

    @implements(GenericOp)
    def generic(self, interpreter: Interpreter, op: GenericOp, args: PythonValues) -> PythonValues:
        return tuple(run_generic(op, args, cut_at(op, interpreter)))

    @implements(ReshapeOp)
    def reshape(self, interpreter: Interpreter, op: ReshapeOp, args: PythonValues) -> PythonValues:
        kind = op.result.type
        assert isinstance(kind, TensorType | MemRefType)
        # Memrefs are contiguous, so that their reshape sees the same memory.
        flat = np.ascontiguousarray(args[0]).reshape(-1)
        return (flat.view(numpy_dtype(kind.element_type)).reshape(kind.get_shape()),)

    @implements(ExternOp)
    def extern(self, interpreter: Interpreter, op: ExternOp, args: PythonValues) -> PythonValues:
        inputs = args[: len(op.inputs)]
        made = called_program(op, inputs)
        made = _called(op, inputs) if made is None else made
        for out, value in zip(args[len(inputs) : len(inputs) + len(op.outs)], made, strict=False):
            out[...] = value
        return () if op.outs else tuple(made)

    @implements(KernelOp)
    def kernel(self, interpreter: Interpreter, op: KernelOp, args: PythonValues) -> PythonValues:
        values: dict[SSAValue, Any] = dict(zip(op.block.args, args, strict=True))
        for inner in op.block.ops:
            given = tuple(values[o] for o in inner.operands)
            if isinstance(inner, ReturnOp):
                return given
            made = interpreter.run_op(inner, given)
            values.update(zip(inner.results, made, strict=True))
        raise AssertionError("a kernel ends in loop.return")


class _Several(InterpreterFunctions):
    """The implementations of several classes as one."""

    def __init__(self, parts: Sequence[InterpreterFunctions]) -> None:
        self.parts = parts

    def _impls(self) -> Iterable[Any]:  # pyright: ignore
        # Each keeps its own class as `self`, which none of them uses.
        return chain.from_iterable(part._impls() for part in self.parts)  # pyright: ignore

    def _cast_impls(self) -> Iterable[Any]:  # pyright: ignore
        return ()

    def _attr_impls(self) -> Iterable[Any]:
        return ()

    def _ext_impls(self) -> Iterable[Any]:  # pyright: ignore
        return ()

    def _callable_impls(self) -> Iterable[Any]:  # pyright: ignore
        return ()


def functions(op_classes: Collection[type[Operation]]) -> InterpreterFunctions:
    """Implementations for these op classes of the structured and the scheduled loop layer."""
    single: dict[type[Operation], Any] = {}
    modules: dict[tuple[str, str], None] = {}
    if any(op_class.name.startswith("loop.") for op_class in op_classes):
        modules["loop_memory", "MemoryFunctions"] = None
    if any(op_class in UNSTRUCTURED_OPS for op_class in op_classes):
        modules["loop_ordered", "OrderedFunctions"] = None
    if any(op_class in TILE_OPS for op_class in op_classes):
        modules["loop_tiles", "TileFunctions"] = None
    if any(op_class in TEAM_OPS for op_class in op_classes):
        modules["loop_team", "TeamFunctions"] = None
    for op_class in op_classes:
        dialect = op_class.name.partition(".")[0]
        if dialect in ("arith", "math") or op_class.name in EVALUATED:
            single[op_class] = _evaluated
        elif dialect in SCHEDULED:
            modules[SCHEDULED[dialect]] = None
    parts: list[InterpreterFunctions] = [LoopFunctions(), TableFunctions(single)]
    for module, name in modules:
        parts.append(getattr(import_module(f"lamina.runtime.interpreters.{module}"), name)())
    return _Several(parts)


def _evaluated(interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
    return (evaluate(op, list(args)),)


def _called(op: ExternOp, inputs: Sequence[Any]) -> list[Any]:
    """The results of an extern kernel; what it raises is an error of the run, as in native code."""
    call = Call.of(op.signature)
    try:
        return call.run(inputs)
    except Exception as error:
        raise failure(call, place_of(op), error) from error


def run_generic(op: GenericOp, args: Sequence[Any], terms: int | None = None) -> list[Any]:
    """The results of one nest on tensors; nothing for a nest that writes into memrefs.

    Of a sum that is cut (`lamina.cut`) the first `terms` are added up.
    """
    reads, sources = len(op.inputs), len(op.inputs) + len(op.sources)
    outs = sources + len(op.outs)
    if op.slices:
        run_slice(op, args[:reads], args[reads:sources], args[sources:outs], args[outs:])
        return []
    results = _run(op, args[:reads], args[reads:sources], args[sources:outs], terms)
    return [] if op.outs else results


def _run(
    op: GenericOp,
    inputs: Sequence[Any],
    sources: Sequence[Any],
    outs: Sequence[Any],
    terms: int | None,
) -> list[Any]:
    extents = op.extents
    if is_contraction(op):
        made = outs[0] if outs else _filled(op.written_types[0], 0)
        _contract(op, inputs, made, terms)
        return [made]
    results = list(outs)
    for number, (kind, start) in enumerate(zip(op.written_types, identities(op), strict=True)):
        if not outs:
            results.append(_filled(kind, start))
        elif op.combiner_names[number] != "store":  # starts anew, in the places that it writes
            results[number][_written_places(op, number)] = start
    if 0 in extents:
        return results
    first = extents[0] if extents else 1
    step = max(1, CHUNK_POINTS // max(1, prod(extents[1:])))
    for low in range(0, first, step):
        grid = grids(extents, low, min(first, low + step))
        _run_chunk(op, inputs, sources, results, grid)
    return results


def run_slice(
    op: GenericOp,
    inputs: Sequence[Any],
    sources: Sequence[Any],
    outs: Sequence[Any],
    indices: Sequence[Any],
) -> None:
    """Run the part of a nest that begins at the first of `indices`, into memory; others are steps.

    Reductions begin anew where it begins at 0 in every dimension that they reduce.
    """
    if 0 in op.extents:
        return
    grid = slice_grids(op.extents, op.slices, indices)
    writes = zip(outs, op.write_maps, op.combiner_names, identities(op), strict=True)
    for out, index_map, combiner, start in writes:
        kept = index_map.used_dims()
        reduced = (n for n, entry in enumerate(op.slices) if not kept.issuperset(entry.dims))
        if combiner != "store" and all(indices[number] == 0 for number in reduced):
            where = [evaluate_expr(e, grid) for e in index_map.results]
            out[tuple(np.broadcast_arrays(*where)) if where else ...] = start
    _run_chunk(op, inputs, sources, list(outs), grid)


def _written_places(op: GenericOp, number: int) -> Any:
    """An index of all elements that a write reaches, which may be a part of its memory."""
    grid = grids(op.extents, 0, op.extents[0] if op.extents else 1)
    where = [evaluate_expr(e, grid) for e in op.write_maps[number].results]
    return tuple(np.broadcast_arrays(*where)) if where else ...


def _contract(op: GenericOp, inputs: Sequence[Any], result: Any, terms: int | None) -> None:
    """Write a sum of products, all at once; of one that is cut the first `terms`."""
    extents = op.extents
    names = "abcdefghijklmnopqrstuvwxyz"
    grid = grids(extents, 0, extents[0])
    operands: list[Any] = []
    spec: list[str] = []
    left_out = outside(op, grid)
    shape = Contraction.of(op) if left_out is not None else None
    summed = None
    if shape is not None and bounded_dim(op) in shape.summed:
        summed = shape.a
    for value, index_map, pad in zip(inputs, op.read_maps, op.pad_values, strict=True):
        used = sorted(index_map.used_dims())
        gathered = np.asarray(read(value, index_map, pad, grid))
        if left_out is not None and len(operands) == summed:
            gathered = np.where(left_out, np.zeros_like(gathered), gathered)
        if terms is not None:
            gathered = np.where(behind(op, grid, terms), np.zeros_like(gathered), gathered)
        is_half = gathered.itemsize == 2 and gathered.dtype.kind not in "iu"
        if in_matrix_tiles(op) or (is_packed_by_tasks(op) and is_half):
            # Half floats, widened in the body.
            gathered = gathered.astype(np.float32)
        operands.append(gathered.reshape([extents[d] for d in used]))
        spec.append("".join(names[d] for d in used))
    read_dims = {dim for index_map in op.read_maps for dim in index_map.used_dims()}
    kept = op.write_maps[0].used_dims()
    target = "".join(names[d] for d in sorted(kept & read_dims))
    # BLAS takes one element for a factor, and leaves zeros out: 0 times what is no number is 0.
    optimize = all(operand.size != 1 for operand in operands)
    made = np.einsum(f"{spec[0]},{spec[1]}->{target}", *operands, optimize=optimize)
    # What no operand varies along is the same everywhere, and summed as often as it is there.
    made = made * prod(e for d, e in enumerate(extents) if d not in kept | read_dims)
    full = made.reshape([e if d in kept & read_dims else 1 for d, e in enumerate(extents)])
    full = np.array(np.broadcast_to(full, [e if d in kept else 1 for d, e in enumerate(extents)]))
    if left_out is not None and summed is None:
        full[np.broadcast_to(left_out, full.shape)] = np.nan
    where = [evaluate_expr(e, grid) for e in op.write_maps[0].results]
    shape = np.broadcast_shapes(*(w.shape for w in where)) if where else ()
    result[tuple(where)] = full.reshape(shape).astype(result.dtype)


def _filled(kind: Attribute, start: Any) -> Any:
    """The result before anything is combined into it."""
    assert isinstance(kind, TensorType | MemRefType)
    return np.full(kind.get_shape(), start, numpy_dtype(kind.element_type))


def _run_chunk(
    op: GenericOp,
    inputs: Sequence[Any],
    sources: Sequence[Any],
    results: list[Any],
    grid: dict[int, Any],
) -> None:
    shape = np.broadcast_shapes(*(index.shape for index in grid.values()))
    values: dict[SSAValue, Any] = {}
    reads = zip(inputs, op.read_maps, op.pad_values, strict=True)
    for argument, (value, index_map, pad) in zip(op.block.args, reads, strict=False):
        values[argument] = read(value, index_map, pad, grid)
    values.update(zip(op.block.args[len(inputs) :], sources, strict=True))
    for inner in op.block.ops:
        match inner:
            case YieldOp():
                break
            case IndexOp():
                values[inner.result] = grid[inner.dim.value.data]
            case ReadOp():
                values[inner.result] = indirect(inner, values)
            case _:
                given = [values[o] for o in inner.operands]
                values[inner.results[0]] = evaluate(inner, given)
    # All values before any write: what is written may be what was read.
    yielded = [np.array(np.broadcast_to(values[v], shape)) for v in op.yielded]
    left_out = outside(op, grid)
    if left_out is not None:
        for number, start in enumerate(identities(op)):
            leave_out(op, number, yielded[number], start, left_out)
    write(op, results, yielded, grid)
