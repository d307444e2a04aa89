"""Primitives that make tensors from nothing."""

from __future__ import annotations

from math import isfinite

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, lowers
from lamina.lowering.tensor_types import element_of, shape_of


@lowers("full", "full_like", "fill", "scalar_tensor", "empty", "empty_strided", "empty_permuted")
def _full(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """A constant everywhere; what torch leaves uninitialized is zero here."""
    element = element_of(op.results[0])
    name = next((n for n in ("fill_value", "value", "s") if op.schema.arg(n)), None)
    value = op.arg(name) if name else 0
    if isinstance(value, float) and not isfinite(value) and isinstance(element, IntegerType):
        raise b.refuse(f"{value} is no number of {element}")
    return b.pointwise(
        [], element, lambda inner, _: inner.constant(value, element), shape_of(op.results[0])
    )


@lowers("iota")
def _iota(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """start + step * i."""
    element = element_of(op.results[0])
    start, step = op.arg("start"), op.arg("step")

    def body(inner: Body, _: list[SSAValue]) -> SSAValue:
        at = inner.index(0)
        count = inner.add(arith.IndexCastOp(at, i64))
        if step != 1:
            count = scalar.mul(inner, count, inner.constant(step, i64))
        if start:
            count = scalar.add(inner, count, inner.constant(start, i64))
        return scalar.convert(inner, count, element)

    return b.pointwise([], element, body, shape_of(op.results[0]))
