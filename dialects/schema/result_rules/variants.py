"""Rules of variants: in-place (`add_`), `out=` (`add.out`), copying views (`view_copy`) and lists
(`_foreach_add`).

They follow the rule of the functional overload, found by name or by its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from lamina.dialects.schema.grammar import Schema
from lamina.dialects.schema.promotion import BOOL, FLOAT, category
from lamina.dialects.schema.result_rules.pointwise import floating, promoting, same
from lamina.dialects.schema.result_rules.rule_table import RULES
from lamina.dialects.schema.result_rules.shapes import Types, same_shape, tensor
from lamina.dialects.schema.tables import aten_rows, schema_of

Rule = Callable[[Mapping[str, Any]], list[Attribute]]
RuleOf = Callable[[str, frozenset[str]], Rule | None]

_VARIANT_TAGS = frozenset({"inplace", "inplace_view", "out", "core", "generated"})
_FOREACH = "_foreach_"


def find(overload_name: str, tags: frozenset[str], rule_of: RuleOf) -> Rule | None:
    """The rule of an overload that is a variant of another; None if it is none of these kinds.

    `rule_of` finds the rule of another overload, by its name and tags.
    """
    base, _, overload = overload_name.partition(".")
    if base.startswith(_FOREACH):
        return _each(base, overload, tags)
    if "out" in tags:
        return _out(overload_name, rule_of)
    if "inplace" in tags:
        return _in_place(overload_name, tags, rule_of)
    if base.endswith("_copy"):
        return rule_of(f"{base.removesuffix('_copy')}.{overload}", frozenset())
    return None


def _functional_name(base: str) -> str:
    """`add` of `add_`, `__and__` of `__iand__`."""
    if base.startswith("__i") and base.endswith("__"):
        return "__" + base[3:]
    return base.removesuffix("_")


def _in_place(overload_name: str, tags: frozenset[str], rule_of: RuleOf) -> Rule | None:
    base, _, overload = overload_name.partition(".")
    functional = _functional_name(base)
    rule = rule_of(f"{functional}.{overload}", tags - _VARIANT_TAGS)
    if rule is None:
        other = _with_arguments_of(overload_name, functional)
        rule = other and rule_of(other.overload_name, other.tags - _VARIANT_TAGS)
    if "inplace_view" in tags:
        return rule
    return same if rule is None else _checked(rule)


def _checked(functional: Rule) -> Rule:
    """Self's type, which the functional overload's shape must equal; torch casts the elements."""

    def rule(args: Mapping[str, Any]) -> Types:
        (own,) = same(args)
        result = functional(args)[0]
        assert isinstance(own, TensorType) and isinstance(result, TensorType)
        if not same_shape(own.get_shape(), result.get_shape()):
            raise ValueError(f"the result {result} does not fit into {own}, where it is to go")
        _need_cast(result.element_type, own.element_type)
        return [own]

    return rule


def _need_cast(source: Attribute, target: Attribute) -> None:
    """Torch's can_cast: a higher category does not go into a lower one."""
    given, wanted = category(source), category(target)
    if given > wanted and (given >= FLOAT or wanted == BOOL):
        raise ValueError(f"elements of type {source} cannot be stored as {target}")


def _out(overload_name: str, rule_of: RuleOf) -> Rule | None:
    """Shapes of the functional overload, element types of the `out` tensors."""
    if overload_name not in aten_rows():
        return None
    schema = schema_of(aten_rows()[overload_name])
    if not schema.results:  # lists that are written are not given back
        return lambda args: []
    outs = [arg.name for arg in schema.args if arg.mutated and arg.kwarg_only]
    base = overload_name.partition(".")[0]
    functional = _with_arguments_of(overload_name, base)
    rule = functional and rule_of(functional.overload_name, functional.tags - _VARIANT_TAGS)
    if rule is None or functional is None:
        return lambda args: [args[name] for name in outs]
    defaults = {arg.name: arg.default for arg in functional.args if not arg.required}

    def sized(args: Mapping[str, Any]) -> Types:
        given = {name: value for name, value in args.items() if name not in outs}
        types = rule({**defaults, **given})
        return [
            tensor(result.get_shape(), args[name].element_type)
            for name, result in zip(outs, types, strict=True)
            if isinstance(result, TensorType)
        ]

    return sized


def _with_arguments_of(overload_name: str, base: str) -> Schema | None:
    """The functional overload of `base` with the arguments of another, but for tensors to write.

    Factories have a dtype, layout and device where their `out=` variant has a tensor.
    """
    rows = aten_rows()
    if overload_name not in rows:
        return None
    variant = schema_of(rows[overload_name])
    wanted = [(a.name, a.type) for a in variant.args if not (a.mutated and a.kwarg_only)]
    for name in rows:
        if not name.startswith(base + "."):
            continue
        other = schema_of(rows[name])
        if [(a.name, a.type) for a in other.args][: len(wanted)] == wanted and not other.mutates:
            return other
    return None


def _is_list_of_tensors(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, TensorType) for entry in value)


_SINGLE_RESULTS = ("norm", "max", "powsum")


def _each(base: str, overload: str, tags: frozenset[str]) -> Rule | None:
    """`_foreach_*`: what the lists' tensors broadcast to, floats where the single op gives them."""
    if "inplace" in tags or "out" in tags:
        return lambda args: []
    single = base.removeprefix(_FOREACH)
    if single in _SINGLE_RESULTS:
        return lambda args: [tensor((), t.element_type) for t in args["self"]]
    names = (f"{single}.default", f"{single}.{overload}", f"{single}.Tensor")
    floats = any(RULES.get(name) == "pointwise:floating" for name in names)

    def rule(args: Mapping[str, Any]) -> Types:
        # A number may come before the first list: `pow.ScalarAndTensor`.
        lists = [value for value in args.values() if _is_list_of_tensors(value)]
        single_rule = floating if floats else promoting
        return [
            result
            for entries in zip(*lists, strict=True)
            for result in single_rule({str(place): entry for place, entry in enumerate(entries)})
        ]

    return rule
