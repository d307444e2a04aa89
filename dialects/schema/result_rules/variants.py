"""Rules of variants: in-place (`add_`), `out=` (`add.out`) and copying views (`view_copy`).

They follow the rule of the functional overload, found by name or, for `out=`, by its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from lamina.dialects.schema.grammar import Schema
from lamina.dialects.schema.result_rules.shapes import Types, same_shape, tensor

Rule = Callable[[Mapping[str, Any]], list[Attribute]]


def find(overload_name: str, tags: frozenset[str]) -> Rule | None:
    """The rule of an overload that is a variant of another; None if it is none of these kinds."""
    base, _, overload = overload_name.partition(".")
    if "out" in tags:
        return _out(overload_name)
    if "inplace" in tags:
        return _in_place(_functional_name(base), overload, tags)
    if base.endswith("_copy"):
        from lamina.dialects.schema.result_rules import find_rule

        return find_rule("aten", f"{base.removesuffix('_copy')}.{overload}", frozenset())
    return None


def _functional_name(base: str) -> str:
    """`add` of `add_`, `__and__` of `__iand__`."""
    if base.startswith("__i") and base.endswith("__"):
        return "__" + base[3:]
    return base.removesuffix("_")


def _in_place(base: str, overload: str, tags: frozenset[str]) -> Rule | None:
    from lamina.dialects.schema.result_rules import find_rule

    if base.startswith("_foreach_"):
        return _nothing
    rest = tags - {"inplace", "inplace_view", "core"}
    functional = find_rule("aten", f"{base}.{overload}", rest)
    if "inplace_view" in tags:
        return functional
    return _own_type if functional is None else _checked(functional)


def _nothing(args: Mapping[str, Any]) -> Types:
    return []


def _own_type(args: Mapping[str, Any]) -> Types:
    from lamina.dialects.schema.result_rules.pointwise import same

    return same(args)


def _checked(functional: Rule) -> Rule:
    """Self's type, which the functional overload's shape must equal; torch casts the elements."""

    def rule(args: Mapping[str, Any]) -> Types:
        (own,) = _own_type(args)
        result = functional(args)[0]
        assert isinstance(own, TensorType) and isinstance(result, TensorType)
        if not same_shape(own.get_shape(), result.get_shape()):
            raise ValueError(f"the result {result} does not fit into {own}, where it is to go")
        _need_cast(result.element_type, own.element_type)
        return [own]

    return rule


def _need_cast(source: Attribute, target: Attribute) -> None:
    """Torch's can_cast: a higher category does not go into a lower one."""
    from lamina.dialects.schema.promotion import BOOL, FLOAT, category

    given, wanted = category(source), category(target)
    lost = given > wanted and (given >= FLOAT or wanted == BOOL)
    if lost:
        raise ValueError(f"elements of type {source} cannot be stored as {target}")


def _out(overload_name: str) -> Rule | None:
    """Shapes of the functional overload, element types of the `out` tensors."""
    from lamina.dialects.aten import Aten
    from lamina.dialects.schema.result_rules import find_rule

    if overload_name not in Aten.rows:
        return None
    schema = Aten.schema(overload_name)
    if not schema.results:
        return _nothing
    outs = [arg.name for arg in schema.args if arg.mutated and arg.kwarg_only]
    functional = _without_outs(schema)
    rule = functional and find_rule("aten", functional.overload_name, functional.tags)
    if rule is None or functional is None:
        return lambda args: [args[name] for name in outs]
    defaults = {arg.name: arg.default for arg in functional.args if not arg.required}
    return lambda args: [
        tensor(t.get_shape(), args[name].element_type)
        for name, t in zip(outs, rule({**defaults, **args}), strict=True)
        if isinstance(t, TensorType)
    ]


def _without_outs(schema: Schema) -> Schema | None:
    from lamina.dialects.aten import Aten

    wanted = [(a.name, a.type) for a in schema.args if not (a.mutated and a.kwarg_only)]
    prefix = schema.name + "."
    for name in Aten.rows:
        if not name.startswith(prefix):
            continue
        other = Aten.schema(name)
        arguments = [(a.name, a.type) for a in other.args]
        # Factories take a dtype and the like where their variant has the tensor to write.
        if arguments[: len(wanted)] == wanted and not other.mutates:
            return other
    return None
