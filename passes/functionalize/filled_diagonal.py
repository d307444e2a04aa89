"""The functional form of `fill_diagonal_`, which has none in the table of overloads."""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue

from lamina.dialects import aten
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.functionalize.view_chains import inserted
from lamina.passes.refusal import unsupported


def filled_diagonal(op: SchemaOp) -> SSAValue:
    """The tensor with a number wherever all indices are equal; any number of equal dims, or two.

    With `wrap`, the diagonal of a tall matrix starts anew one row after it has ended.
    """
    source: SSAValue = op.arg("self")
    assert isinstance(source.type, TensorType)
    shape = list(source.type.get_shape())
    if DYNAMIC_INDEX in shape:
        raise unsupported(op, "fills the diagonal of a tensor with dynamic dimensions")
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise unsupported(op, "needs a matrix, or a tensor whose dimensions are equal")
    size = prod(shape)
    step = sum(prod(shape[dim + 1 :]) for dim in range(len(shape)))
    wraps = op.arg("wrap") and len(shape) == 2 and shape[0] > shape[1] + 1
    count = -(-size // step) if wraps else min(shape)
    if not size:
        return source
    number = op.arg("fill_value")
    flat = _made(op, "reshape.default", source, [size])
    values = _made(op, "full.default", [count], number, dtype=source.type.element_type)
    end = (count - 1) * step + 1
    filled = _made(op, "slice_scatter.default", flat, values, 0, 0, end, step)
    return _made(op, "reshape.default", filled, shape)


def _made(op: SchemaOp, name: str, *args: Any, **keywords: Any) -> SSAValue:
    op_class: Any = aten.op(name)
    return inserted(op_class(*args, **keywords), op).results[0]
