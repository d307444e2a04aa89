"""Ops on tensors of unknown size, as ops on the arrays that they meet when a program runs."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from lamina.dialects.schema.names import NoResultRuleError
from lamina.dialects.schema.op import SchemaOp


def depends_on_data(op: Operation) -> bool:
    """Whether an operand is a number, or any type has a dimension that only the data tell."""
    return any(_is_open(value.type) for value in (*op.operands, *op.results))


def _is_open(kind: Attribute) -> bool:
    return not isinstance(kind, TensorType) or any(extent < 0 for extent in kind.get_shape())


def specialized(op: SchemaOp, args: tuple[Any, ...]) -> tuple[SchemaOp, tuple[Any, ...]]:
    """The same op on tensors of the sizes that `args` have, and its arguments.

    Numbers become constants. The new op stands in a block of its own whose end uses its results;
    result types are those of its rule where there is one.
    """
    block = Block()
    values: dict[SSAValue, Any] = {}
    arrays: dict[SSAValue, Any] = {}
    for operand, arg in zip(op.operands, args, strict=True):
        if operand in values:
            continue
        kind = operand.type
        if isinstance(kind, TensorType):
            static = TensorType(kind.element_type, arg.shape)
            values[operand] = block.insert_arg(static, len(block.args))
            arrays[values[operand]] = arg
        else:
            values[operand] = arg.item() if hasattr(arg, "item") else arg
    arguments = {name: _with(value, values) for name, value in op.args().items()}
    try:
        made = type(op)(**arguments, result_types=None if op.results else [])
    except NoResultRuleError:
        made = type(op)(**arguments, result_types=[result.type for result in op.results])
    block.add_ops([made, ReturnOp(*made.results)])
    return made, tuple(arrays[operand] for operand in made.operands)


def _with(value: Any, values: dict[SSAValue, Any]) -> Any:
    if isinstance(value, SSAValue):
        return values[value]
    if isinstance(value, list):
        return [_with(entry, values) for entry in value]
    return value
