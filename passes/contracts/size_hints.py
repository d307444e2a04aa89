"""`lamina.hints`: sizes of arguments that a program is likely to be called with.

A dictionary of a function, by the names of sizes that `lamina.dims` of its arguments define. The
version for them is compiled first, before any call.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr
from xdsl.dialects.func import FuncOp

from lamina.passes.contracts.argument_sizes import size_names
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.refusal import invalid

HINTS = "lamina.hints"
"""Attribute of a function: for some of its sizes, an integer."""


def hints_of(function: FuncOp) -> dict[str, int]:
    """The sizes that a function states. Raises InputError for names that it has not, and for what
    is out of their ranges."""
    held = function.attributes.get(HINTS)
    if held is None:
        return {}
    if not isinstance(held, DictionaryAttr):
        raise invalid(function, f"{HINTS} is {held}, not a dictionary of sizes")
    names = size_names(arguments_of(function))
    found: dict[str, int] = {}
    for name, hint in held.data.items():
        if name not in names:
            known = ", ".join(names) or "none"
            raise invalid(function, f"{HINTS}: no argument has the size '{name}'; there: {known}")
        if not isinstance(hint, IntegerAttr):
            raise invalid(function, f"{HINTS}: '{name}' is {hint}, not an integer")
        if not names[name].range.holds(hint.value.data):
            reason = f"'{name}' is in {names[name].range}, and cannot be {hint.value.data}"
            raise invalid(function, f"{HINTS}: {reason}")
        found[name] = hint.value.data
    return found


def set_hints(function: FuncOp, hints: Mapping[str, int]) -> None:
    """States sizes; none of them leaves no attribute."""
    function.attributes.pop(HINTS, None)
    if hints:
        said = {name: IntegerAttr(hint, 64) for name, hint in hints.items()}
        function.attributes[HINTS] = DictionaryAttr(said)
