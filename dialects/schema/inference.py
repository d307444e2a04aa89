"""Types of results of table ops, by the rules of their overloads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import AnyFloat, TensorType, i1
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.extension_entries import OWN_DIALECTS
from lamina.dialects.schema.extended_rules import extended_rule, types_by_extension
from lamina.dialects.schema.values import DYNAMIC, RuntimeInt, UntoldError
from lamina.dialects.sizes.size_values import size_values

if TYPE_CHECKING:
    from lamina.dialects.schema.op import ResultRule, SchemaOp

_MOST_INFERRED = 1 << 14
_inferred: dict[tuple[Any, ...], tuple[Attribute, ...]] = {}
"""What rules have said, by op, types of operands and properties, which is all that they see. The
verifier asks again for each op that was made, and programs repeat their layers."""

_met: dict[tuple[Any, ...], tuple[tuple[Any, ...], tuple[Attribute, ...]]] = {}
"""The same by the identity of types and properties, which are kept with it."""


def infer_result_types(op: SchemaOp) -> list[Attribute] | None:
    """`SchemaOp.infer_result_types`."""
    cls = type(op)
    entry = extended_rule(cls.name)
    if entry is not None:
        return types_by_extension(entry, op, _rule_arguments(op, as_type))
    rule = _rule_of(cls)
    if rule is None:
        return None
    if size_values.get() is not None:  # a rule sees what numbers are in sizes, too
        return _by_rule(rule, op, as_type)
    kinds = tuple([operand.type for operand in op._operands])
    properties = op.properties
    # First by identity: hashes of attributes are dear, and most are shared.
    place = (cls, *properties, *map(id, properties.values()), *map(id, kinds))
    met = _met.get(place)
    if met is not None:
        return list(met[1])
    key = cls, kinds, tuple(properties.items())
    known = _inferred.get(key)
    if known is None:
        made = _by_rule(rule, op, as_type)
        if made is None:
            return None
        if len(_inferred) >= _MOST_INFERRED:
            _inferred.clear()
        known = _inferred[key] = tuple(made)
    if len(_met) >= _MOST_INFERRED:
        _met.clear()
    _met[place] = key, known
    return list(known)


def infer_from(op: SchemaOp, seen: Callable[[SSAValue], Any]) -> list[Attribute] | None:
    """What the op's rule says of operands that are as `seen` says, not as their types are.

    None without a rule, for rules of extensions, and where the rule cannot tell. Raises ValueError
    if the rule refuses the arguments.
    """
    rule = None if extended_rule(op.name) is not None else _rule_of(type(op))
    return None if rule is None else _by_rule(rule, op, seen)


def _by_rule(
    rule: ResultRule, op: SchemaOp, seen: Callable[[SSAValue], Any]
) -> list[Attribute] | None:
    try:
        return rule(_rule_arguments(op, seen))
    except UntoldError:
        return None
    except (IndexError, ZeroDivisionError) as error:
        # What rules take for granted: enough dims and list entries, and no zero strides.
        what = "too few dims or list entries" if isinstance(error, IndexError) else "a zero size"
        given = ", ".join(str(operand.type) for operand in op.operands)
        raise ValueError(f"{what} in the arguments of {op.name}: {given}") from None


def _rule_of(cls: type[SchemaOp]) -> ResultRule | None:
    if "_rule" not in cls.__dict__:
        found = _find_rule(cls)
        cls._rule = None if found is None else staticmethod(found)
    return cls._rule


def _rule_arguments(op: SchemaOp, seen: Callable[[SSAValue], Any]) -> dict[str, Any]:
    return {
        name: _read(value, seen) if isinstance(value, SSAValue | list) else value
        for name, value in op.args().items()
    }


def _read(value: Any, seen: Callable[[SSAValue], Any]) -> Any:
    if isinstance(value, SSAValue):
        return seen(value)
    return [_read(entry, seen) for entry in value] if isinstance(value, list) else value


def as_type(value: SSAValue) -> Any:
    """What a result rule sees: types for tensors, a stand-in of its kind for a run-time number."""
    kind = value.type
    if isinstance(kind, TensorType):
        return kind
    return math.nan if isinstance(kind, AnyFloat) else kind == i1 or RuntimeInt(DYNAMIC)


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
