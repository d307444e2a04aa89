"""Native code of a program, ready to be called with pointers."""

import ctypes
import json
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError
from lamina.runtime.extern_kernels.failures import explained


@dataclass(frozen=True, slots=True)
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


class _Entry:
    """One native entry point with its prebuilt pointer array."""

    __slots__ = ("address", "array", "count", "function")

    def __init__(self, address: int, count: int) -> None:
        self.function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)
        self.array = (ctypes.c_void_p * max(count, 1))()
        self.address = ctypes.addressof(self.array)
        self.count = count


class Executable:
    """Object code loaded into this process. Calls of one executable happen one at a time."""

    def __init__(self, code: bytes, metadata: ProgramMetadata, target: Target) -> None:
        """Loads `code`; ExecutionError if this CPU or process cannot run it."""
        from lamina.codegen.jit import load_object

        self.code = code
        self.metadata = metadata
        self.target = target
        symbols = [f"lamina_{name}" for name in metadata.arguments]
        self._loaded = load_object(code, symbols, target, metadata.needs_openmp)
        self._entries = {
            name: _Entry(self._loaded.addresses[f"lamina_{name}"], len(arguments))
            for name, arguments in metadata.arguments.items()
        }
        self._lock = threading.Lock()

    def address(self, entry: str) -> int:
        """Where the machine code of an entry starts; KeyError for an unknown one."""
        return self._loaded.addresses[f"lamina_{entry}"]

    def error(self, status: int) -> ExecutionError:
        """What a status other than 0 means."""
        return ExecutionError(explained(self.metadata.messages[status - 1]))

    def call(self, entry: str, pointers: Sequence[int]) -> None:
        """Runs an entry on data pointers, one per argument, in order.

        The caller keeps the memory alive and vouches for its size and alignment. ExecutionError
        with the message of the first run-time check that failed; KeyError for an unknown entry.
        """
        native = self._entries[entry]
        if len(pointers) != native.count:
            raise ExecutionError(f"@{entry} takes {native.count} pointers, {len(pointers)} given")
        with self._lock:
            if pointers:
                native.array[:] = pointers
            status = native.function(native.address)
        if status:
            raise self.error(status)
