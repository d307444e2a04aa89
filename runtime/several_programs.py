"""`SeveralPrograms`: what compiled programs share that are made of several others."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NoReturn

from xdsl.dialects.func import FuncOp

from lamina.dialects.errors import UnsupportedError
from lamina.passes.contracts.declared import results_of
from lamina.runtime.arguments import FlatStructure, Structure
from lamina.runtime.call_sizes import CallSizes
from lamina.runtime.compiled import Compiled
from lamina.runtime.declared_slots import passed_arguments, slot_of
from lamina.runtime.known_calls import KnownCalls


class SeveralPrograms(Compiled):
    """A program that runs as one of several, or as several in turn.

    Calls are checked by what its function declares. What stands for one program only, such as
    `native`, is refused, with what to ask instead.
    """

    def __init__(
        self,
        main: FuncOp,
        bound: Collection[str],
        structure: Structure | None,
        render: Callable[[str], str],
        *,
        runs_here: bool,
    ) -> None:
        self.others = {}
        self._render, self._runs_here, self._main = render, runs_here, main
        self._arguments = passed_arguments(main, bound)
        self.structure = structure or FlatStructure([one.name for one in self._arguments])
        self._inputs = tuple(map(slot_of, self._arguments))
        self._outputs = tuple(slot_of(one) for one in results_of(main) if one.kind == "output")
        self._call_sizes = CallSizes(main, self._arguments)
        self._runs = KnownCalls(self._call_sizes.numbers)

    def __del__(self) -> None:
        """Nothing: the programs free what they have."""

    @property
    def runs_here(self) -> bool:
        """Whether it can be called; see `Compiled`."""
        return self._runs_here

    @property
    def is_one_native_call(self) -> bool:
        """False: there are several."""
        return False

    @property
    def program(self) -> NoReturn:  # pyright: ignore[reportIncompatibleVariableOverride]
        """UnsupportedError: there are several."""
        raise self._refuse("program")

    @property
    def native(self) -> NoReturn:
        """UnsupportedError: a C function is for one program."""
        raise self._refuse("native")

    @property
    def bound(self) -> NoReturn:
        """UnsupportedError: memory is that of one program."""
        raise self._refuse("bound")

    def save(
        self, path: str | os.PathLike[str], *, sizes: Sequence[Mapping[str, int]] = ()
    ) -> None:
        """UnsupportedError: one program is saved."""
        raise self._refuse("save(...)")

    def explain_schedules(self) -> str:
        """UnsupportedError: schedules are those of one program."""
        raise self._refuse("explain_schedules()")

    def __repr__(self) -> str:
        takes = ", ".join(f"{slot.name}: {slot.type_text}" for slot in self._inputs)
        gives = ", ".join(slot.type_text for slot in self._outputs)
        return f"<lamina.Compiled ({takes}) -> ({gives}), {self._count}>"

    @property
    @abstractmethod
    def _count(self) -> str:
        """How many programs there are, in words."""

    @property
    @abstractmethod
    def _one(self) -> tuple[str, str]:
        """Why there are several, and how one of them is had."""

    def _refuse(self, what: str) -> UnsupportedError:
        reason, one = self._one
        member = what.partition("(")[0]
        return UnsupportedError(f"Compiled.{member}", reason, nearest=f"{one}.{what}")


__all__ = ["SeveralPrograms"]
