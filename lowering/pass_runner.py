"""Passes in turn, Lamina's and others': what goes wrong in those of others names whose they are."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from lamina.dialects.errors import InputError, LaminaError
from lamina.dialects.extension_entries import Entry
from lamina.dialects.extension_tables import extended
from lamina.passes.calls.callee_programs import apply_to_programs
from lamina.passes.contracts.verify_program import verify_program
from lamina.passes.kernel_passes import EntryPass, KernelPass, kernels_in

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp

Finished = Callable[["FuncOp"], None]
"""What is told of a kernel when no pass changes it any more."""


class PassRunner:
    """Runs passes one by one. Behind one that is not Lamina's the program is verified, and the next
    of `contracts` that does not hold names it."""

    def __init__(self, contracts: Container[str]) -> None:
        self._contracts = contracts
        self._foreign: ModulePass | None = None

    def apply(self, coming: ModulePass, context: Context, module: ModuleOp) -> None:
        """Runs a pass on each program of a module.

        What a pass of an extension raises is an InputError with the extension's place; what one's
        own pass raises is left as it is.
        """
        if not is_own(coming):
            self._apply_foreign(coming, context, module)
            self._foreign = coming
            return
        is_contract = coming.name in self._contracts
        try:
            apply_to_programs(coming, context, module)
        except InputError as error:
            if self._foreign is None or not is_contract:
                raise
            raise InputError(f"{error}\n  behind {described(self._foreign)}") from error
        if is_contract:
            self._foreign = None

    def apply_by_kernel(
        self,
        passes: Sequence[KernelPass],
        behind: Sequence[EntryPass],
        module: ModuleOp,
        finished: Finished,
    ) -> None:
        """Runs passes on one kernel after the other, and tells of those that others keep so.

        Behind a pass that is not Lamina's none is told of before the contract has seen it.
        """
        for kernel in kernels_in(module):
            for coming in passes:
                try:
                    coming.apply_to_kernel(kernel)
                except Exception as error:
                    if not isinstance(error, LaminaError):
                        error.add_note(f"while running pass '{coming.name}'")
                    raise
            if self._foreign is None and all(coming.keeps(kernel) for coming in behind):
                finished(kernel)

    def _apply_foreign(self, coming: ModulePass, context: Context, module: ModuleOp) -> None:
        try:
            apply_to_programs(coming, context, module)
        except (LaminaError, DiagnosticException):
            raise
        except Exception as error:
            entry = _entry_of(coming)
            if entry is None:
                raise
            raise entry.error(f"pass '{coming.name}' raises", error) from error
        try:
            verify_program(module)
        except (InputError, VerifyException) as error:
            said = f"{described(coming)} leaves a program that is not valid: {error}"
            raise InputError(said) from error


def is_own(coming: ModulePass) -> bool:
    """Whether a pass is Lamina's."""
    return type(coming).__module__.startswith("lamina.")


def described(foreign: ModulePass) -> str:
    """The pass by its name, with the extension that brings it, or its class."""
    entry = _entry_of(foreign)
    kind = type(foreign)
    return f"pass '{foreign.name}' ({entry or f'{kind.__module__}.{kind.__qualname__}'})"


def _entry_of(foreign: ModulePass) -> Entry | None:
    entry = extended("pass", foreign.name)
    return entry if entry is not None and entry.value() is type(foreign) else None
