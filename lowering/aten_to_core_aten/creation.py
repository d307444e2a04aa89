"""Tensors from nothing: constants, ranges, identity matrices."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_bool, is_float, shape_of


def _filled(op: SchemaOp, b: CoreBuilder, value: float | int | bool) -> SSAValue:
    """The result's shape and dtype, one value."""
    element = element_of(op.results[0])
    if is_bool(element):
        value = bool(value)
    elif is_float(element):
        value = float(value)
    return b.full(shape_of(op.results[0]), value, element)


@lowers("zeros", "zeros_like", "new_zeros", "zero", "full_like", "new_full", "full", "fill.Scalar")
@lowers("ones", "ones_like", "new_ones", "scalar_tensor")
@lowers("_efficientzerotensor", "_new_zeros_with_same_feature_meta")
def constant(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """full of the result's shape."""
    name = op.overload_name.partition(".")[0]
    if "ones" in name or "zero" in name:
        return _filled(op, b, 1 if "ones" in name else 0)
    value = next(op.arg(a.name) for a in op.schema.args if a.name in ("fill_value", "value", "s"))
    if isinstance(value, SSAValue):
        raise b.refuse("a fill value that is computed", "a constant")
    return _filled(op, b, value)


@lowers("fill.Tensor")
def fill_tensor(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """A 0-d tensor, broadcast."""
    value = b.cast(op.arg("value"), element_of(op.results[0]))
    return b.expand(value, shape_of(op.results[0]))


@lowers(
    "empty.memory_format",
    "empty_like",
    "new_empty",
    "empty_strided",
    "new_empty_strided",
    "empty_permuted",
)
def empty(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Any contents are right; zeros are reproducible."""
    return _filled(op, b, 0)


@lowers("arange", "arange.start", "arange.start_step")
def arange(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """start and step filled in."""
    names = {argument.name for argument in op.schema.args}
    start = op.arg("start") if "start" in names else 0
    step = op.arg("step") if "step" in names else 1
    return b("arange.start_step", start, op.arg("end"), step, dtype=element_of(op.results[0]))


@lowers("eye", "eye.m")
def eye(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """1 where row and column agree."""
    rows, columns = shape_of(op.results[0])
    row = b.view(b("arange.start_step", 0, rows, 1, dtype=i64), [rows, 1])
    equal = b("eq.Tensor", row, b("arange.start_step", 0, columns, 1, dtype=i64))
    return b.cast(equal, element_of(op.results[0]))


@lowers("one_hot")
def one_hot(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Compared with all classes; out of range indices give zeros."""
    x, classes = op.arg("self"), shape_of(op.results[0])[-1]
    line = b("arange.start_step", 0, classes, 1, dtype=i64)
    return b.cast(b("eq.Tensor", b("unsqueeze", x, -1), line), i64)
