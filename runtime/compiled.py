"""`Compiled`: a program as native code, called like a function."""

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from lamina.dialects.errors import ArgumentError, ExecutionError
from lamina.runtime.arguments import (
    ArrayKind,
    Maker,
    Reader,
    Structure,
    array_kind,
    check_count,
    describe,
    kind_name,
    wrong_kind,
)
from lamina.runtime.buffers import OutputPool, aligned_bytes
from lamina.runtime.entry import Entry, Slot
from lamina.runtime.kernels import Kernels

_POOLED_BYTES = 1 << 16
"""Outputs from this size on come from the pool; below, the C library's own recycling is faster."""

_pool = OutputPool()


class NativeCode(Protocol):
    """Loaded machine code, such as `Executable`."""

    def call(self, entry: str, pointers: Sequence[int]) -> None:
        """Runs an entry point on its pointers; ExecutionError when a check inside it fails."""
        ...


@dataclass(frozen=True)
class Program:
    """A program as machine code, not yet bound to its constants.

    `code` is None when it is for another machine than this one.
    """

    code: NativeCode | None
    main: Entry
    setup: Entry | None
    kernels: Kernels


class Compiled:
    """A compiled program, bound to its constants.

    Call it with NumPy arrays or torch tensors (contiguous, of exactly the shapes and dtypes that
    the program has) and it gives back the same kind, in fresh memory. Buffers and arguments that
    the program mutates are written in place. Calls from several threads run one after another.

    Raises ArgumentError when an argument does not fit, and ExecutionError when a check at run time
    fails, for example an index out of range.
    """

    def __init__(
        self,
        program: Program,
        constants: Mapping[str, Any],
        structure: Structure,
        render: Callable[[str], str],
    ) -> None:
        self._program = program
        self._structure = structure
        self._render = render
        self._lock = threading.Lock()
        self._plans: dict[type, _Plan] = {}
        self._kept: list[Any] = []  # what the addresses in self._pointers point into
        slots = program.main.slots
        self._pointers = [0] * len(slots)
        self._inputs = _numbered(slots, "input")
        self._outputs = _numbered(slots, "output")
        if program.code is not None:
            self._run = program.code.call
            self._bind(program.code, constants)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program; see the class for what it takes and gives."""
        values = self._structure.flatten(args, kwargs)
        plan = self._plans.get(type(values[0])) if values else self._plans.get(type(None))
        if plan is None:
            plan = self._plan_for(values)
        if len(values) != len(plan.readers):
            check_count([slot for _, slot in self._inputs], len(values))
        with self._lock:
            pointers = self._pointers
            for (index, read), value in zip(plan.readers, values, strict=True):
                pointers[index] = read(value)
            results: list[Any] = []
            for index, make in plan.makers:
                result, pointers[index] = make()
                results.append(result)
            self._run("main", pointers)
            for source, target, size in self._mutations:
                ctypes.memmove(pointers[target], pointers[source], size)
        return self._structure.unflatten(results)

    @property
    def inputs(self) -> tuple[Slot, ...]:
        """Name, dtype and shape of each input, in order."""
        return tuple(slot for _, slot in self._inputs)

    @property
    def outputs(self) -> tuple[Slot, ...]:
        """Name, dtype and shape of each output, in order."""
        return tuple(slot for _, slot in self._outputs)

    @property
    def kernels(self) -> Kernels:
        """The native kernels, each with the ops fused into it; prints as a table."""
        return self._program.kernels

    @property
    def runs_here(self) -> bool:
        """Whether it can be called; False when it was compiled for another machine."""
        return self._program.code is not None

    def ir(self, layer: str) -> str:
        """The program's text at `layer`, one of `lamina.LAYERS`; InputError for another name.

        Layers below the one the program came in are made again when asked for.
        """
        return self._render(layer)

    def __repr__(self) -> str:
        takes = ", ".join(f"{slot.name}: {slot.type_text}" for slot in self.inputs)
        gives = ", ".join(slot.type_text for slot in self.outputs)
        return f"<lamina.Compiled ({takes}) -> ({gives}), {len(self.kernels)} kernels>"

    # Binding

    def _bind(self, code: NativeCode, constants: Mapping[str, Any]) -> None:
        held: dict[str, int] = {}
        prepared = self._run_setup(code, constants, held)
        slots = self._program.main.slots
        for index, slot in enumerate(slots):
            if slot.kind in ("parameter", "buffer", "constant"):
                self._pointers[index] = _hold(slot, constants, held, self._kept)
            elif slot.kind == "prepared":
                self._pointers[index] = prepared[slot.name]
            elif slot.kind in ("arena", "mutation"):
                self._pointers[index] = self._scratch(slot)
            elif slot.kind == "extern":
                self._pointers[index] = self._bound(slot)
        positions = {slot.name: index for index, slot in enumerate(slots) if slot.kind != "output"}
        self._mutations = [
            (index, positions[slot.target or ""], slot.size)
            for index, slot in enumerate(slots)
            if slot.kind == "mutation"
        ]
        self._mutated_inputs = {slots[target].name for _, target, _ in self._mutations}

    def _run_setup(
        self, code: NativeCode, constants: Mapping[str, Any], held: dict[str, int]
    ) -> dict[str, int]:
        entry = self._program.setup
        if entry is None:
            return {}
        pointers = [0] * len(entry.slots)
        prepared: dict[str, int] = {}
        needed = {slot.name for slot in self._program.main.slots}
        only_here: list[Any] = []  # packed weights replace what they are made from
        arena: np.ndarray | None = None
        for index, slot in enumerate(entry.slots):
            if slot.kind == "prepared":
                pointers[index] = prepared[slot.name] = self._scratch(slot)
            elif slot.kind == "arena":
                arena = aligned_bytes(slot.size)
                pointers[index] = arena.ctypes.data
            elif slot.kind == "extern":
                pointers[index] = self._bound(slot)
            else:
                keep = self._kept if slot.name in needed else only_here
                pointers[index] = _hold(slot, constants, held, keep)
        code.call("setup", pointers)
        return prepared

    def _bound(self, slot: Slot) -> int:
        from lamina.runtime.extern_kernels.binding import Binding

        binding = Binding(slot.target or "")
        self._kept.append(binding)
        return binding.address

    def _scratch(self, slot: Slot) -> int:
        memory = aligned_bytes(slot.size)
        self._kept.append(memory)
        return memory.ctypes.data

    # Plans

    def _plan_for(self, values: Sequence[Any]) -> "_Plan":
        """How calls with this type of first argument read their inputs and make their outputs."""
        if self._program.code is None:
            raise ExecutionError("the program is compiled for another machine and cannot run here")
        name = kind_name(values[0]) if values else self._structure.native_kind
        if name is None:
            check_count(self.inputs, len(values))
            raise wrong_kind(0, self.inputs[0], values[0], None)
        plan = _Plan(array_kind(name), self._inputs, self._outputs)
        for position, (_, slot) in enumerate(self._inputs):
            if slot.name in self._mutated_inputs:
                index, read = plan.readers[position]
                plan.readers[position] = index, _writable(read, position, slot)
        self._plans[type(values[0]) if values else type(None)] = plan
        return plan


class _Plan:
    """Readers of all inputs and makers of all outputs for one kind of arrays."""

    def __init__(
        self,
        kind: ArrayKind,
        inputs: Sequence[tuple[int, Slot]],
        outputs: Sequence[tuple[int, Slot]],
    ) -> None:
        self.readers: list[tuple[int, Reader]] = [
            (index, kind.reader(slot, position)) for position, (index, slot) in enumerate(inputs)
        ]
        self.makers: list[tuple[int, Maker]] = [
            (index, kind.maker(slot, _allocator(slot))) for index, slot in outputs
        ]


def _hold(slot: Slot, constants: Mapping[str, Any], held: dict[str, int], keep: list[Any]) -> int:
    """The address of a constant; the array, or a contiguous copy of it, goes into `keep`."""
    address = held.get(slot.name)
    if address is None:
        value = constants[slot.name]
        kind = array_kind(kind_name(value) or "numpy")
        kept = kind.contiguous(value)
        address = held[slot.name] = kind.reader(slot, -1)(kept)
        keep.append(kept)
    return address


def _allocator(slot: Slot) -> Callable[[], np.ndarray]:
    """Makes the memory of an output: small ones afresh, large ones over recycled pages."""
    shape, dtype = slot.shape, slot.storage_dtype
    if slot.size < _POOLED_BYTES:
        return partial(np.empty, shape, dtype)
    return partial(_pool.array, shape, dtype)


def _writable(read: Reader, position: int, slot: Slot) -> Reader:
    """A reader that also refuses read-only arrays, for arguments that the program mutates."""

    def checked(value: Any) -> int:
        address = read(value)
        if isinstance(value, np.ndarray) and not value.flags.writeable:
            raise ArgumentError(
                f"{describe(position, slot)}: the program writes to it, but it is read-only"
            )
        return address

    return checked


def _numbered(slots: Sequence[Slot], kind: str) -> list[tuple[int, Slot]]:
    return [(index, slot) for index, slot in enumerate(slots) if slot.kind == kind]
