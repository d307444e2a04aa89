"""Constants and ranges."""

from __future__ import annotations

from xdsl.dialects.builtin import f64, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_float, shape_of


@lowers("full", "full_like", "fill.Scalar", "scalar_tensor")
def full(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.full."""
    name = next(a.name for a in op.schema.args if a.name in ("fill_value", "value", "s"))
    return b.full(shape_of(op.results[0]), op.arg(name), element_of(op.results[0]))


@lowers("empty.memory_format", "empty_strided")
def empty(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Any contents are right; zeros are reproducible."""
    return b.full(shape_of(op.results[0]), 0, element_of(op.results[0]))


@lowers("arange.start_step")
def arange(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.iota; float ranges are computed in f64, as torch does on the CPU."""
    start, step = op.arg("start"), op.arg("step")
    element: Attribute = element_of(op.results[0])
    (length,) = shape_of(op.results[0])
    if not is_float(element):
        # Torch computes integer ranges with truncated bounds (RangeFactoriesKernel.cpp).
        return b.convert(b.iota(length, i64, int(start), int(step)), element)
    if isinstance(start, int) and isinstance(step, int):
        return b.convert(b.iota(length, i64, int(start), int(step)), element)
    index = b.convert(b.iota(length, i64), f64)
    value = b.with_number("add", b.with_number("mul", index, step), start)
    return b.convert(value, element)
