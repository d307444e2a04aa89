"""Back ends: what compiles a part of a program instead of Lamina, found by name."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from lamina.dialects.errors import InputError, LaminaError
from lamina.dialects.extension_entries import Entry
from lamina.dialects.extension_tables import extended, extended_names
from lamina.dialects.nearest_ops import nearest


class Backend(Protocol):
    """What `Extension.backend` takes."""

    def supports(self, op: Operation) -> bool | str:
        """True for an op that it compiles; the reason, or False, for one that it does not."""
        ...

    def compile(self, module: ModuleOp) -> Any:
        """The function `@main` of a module, as a function of arrays or a `lamina.NativeCode`."""
        ...


def backend_entry(name: str) -> Entry:
    """The back end of an active extension; InputError if there is none of that name."""
    entry = extended("backend", name)
    if entry is None:
        known = extended_names("backend")
        near = nearest(name, known) or list(known)
        said = f"; nearest: {', '.join(near)}" if near else "; no active extension brings any"
        raise InputError(f"no back end is called '{name}'{said}")
    return entry


_made: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()
"""What back ends made of the texts of regions."""


def compiled_region(name: str, text: str, parsed: Callable[[], ModuleOp], what: str) -> Any:
    """What a back end makes of a region: equal ones are compiled once.

    Raises InputError, with the extension's place and `what` the region is, if the back end raises
    or gives what cannot be called.
    """
    entry = backend_entry(name)
    known = _made.setdefault(entry.value, {})
    if text not in known:
        try:
            made = entry.value.compile(parsed())
        except LaminaError:
            raise
        except Exception as error:
            raise entry.error(f"back end '{name}' cannot compile {what}:", error) from error
        if not callable(made) and not isinstance(getattr(made, "address", None), int):
            raise entry.error(
                f"back end '{name}' gives a {type(made).__name__} for {what}, which is no function"
            )
        known[text] = made
    return known[text]
