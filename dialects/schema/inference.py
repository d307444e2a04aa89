"""Types of results of table ops, by the rules of their overloads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import AnyFloat, TensorType, i1
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.extension_entries import OWN_DIALECTS
from lamina.dialects.schema.extended_rules import extended_rule, types_by_extension
from lamina.dialects.schema.values import RuntimeInt

if TYPE_CHECKING:
    from lamina.dialects.schema.op import ResultRule, SchemaOp

_MOST_INFERRED = 1 << 14
_inferred: dict[tuple[Any, ...], tuple[Attribute, ...]] = {}
"""What rules have said, by op, types of operands and properties, which is all that they see. The
verifier asks again for each op that was made, and programs repeat their layers."""


def infer_result_types(op: SchemaOp) -> list[Attribute] | None:
    """`SchemaOp.infer_result_types`."""
    cls = type(op)
    entry = extended_rule(cls.name)
    if entry is not None:
        return types_by_extension(entry, op, _rule_arguments(op))
    if "_rule" not in cls.__dict__:
        found = _find_rule(cls)
        cls._rule = None if found is None else staticmethod(found)
    rule = cls._rule
    if rule is None:
        return None
    kinds = tuple([operand.type for operand in op._operands])
    key = cls, kinds, tuple(op.properties.items())
    known = _inferred.get(key)
    if known is not None:
        return list(known)
    try:
        made = rule(_rule_arguments(op))
    except (IndexError, ZeroDivisionError) as error:
        # What rules take for granted: enough dims and list entries, and no zero strides.
        what = "too few dims or list entries" if isinstance(error, IndexError) else "a zero size"
        given = ", ".join(map(str, kinds))
        raise ValueError(f"{what} in the arguments of {op.name}: {given}") from None
    if made is not None:
        if len(_inferred) >= _MOST_INFERRED:
            _inferred.clear()
        _inferred[key] = tuple(made)
    return made


def _rule_arguments(op: SchemaOp) -> dict[str, Any]:
    return {
        name: _as_type(value) if isinstance(value, SSAValue | list) else value
        for name, value in op.args().items()
    }


def _as_type(value: Any) -> Any:
    """What a result rule sees: types for tensors, a stand-in of its kind for a run-time number."""
    if isinstance(value, SSAValue):
        kind = value.type
        if isinstance(kind, TensorType):
            return kind
        return math.nan if isinstance(kind, AnyFloat) else kind == i1 or RuntimeInt(-1)
    if isinstance(value, list):
        return [_as_type(entry) for entry in value]
    return value


def _find_rule(cls: type[SchemaOp]) -> ResultRule | None:
    from lamina.dialects.schema.result_rules import find_rule

    dialect, _, name = cls.name.partition(".")
    found = find_rule(dialect, name, cls.schema.tags) if dialect in OWN_DIALECTS else None
    if found is not None:
        return found
    written = {a.alias.name: a.name for a in cls.schema.args if a.alias and a.alias.is_write}
    sources = [written.get(r.alias.name, "") if r.alias else "" for r in cls.schema.results]
    if all(sources):
        return lambda args: _flattened(args[source] for source in sources)
    return None


def _flattened(entries: Any) -> list[Attribute]:
    flat: list[Attribute] = []
    for entry in entries:
        flat += entry if isinstance(entry, list) else [entry]
    return flat
