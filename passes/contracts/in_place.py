"""`lamina.in_place` of an argument: a new value that needs no memory of its own."""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr

from lamina.passes.contracts.declared import ARGUMENT, Declared

IN_PLACE = "lamina.in_place"
"""Attribute of an argument of kind mutation: the program writes to the target itself, and never to
this argument, which has no memory. See `mutate-in-place`."""


def verify_in_place(declared: Declared) -> None:
    """Raises InputError where the mark stands elsewhere, or where its argument is touched."""
    unit = isinstance(declared.entries[IN_PLACE], UnitAttr)
    if not unit or declared.kind != "mutation" or declared.place != ARGUMENT:
        raise declared.refuse(f"{IN_PLACE} marks arguments of kind mutation, without a value")
    if declared.function.body.block.args[declared.number].first_use is not None:
        raise declared.refuse(f"of a value that is made {IN_PLACE} nothing is read or written")
