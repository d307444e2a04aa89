"""`_foreach_add_` and its like whose list elements share memory: one element after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.passes.functionalize.aliases import Alias
from lamina.passes.functionalize.overlaps import Overlap, overlap_of, tensors_of
from lamina.passes.functionalize.view_chains import inserted
from lamina.passes.refusal import unsupported


def elements_in_turn(
    op: SchemaOp, written: list[str], aliases: Mapping[SSAValue, Alias]
) -> list[SchemaOp]:
    """Ops for one list element each, in front of `op`, if an element meets what another writes.

    Empty where no two meet, and for other ops than those over lists: then all may be computed
    before the first is written.
    """
    if not op.name.startswith("aten._foreach_") or not op.overload_name.split(".")[0].endswith("_"):
        return []
    if not _meet(op, written[0], aliases):
        return []
    count = len(op.arg(written[0]))
    return [_element(op, number, count) for number in range(count)]


def _meet(op: SchemaOp, written: str, aliases: Mapping[SSAValue, Alias]) -> bool:
    """Whether a tensor that is not of the same list element meets one that is written."""
    for argument in op.schema.args:
        of_each = isinstance(op.arg(argument.name), list)
        for i, target in enumerate(op.arg(written)):
            for j, operand in enumerate(tensors_of(op, argument.name)):
                apart = not of_each or i != j
                if apart and overlap_of(aliases[target], aliases[operand]) is not Overlap.NONE:
                    return True
    return False


def _element(op: SchemaOp, number: int, count: int) -> SchemaOp:
    """The same op for lists of one, its element `number`."""
    arguments: dict[str, Any] = {}
    for name, value in op.args().items():
        if isinstance(value, list):
            arguments[name] = [value[number]]
        elif name == "scalars" and isinstance(value, SSAValue):
            raise unsupported(op, "takes a number for each of tensors that share memory", "a list")
        else:
            arguments[name] = value
        if isinstance(value, list) and len(value) != count:
            raise unsupported(op, f"has {len(value)} entries of '{name}' for {count} tensors")
    made: Any = type(op)(**arguments, result_types=[])
    inserted(made, op)
    return made
