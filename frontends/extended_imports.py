"""Torch ops that active extensions import: as ops of their dialects, or by functions of theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import fx
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.errors import LaminaError, UnsupportedError
from lamina.dialects.extension_entries import Entry
from lamina.dialects.extension_tables import extended
from lamina.dialects.schema.dialect import TableDialect
from lamina.dialects.schema.op import SchemaOp


def importer_of(target: Any) -> Entry | None:
    """The function that imports an overload: of the overload, of its op, or of its namespace."""
    space, name = target.namespace, target._opname
    for key in (f"{space}::{name}.{target._overloadname}", f"{space}::{name}", space):
        entry = extended("importer", key)
        if entry is not None:
            return entry
    return None


def extended_class(target: Any) -> type[SchemaOp] | None:
    """The op class that an extension has for an overload: of its name, from a schema."""
    name = f"{target._opname}.{target._overloadname}"
    space = target.namespace
    entry = extended("op", f"{space}.{target._opname}" if space == "prims" else f"{space}.{name}")
    if entry is None:
        return None
    holder = extended("dialect", space)
    dialect = holder.value() if holder is not None else None
    return dialect.find(name) if isinstance(dialect, TableDialect) else None


def named_arguments(node: fx.Node) -> dict[str, Any]:
    """The arguments of a call by the names of the op's schema, defaults filled in."""
    target: Any = node.target
    found: dict[str, Any] = {}
    for place, argument in enumerate(target._schema.arguments):
        given = place < len(node.args) and not argument.kwarg_only
        found[argument.name] = (
            node.args[place] if given else node.kwargs.get(argument.name, argument.default_value)
        )
    return found


def imported_by(
    importer: Entry,
    node: fx.Node,
    arguments: Mapping[str, Any],
    types: Sequence[Attribute],
    refuse: Callable[..., UnsupportedError],
) -> Operation:
    """The op that an importer makes of a call.

    Raises UnsupportedError, with the line of the program, if it refuses by a ValueError; InputError
    naming the extension for anything else that it raises, or gives but an op with results of these
    types.
    """
    target: Any = node.target
    about = f"the importer of {target}"
    try:
        made = importer.value(f"{target._opname}.{target._overloadname}", dict(arguments), types)
    except (ValueError, UnsupportedError) as error:
        raise refuse(node, " ".join(str(error).split())) from error
    except Exception as error:
        raise importer.error(f"{about} raises", error) from error
    if not isinstance(made, Operation) or made.parent is not None:
        raise importer.error(f"{about} gives {type(made).__name__}, and not an op of its own")
    found = [result.type for result in made.results]
    if found != list(types):
        shown = [", ".join(map(str, kinds)) for kinds in (found, types)]
        raise importer.error(f"{about} gives results of types {shown[0]}; torch's are {shown[1]}")
    try:
        made.verify()
    except (VerifyException, LaminaError) as error:
        reason = " ".join(str(error).split())
        raise importer.error(f"{about} makes a {made.name} that does not verify: {reason}") from (
            error
        )
    return made
