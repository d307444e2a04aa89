"""Passes that are not Lamina's, in a pipeline: what goes wrong in them names whose they are."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from lamina.dialects.errors import InputError, LaminaError
from lamina.dialects.extension_entries import Entry
from lamina.dialects.extension_tables import extended
from lamina.passes.contracts.verify_program import verify_program


def apply_foreign(foreign: ModulePass, run: Callable[[ModulePass], None]) -> None:
    """Runs a pass. What one of an extension raises is an InputError with the extension's place;
    what one's own raises is left as it is."""
    try:
        run(foreign)
    except (LaminaError, DiagnosticException):
        raise
    except Exception as error:
        entry = _entry_of(foreign)
        if entry is None:
            raise
        raise entry.error(f"pass '{foreign.name}' raises", error) from error


def verify_behind(foreign: ModulePass, module: ModuleOp) -> None:
    """Raises InputError, naming the pass, for a program that is not valid behind it."""
    try:
        verify_program(module)
    except (InputError, VerifyException) as error:
        raise InputError(f"{described(foreign)} leaves a program that is not valid: {error}") from (
            error
        )


def described(foreign: ModulePass) -> str:
    """The pass by its name, with the extension that brings it, or its class."""
    entry = _entry_of(foreign)
    kind = type(foreign)
    return f"pass '{foreign.name}' ({entry or f'{kind.__module__}.{kind.__qualname__}'})"


def _entry_of(foreign: ModulePass) -> Entry | None:
    entry = extended("pass", foreign.name)
    return entry if entry is not None and entry.value() is type(foreign) else None
