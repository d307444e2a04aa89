"""Times of single kernels: the program once more, with an entry point for each kernel call.

The code that ordinary calls run knows nothing of it. The entries are compiled when they are first
asked for and called in the order of the program, so that each finds the data, and the caches, as
they are in a real run.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp

from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError
from lamina.runtime.arguments import array_kind, check_count, kind_name
from lamina.runtime.buffers import AlignedMemory
from lamina.runtime.dispatch.binding import BoundProgram
from lamina.runtime.entry import entry_of, function_named
from lamina.runtime.executable import Executable, ProgramMetadata

_EMPTY = "no_call"


def pointers_for(bound: BoundProgram, values: Sequence[Any]) -> tuple[list[int], list[object]]:
    """Addresses of copies of the inputs and of fresh outputs, and what keeps them alive.

    Raises ArgumentError for inputs that do not fit.
    """
    inputs = [slot for slot in bound.slots if slot.kind == "input"]
    check_count(inputs, len(values))
    pointers = list(bound.pointers)
    kept: list[object] = []
    position = 0
    for index, slot in enumerate(bound.slots):
        if slot.kind not in ("input", "output"):
            continue
        memory = AlignedMemory(slot.size)
        kept.append(memory)
        pointers[index] = memory.address
        if slot.kind == "input":
            name = kind_name(values[position]) or "numpy"
            address = array_kind(name).reader(slot, position)(values[position])
            ctypes.memmove(memory.address, address, slot.size)
            position += 1
    return pointers, kept


class KernelTimer:
    """Times the kernels of a scheduled module on pointers for the slots of its `main`."""

    def __init__(self, module: ModuleOp, target: Target) -> None:
        """Compiles the entries; ExecutionError where the target is another machine."""
        from lamina.codegen.jit import compile_object, default_options
        from lamina.codegen.llvm_emitter import emit_module

        if not target.runs_here():
            raise ExecutionError("the program is compiled for another machine and cannot run here")
        main = function_named(module, "main")
        assert main is not None
        slots = entry_of(main).to_json()
        self.names = _split(module, main)
        emitted = emit_module(module, target, default_options())
        metadata = ProgramMetadata(
            arguments=dict.fromkeys(emitted.entries, slots),
            messages=emitted.messages,
            needs_openmp=emitted.needs_openmp,
        )
        self._code = Executable(compile_object(emitted.text, target), metadata, target)

    def measure(self, pointers: Sequence[int], repeats: int) -> dict[str, float]:
        """Least seconds of one call of each kernel, the cost of calling from Python taken off."""
        best = dict.fromkeys(range(len(self.names)), float("inf"))
        empty = float("inf")
        for _ in range(repeats):
            empty = min(empty, self._time(_EMPTY, pointers))
            for number in best:
                best[number] = min(best[number], self._time(f"call_{number}", pointers))
        times: dict[str, list[float]] = {}
        for number, name in enumerate(self.names):
            times.setdefault(name, []).append(max(0.0, best[number] - empty))
        return {name: sum(found) / len(found) for name, found in times.items()}

    def _time(self, entry: str, pointers: Sequence[int]) -> float:
        start = time.perf_counter()
        self._code.call(entry, pointers)
        return time.perf_counter() - start


def _split(module: ModuleOp, main: FuncOp) -> list[str]:
    """Replace the entries by one for each call of `main`; the names of the kernels called."""
    names = [op.callee.root_reference.data for op in main.body.block.ops if isinstance(op, CallOp)]
    setup = function_named(module, "setup")
    for number in (*range(len(names)), None):
        entry = main.clone()
        entry.sym_name = StringAttr(_EMPTY if number is None else f"call_{number}")
        calls = [op for op in entry.body.block.ops if isinstance(op, CallOp)]
        for place, call in enumerate(calls):
            if place != number:
                entry.body.block.erase_op(call)
        module.body.block.insert_op_before(entry, main)
    module.body.block.erase_op(main)
    if setup is not None:
        module.body.block.erase_op(setup)
    return names
