"""`lamina.hints`: sizes of arguments that a program is likely to be called with.

A dictionary of a function, by the names of sizes that `lamina.dims` of its arguments define. The
version for them is compiled first, before any call.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr
from xdsl.dialects.func import FuncOp

from lamina.passes.contracts.argument_sizes import stated_of_sizes
from lamina.passes.refusal import invalid

HINTS = "lamina.hints"
"""Attribute of a function: for some of its sizes, an integer."""


def hints_of(function: FuncOp) -> dict[str, int]:
    """The sizes that a function states. Raises InputError for names that it has not, and for what
    is out of their ranges."""
    found: dict[str, int] = {}
    for size, hint in stated_of_sizes(function, HINTS):
        if not isinstance(hint, IntegerAttr):
            raise invalid(function, f"{HINTS}: '{size.text}' is {hint}, not an integer")
        if not size.range.holds(hint.value.data):
            reason = f"'{size.text}' is in {size.range}, and cannot be {hint.value.data}"
            raise invalid(function, f"{HINTS}: {reason}")
        found[size.text] = hint.value.data
    return found


def set_hints(function: FuncOp, hints: Mapping[str, int]) -> None:
    """States sizes; none of them leaves no attribute."""
    function.attributes.pop(HINTS, None)
    if hints:
        said = {name: IntegerAttr(hint, 64) for name, hint in hints.items()}
        function.attributes[HINTS] = DictionaryAttr(said)
