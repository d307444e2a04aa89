"""Upper bounds that a program states itself: checks that a size is at most a constant.

The attribute `lamina.limits` of an op states them too; importers know the range of each size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.refusal import invalid

_UPPER = {"eq": 0, "slt": -1, "sle": 0}
"""Relations that bound their left side by the right one, and what is added to it."""

_LOWER = {"eq": 0, "sgt": 1, "sge": 0}
"""The same from below."""

_MIRRORED = {"eq": "eq", "sgt": "slt", "sge": "sle", "slt": "sgt", "sle": "sge"}

LIMITS = "lamina.limits"
"""Attribute: what each size of the only result, or a number, is at most; -1 where unknown."""


def limit_key(value: SSAValue) -> object:
    """What stands for a number in the table of limits: all reads of one size are the same."""
    owner = value.owner
    if isinstance(owner, SchemaOp) and owner.name == "aten.sym_size.int":
        return owner.operands[0], owner.arg("dim")
    return value


def limits_of(block: Block) -> dict[object, int]:
    """The least upper bound that `block` checks of each number, by `limit_key`.

    Raises InputError for a malformed `lamina.limits`.
    """
    found: dict[object, int] = {}
    for op in block_ops(block):
        stated = op.attributes.get(LIMITS)
        if stated is not None:
            _read_stated(op, stated, found)
        if op.name == "aten._assert_scalar.default" and op.operands:
            for key, limit in _checked(op.operands[0], _UPPER):
                found[key] = min(found.get(key, limit), limit)
    return found


def lower_limits_of(ops: Iterable[Operation]) -> dict[object, int]:
    """The greatest lower bound that ops check of each number, by `limit_key`."""
    found: dict[object, int] = {}
    for op in ops:
        if op.name == "aten._assert_scalar.default" and op.operands:
            for key, limit in _checked(op.operands[0], _LOWER):
                found[key] = max(found.get(key, limit), limit)
    return found


def _read_stated(op: Operation, stated: Attribute, found: dict[object, int]) -> None:
    kinds = [result.type for result in op.results]
    count = kinds[0].get_num_dims() if kinds and isinstance(kinds[0], TensorType) else 1
    numbers = _numbers(stated)
    if len(kinds) != 1 or numbers is None or len(numbers) != count:
        raise invalid(
            op,
            f"{LIMITS} = {stated}: it is array<i64: ...> with a number for each dimension of the "
            "op's one result, or one for a result that is a number; -1 where unknown",
        )
    result, is_tensor = op.results[0], isinstance(kinds[0], TensorType)
    for dim, limit in enumerate(numbers):
        if limit >= 0:
            found[(result, dim) if is_tensor else result] = limit


def _numbers(stated: Attribute) -> list[int] | None:
    """The numbers of an `array<i64: ...>`."""
    if not isinstance(stated, DenseArrayBase) or stated.elt_type != i64:
        return None
    return [int(number) for number in stated.get_values()]


def _checked(condition: SSAValue, relations: Mapping[str, int]) -> Iterator[tuple[object, int]]:
    """The limits that a condition says of numbers."""
    owner = condition.owner
    if isinstance(owner, arith.AndIOp):
        yield from _checked(owner.lhs, relations)
        yield from _checked(owner.rhs, relations)
    if not isinstance(owner, arith.CmpiOp):
        return
    relation = arith.CMPI_COMPARISON_OPERATIONS[owner.predicate.value.data]
    left, right = owner.lhs, owner.rhs
    if relation in _MIRRORED and constant_integer(left) is not None:
        left, right, relation = right, left, _MIRRORED[relation]
    limit = constant_integer(right)
    if relation in relations and limit is not None:
        yield limit_key(left), limit + relations[relation]
