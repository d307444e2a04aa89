"""Result types by overload: what an op's results are, from its operands and arguments.

A rule is a function `(args) -> types`. `args` holds every argument of the schema by name, defaults
filled in: tensors as `TensorType`, lists of them as lists, absent optionals as None, dtypes as xDSL
types, everything else as Python constants; a size that an operand gives is DYNAMIC (or -1). It
returns the result types, `f64`, `i64` or `i1` for numbers, and refuses operands that do not fit
with a ValueError, whose text the verifier shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, TypeAlias

from xdsl.ir import Attribute

from lamina.dialects.schema.result_rules.rule_table import PRIMS_RULES, RULES

Rule: TypeAlias = Callable[[Mapping[str, Any]], list[Attribute]]


@lru_cache(None)
def _load(path: str) -> Rule:
    module, _, function = path.partition(":")
    return getattr(import_module(f"{__name__}.{module}"), function)


@lru_cache(None)
def find_rule(dialect: str, overload_name: str, tags: frozenset[str]) -> Rule | None:
    """The result rule of an overload (`add.Tensor`, in prims `add`), or None if there is none."""
    if dialect == "prims":
        path = PRIMS_RULES.get(overload_name)
        return _load(path) if path else None
    path = RULES.get(overload_name)
    if path:
        return _load(path)
    from lamina.dialects.schema.result_rules import variants

    variant = variants.find(overload_name, tags, partial(find_rule, "aten"))
    if variant is not None:
        return variant
    return _load("pointwise:pointwise") if "pointwise" in tags else None


__all__ = ["PRIMS_RULES", "RULES", "Rule", "find_rule"]
