"""Native code of a program, ready to be called with pointers."""

import ctypes
import json
from collections.abc import Sequence
from dataclasses import asdict, field
from typing import Any

from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError
from lamina.dialects.records import record
from lamina.runtime.dispatch.native import forget_teams, team_functions
from lamina.runtime.extern_kernels.failures import explained


@record
class ProgramMetadata:
    """What must be known beside the object code to call it; kept with it in the disk cache.

    `arguments[entry]` describes each pointer of an entry in order (free-form JSON values of
    whoever compiled, one per pointer); `messages[i]` is what status i + 1 means; `ledger` is the
    kernel ledger, JSON too; `extra` is kept as it is.
    """

    arguments: dict[str, list[Any]]
    messages: tuple[str, ...] = ()
    arena_bytes: int = 0
    needs_openmp: bool = False
    ledger: list[Any] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "ProgramMetadata":
        """Inverse of `to_json`; ValueError, TypeError or KeyError if the text is something else."""
        fields = json.loads(text)
        fields["messages"] = tuple(fields["messages"])
        return ProgramMetadata(**fields)


_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


class Executable:
    """Object code loaded into this process. It keeps nothing from call to call."""

    def __init__(self, code: bytes, metadata: ProgramMetadata, target: Target) -> None:
        """Loads `code`; ExecutionError if this CPU or process cannot run it."""
        from lamina.codegen.jit import load_object

        self.code = code
        self.metadata = metadata
        self.target = target
        symbols = [f"lamina_{name}" for name in metadata.arguments]
        provided = team_functions() if metadata.needs_openmp else {}
        self._loaded = load_object(code, symbols, target, metadata.needs_openmp, provided)
        if provided:
            forget_teams(self._loaded.addresses.values(), len(code))

    def address(self, entry: str) -> int:
        """Where the machine code of an entry starts; KeyError for an unknown one."""
        return self._loaded.addresses[f"lamina_{entry}"]

    def error(self, status: int) -> BaseException:
        """What a status other than 0 means; an exception that asks to stop is given as it is."""
        return explained(self.metadata.messages[status - 1])

    def call(self, entry: str, pointers: Sequence[int]) -> None:
        """Runs an entry on data pointers, one per argument, in order.

        The caller keeps the memory alive and vouches for its size and alignment. ExecutionError
        with the message of the first run-time check that failed; KeyError for an unknown entry.
        """
        count = len(self.metadata.arguments[entry])
        if len(pointers) != count:
            raise ExecutionError(f"@{entry} takes {count} pointers, {len(pointers)} given")
        array = (ctypes.c_void_p * max(count, 1))(*pointers)
        status = _ENTRY(self.address(entry))(ctypes.addressof(array))
        if status:
            raise self.error(status)
