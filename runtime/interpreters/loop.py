"""The structured loop layer over NumPy: a nest's body is evaluated on arrays over its domain.

Domains are cut along their first dimension so that temporaries stay small; contractions go through
einsum. Memory is not modelled: this is the meaning of nests on tensors.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, register_impls
from xdsl.interpreter import impl as implements
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from lamina.dialects.errors import ExecutionError
from lamina.dialects.loop import GenericOp, IndexOp, KernelOp, ReadOp, ReshapeOp, ReturnOp, YieldOp
from lamina.dialects.loop.access import forms_of, is_contraction
from lamina.dialects.loop.linear import Linear
from lamina.runtime.interpreters.loop_body import REDUCE, evaluate
from lamina.runtime.interpreters.values import numpy_dtype

CHUNK_POINTS = 1 << 22
"""Domain points evaluated at once."""


@register_impls
class LoopFunctions(InterpreterFunctions):
    """xDSL interpreter functions of the structured loop ops."""

    @implements(GenericOp)
    def generic(self, interpreter: Interpreter, op: GenericOp, args: PythonValues) -> PythonValues:
        return tuple(run_generic(op, args))

    @implements(ReshapeOp)
    def reshape(self, interpreter: Interpreter, op: ReshapeOp, args: PythonValues) -> PythonValues:
        assert isinstance(op.result.type, TensorType)
        return (np.ascontiguousarray(args[0]).reshape(op.result.type.get_shape()),)

    @implements(KernelOp)
    def kernel(self, interpreter: Interpreter, op: KernelOp, args: PythonValues) -> PythonValues:
        values: dict[SSAValue, Any] = dict(zip(op.block.args, args, strict=True))
        for inner in op.block.ops:
            if isinstance(inner, ReturnOp):
                break
            given = tuple(values[o] for o in inner.operands)
            if isinstance(inner, GenericOp):
                made: PythonValues = tuple(run_generic(inner, given))
            else:
                made = interpreter.run_op(inner, given)
            values.update(zip(inner.results, made, strict=True))
        terminator = op.block.last_op
        assert terminator is not None
        return tuple(values[o] for o in terminator.operands)


def functions(op_classes: Collection[type[Operation]]) -> InterpreterFunctions:
    """Implementations for the loop layer; bodies are evaluated by the nests themselves."""
    return LoopFunctions()


def run_generic(op: GenericOp, args: Sequence[Any]) -> list[Any]:
    """The results of one nest on tensors."""
    inputs = args[: len(op.inputs)]
    sources = args[len(op.inputs) :]
    if is_contraction(op):
        return [_contract(op, inputs)]
    results = [
        _initial(combiner, r.type) for combiner, r in zip(op.combiner_names, op.res, strict=True)
    ]
    extents = op.extents
    if 0 in extents:
        return results
    first = extents[0] if extents else 1
    step = max(1, CHUNK_POINTS // max(1, prod(extents[1:])))
    for low in range(0, first, step):
        _run_chunk(op, inputs, sources, results, low, min(first, low + step))
    return results


def _contract(op: GenericOp, inputs: Sequence[Any]) -> Any:
    extents = op.extents
    names = "abcdefghijklmnopqrstuvwxyz"
    grids = _grids(extents, 0, extents[0])
    operands: list[Any] = []
    spec: list[str] = []
    for value, index_map, pad in zip(inputs, op.read_maps, op.pad_values, strict=True):
        used = sorted(index_map.used_dims())
        gathered = np.asarray(_read(value, index_map, pad, grids))
        operands.append(gathered.reshape([extents[d] for d in used]))
        spec.append("".join(names[d] for d in used))
    kept = sorted(op.write_maps[0].used_dims())
    target = "".join(names[d] for d in kept)
    made = np.einsum(f"{spec[0]},{spec[1]}->{target}", *operands, optimize=True)
    full = made.reshape([extents[d] if d in kept else 1 for d in range(len(extents))])
    result = _initial("add", op.res[0].type)
    where = [_evaluate_expr(e, grids) for e in op.write_maps[0].results]
    shape = np.broadcast_shapes(*(w.shape for w in where)) if where else ()
    result[tuple(where)] = full.reshape(shape).astype(result.dtype)
    return result


def _initial(combiner: str, kind: Attribute) -> Any:
    assert isinstance(kind, TensorType)
    dtype = numpy_dtype(kind.get_element_type())
    shape = kind.get_shape()
    if combiner in ("store", "add", "or"):
        return np.zeros(shape, dtype)
    if combiner in ("mul", "and"):
        return np.full(shape, -1 if combiner == "and" and dtype.kind == "i" else 1, dtype)
    if dtype.kind == "f":
        return np.full(shape, -np.inf if combiner == "max" else np.inf, dtype)
    if dtype.kind == "b":
        return np.full(shape, combiner == "min", dtype)
    limits = np.iinfo(dtype.name)
    return np.full(shape, limits.min if combiner == "max" else limits.max, dtype)


def _grids(extents: Sequence[int], low: int, high: int) -> dict[int, Any]:
    """An index array for each dimension, shaped to broadcast over the domain."""
    rank = len(extents)
    grids: dict[int, Any] = {}
    for dim, extent in enumerate(extents):
        run = np.arange(low, high) if dim == 0 else np.arange(extent)
        grids[dim] = run.reshape([-1 if p == dim else 1 for p in range(rank)])
    return grids


def _evaluate_expr(expr: AffineExpr, grids: dict[int, Any]) -> Any:
    """An affine expression over index arrays; numbers stay numbers."""
    from xdsl.ir.affine import (
        AffineBinaryOpExpr,
        AffineBinaryOpKind,
        AffineConstantExpr,
        AffineDimExpr,
    )

    match expr:
        case AffineConstantExpr():
            return np.asarray(expr.value)
        case AffineDimExpr():
            return grids[expr.position]
        case AffineBinaryOpExpr():
            left, right = _evaluate_expr(expr.lhs, grids), _evaluate_expr(expr.rhs, grids)
            match expr.kind:
                case AffineBinaryOpKind.Add:
                    return left + right
                case AffineBinaryOpKind.Mul:
                    return left * right
                case AffineBinaryOpKind.FloorDiv:
                    return left // right
                case AffineBinaryOpKind.CeilDiv:
                    return -(-left // right)
                case AffineBinaryOpKind.Mod:
                    return left % right
        case _:
            raise ValueError(f"no value for {expr}")


def _read(value: Any, index_map: AffineMap, pad: Attribute | None, grids: dict[int, Any]) -> Any:
    indices = [_evaluate_expr(e, grids) for e in index_map.results]
    if not indices:
        return value
    if pad is None:
        return value[tuple(indices)]
    assert isinstance(pad, FloatAttr | IntegerAttr)
    inside = np.asarray(True)
    safe: list[Any] = []
    for index, extent in zip(indices, value.shape, strict=True):
        fits = (index >= 0) & (index < extent)
        inside = inside & fits
        safe.append(np.where(fits, index, 0))
    fill = np.asarray(pad.value.data).astype(value.dtype)
    if 0 in value.shape:
        return np.broadcast_to(fill, inside.shape)
    return np.where(inside, value[tuple(safe)], fill)


def _run_chunk(
    op: GenericOp,
    inputs: Sequence[Any],
    sources: Sequence[Any],
    results: list[Any],
    low: int,
    high: int,
) -> None:
    extents = op.extents
    grids = _grids(extents, low, high)
    shape = (high - low, *extents[1:]) if extents else ()
    values: dict[SSAValue, Any] = {}
    reads = zip(inputs, op.read_maps, op.pad_values, strict=True)
    for argument, (value, index_map, pad) in zip(op.block.args, reads, strict=False):
        values[argument] = _read(value, index_map, pad, grids)
    values.update(zip(op.block.args[len(inputs) :], sources, strict=True))
    for inner in op.block.ops:
        match inner:
            case YieldOp():
                break
            case IndexOp():
                values[inner.result] = grids[inner.dim.value.data]
            case ReadOp():
                values[inner.result] = _indirect(inner, values)
            case _:
                given = [values[o] for o in inner.operands]
                values[inner.results[0]] = evaluate(inner, given)
    for number, yielded in enumerate(op.yielded):
        full = np.broadcast_to(values[yielded], shape)
        combiner, index_map = op.combiner_names[number], op.write_maps[number]
        results[number] = _write(results[number], full, combiner, index_map, extents, grids)


def _indirect(op: ReadOp, values: dict[SSAValue, Any]) -> Any:
    source = values[op.source]
    indices = [np.asarray(values[i]) for i in op.indices]
    for index, extent in zip(indices, source.shape, strict=True):
        if index.size and (index.min() < 0 or index.max() >= extent):
            raise ExecutionError(f"index out of range: must be at least 0 and below {extent}")
    return source[tuple(indices)]


def _write(
    result: Any,
    values: Any,
    combiner: str,
    index_map: AffineMap,
    extents: Sequence[int],
    grids: dict[int, Any],
) -> Any:
    kept = sorted(index_map.used_dims())
    rest = tuple(d for d in range(len(extents)) if d not in kept)
    if combiner != "store" and rest:
        values = REDUCE[combiner].reduce(values, axis=rest, dtype=result.dtype, keepdims=True)
    elif rest:
        values = values[
            tuple(slice(None) if d in kept else slice(0, 1) for d in range(len(extents)))
        ]
    forms = forms_of(index_map, extents)
    assert forms is not None
    if not forms:
        scalar = np.asarray(values).reshape(())
        joined = scalar if combiner == "store" else REDUCE[combiner](result, scalar)
        return np.asarray(joined, dtype=result.dtype)
    shape = [values.shape[d] if d in kept else 1 for d in range(len(extents))]
    where = tuple(np.broadcast_to(_form(f, grids, kept), shape) for f in forms)
    if combiner == "store":
        result[where] = values
    else:
        result[where] = REDUCE[combiner](result[where], values)
    return result


def _form(form: Linear, grids: dict[int, Any], kept: Sequence[int]) -> Any:
    total: Any = np.asarray(form.constant)
    for dim, coefficient in form.terms:
        total = total + grids[dim] * coefficient
    return total
