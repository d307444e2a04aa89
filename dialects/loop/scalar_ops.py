"""Scalar ops by name, and ops of scalars or vectors without xDSL's constructors, which take three
to ten times as long."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, i1, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from lamina.dialects.loop.segments import integer64
from lamina.dialects.plain_ops import plain_op

_FLOATS = frozenset(get_args(AnyFloat))


@cache
def _scalar_ops() -> dict[str, type[Operation]]:
    return {op.name: op for op in (*arith.Arith.operations, *math.Math.operations)}


def scalar_op_class(name: str) -> type[Operation]:
    """The op of `arith` or `math` with a name such as `math.exp`. Raises KeyError."""
    return _scalar_ops()[name]


def constant_op(value: Any) -> arith.ConstantOp:
    """`arith.constant` of a number, or of a vector's numbers, as an attribute with its type."""
    return plain_op(arith.ConstantOp, (), (value.get_type(),), {"value": value})


def constant_integer(value: SSAValue) -> int | None:
    """The number that an integer or an index is, if an `arith.constant` gives it."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def scalar_op(
    kind: type[Operation], *operands: SSAValue, result: Attribute | None = None
) -> Operation:
    """What the constructor of an op of `arith`, `math` or `vector` makes of its operands alone.

    Its result has the type `result`, that of the last operand if that is not given.
    """
    made = operands[-1].type if result is None else result
    return plain_op(kind, operands, (made,))  # pyright: ignore[reportArgumentType]


def select_op(on: SSAValue, left: SSAValue, right: SSAValue) -> arith.SelectOp:
    """`arith.select`: `left` where `on` holds, else `right`."""
    return plain_op(arith.SelectOp, (on, left, right), (left.type,))


def compare_op(left: SSAValue, right: SSAValue, predicate: str) -> arith.CmpiOp | arith.CmpfOp:
    """`arith.cmpf` of floats, `arith.cmpi` of all others, by the name of the predicate."""
    is_float = type(left.type) in _FLOATS
    return plain_op(
        arith.CmpfOp if is_float else arith.CmpiOp,
        (left, right),
        (i1,),
        {"predicate": predicate_number(predicate, is_float=is_float)},
    )


@cache
def predicate_number(predicate: str, *, is_float: bool) -> Attribute:
    """How ops say a predicate. Raises ValueError for a name that is none."""
    names = arith.CMPF_COMPARISON_OPERATIONS if is_float else arith.CMPI_COMPARISON_OPERATIONS
    return integer64(names.index(predicate))


def binary_op(kind: type[Operation], left: SSAValue, right: SSAValue) -> Operation:
    """An op of two operands; where its result has their type, as its constructor makes it."""
    properties = _properties_of(kind)
    if properties is None or right.type != left.type:
        return kind(left, right)  # pyright: ignore[reportCallIssue]
    return plain_op(kind, (left, right), (left.type,), properties)  # pyright: ignore[reportArgumentType]


@cache
def _properties_of(kind: type[Operation]) -> dict[str, Attribute] | None:
    """The properties that the constructor gives; None for results of another type."""
    left, right = Block(arg_types=[i64, i64]).args
    op = kind(left, right)  # pyright: ignore[reportCallIssue]
    properties = op.properties if not op.attributes and op.results[0].type == i64 else None
    op.erase()
    return properties
