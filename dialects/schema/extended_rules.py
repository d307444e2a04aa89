"""Result rules of active extensions, which are asked before Lamina's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import Attribute

from lamina.dialects.extension_entries import Entry
from lamina.dialects.extension_tables import extended


def extended_rule(name: str) -> Entry | None:
    """The rule of an op, by its full name; one of `aten.X` is that of `core_aten.X`, too."""
    entry = extended("result rule", name)
    if entry is None and name.startswith("core_aten."):
        entry = extended("result rule", name.removeprefix("core_"))
    return entry


def types_by_extension(entry: Entry, op: Any, arguments: Mapping[str, Any]) -> list[Attribute]:
    """The types that a rule gives for the results of a schema op.

    Raises ValueError if it refuses the arguments, InputError, naming the extension, for anything
    else that it raises or gives but a list of as many types as the schema has results.
    """
    about = f"the result rule of {op.name}"
    try:
        types = entry.value(dict(arguments))
    except ValueError:
        raise
    except Exception as error:
        raise entry.error(f"{about} raises", error) from error
    if not isinstance(types, list | tuple) or not all(isinstance(t, Attribute) for t in types):
        raise entry.error(f"{about} gives a {type(types).__name__}, and not a list of types")
    results = op.schema.results
    if len(types) != len(results) and not any(result.type.is_list for result in results):
        raise entry.error(f"{about} gives {len(types)} types for {len(results)} results")
    return list(types)
