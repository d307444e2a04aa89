"""Memory for a program: its constants, what its setup makes of them, and scratch."""

import sys
from collections.abc import Mapping
from typing import Any

from lamina.dialects.errors import ArgumentError
from lamina.passes.contracts.entry_attributes import CONSTANT_KINDS
from lamina.runtime.arguments import array_kind, kind_name
from lamina.runtime.buffers import AlignedMemory, MemoryPart, map_to_be_read, side_by_side
from lamina.runtime.dispatch.binding import BoundProgram
from lamina.runtime.dispatch.native import native_calls
from lamina.runtime.dispatch.shortage import memory_of, refuse_endless
from lamina.runtime.entry import OUTPUT_KINDS, Entry, Slot
from lamina.runtime.overlap import check_bound
from lamina.runtime.program import HeldMemory, MachineCode, Program
from lamina.runtime.random_state import State, shared_state
from lamina.runtime.shared_constants import Shared, SharedConstants

_PREPARED = "what the program makes of its constants"
"""In errors, by which its memory is named."""


def bind(
    program: Program,
    code: MachineCode,
    constants: Mapping[str, Any],
    random_state: State | None = None,
    shared: Shared | None = None,
) -> BoundProgram:
    """Gives a program its memory: constants, prepared by its setup, and scratch.

    Random numbers come from `random_state`, or from the state that programs share. What the setups
    of other programs have made of the same constants comes from `shared`. Raises OutOfMemoryError
    where there is no memory for what the program keeps.
    """
    refuse_endless(program.main.slots)
    state = shared_state() if random_state is None else random_state
    kept: list[object] = [code, state]
    held: dict[str, int] = {}
    made = _prepared(program, code, constants, held, kept, shared or SharedConstants())
    kept.extend(made.values())
    prepared = {name: memory.address for name, memory in made.items()}
    slots = program.main.slots
    pointers = [0] * len(slots)
    has_room = any(slot.limits or slot.sizes for slot in slots)
    for index, slot in enumerate(slots):
        if slot.kind in CONSTANT_KINDS:
            pointers[index] = _hold(slot, constants, held, kept)
        elif slot.kind == "prepared":
            pointers[index] = prepared[slot.name]
        elif slot.kind in ("arena", "mutation"):
            pointers[index] = _scratch(slot, kept, is_partly_used=has_room)
        elif slot.kind == "extern":
            pointers[index] = _extern(slot, kept)
        elif slot.kind == "poll":
            pointers[index] = native_calls().addresses["lamina_poll"]
        elif slot.kind == "seed":
            pointers[index] = state.ctypes.data
    positions = {
        slot.name: index for index, slot in enumerate(slots) if slot.kind not in OUTPUT_KINDS
    }
    copies = [
        (index, positions[slot.target or ""], slot.size)
        for index, slot in enumerate(slots)
        if slot.kind == "mutation"
    ]

    check_bound(slots, {target for _, target, _ in copies}, pointers)

    # A lock of its own is needed where there is no GIL, as in free-threaded builds.
    keeps_gil = program.is_short and getattr(sys, "_is_gil_enabled", lambda: True)()

    def failed(status: int) -> None:
        raise code.error(status)

    return BoundProgram(
        code.address("main"), slots, pointers, copies, failed, keeps_gil, kept, program.brief_up_to
    )


def _prepared(
    program: Program,
    code: MachineCode,
    constants: Mapping[str, Any],
    held: dict[str, int],
    kept: list[object],
    shared: Shared,
) -> Mapping[str, HeldMemory]:
    """Prepared constants by name; those that an entry of the same program has are read there."""
    if program.prepared is not None:
        return program.prepared
    if program.setup is None:
        return {}
    recipes = program.recipes
    room = program.early and program.early.take()
    names = [slot.name for slot in program.setup.slots if slot.kind == "prepared"]
    found = {name: shared.find(recipes.get(name), constants) for name in names}
    prepared = {name: memory for name, memory in found.items() if memory is not None}
    if len(prepared) == len(names):
        return prepared
    sizes = {s.name: s.size for s in program.setup.slots if s.kind == "prepared"}
    wanted = [name for name in names if name not in prepared]
    parts = side_by_side([sizes[name] for name in wanted], _PREPARED, room)
    own = dict(zip(wanted, parts, strict=True))
    made = _run_setup(program, program.setup, code, constants, held, kept, own)
    for name, memory in made.items():
        if prepared.setdefault(name, memory) is memory:
            shared.keep(recipes.get(name), constants, memory)
    return prepared


def _run_setup(
    program: Program,
    setup: Entry,
    code: MachineCode,
    constants: Mapping[str, Any],
    held: dict[str, int],
    kept: list[object],
    own: Mapping[str, AlignedMemory | MemoryPart],
) -> dict[str, AlignedMemory | MemoryPart]:
    """What `setup` makes, by name: in memory of its `own`, or, what others have, in new memory."""
    prepared: dict[str, AlignedMemory | MemoryPart] = {}
    pointers: list[int] = []
    needed = {slot.name for slot in program.main.slots}
    only_here: list[object] = []  # packed weights replace what they are made from
    for slot in setup.slots:
        if slot.kind == "prepared":
            prepared[slot.name] = own.get(slot.name) or AlignedMemory(slot.size, _PREPARED)
            pointers.append(prepared[slot.name].address)
        elif slot.kind == "arena":
            pointers.append(_scratch(slot, only_here))
        elif slot.kind == "extern":
            pointers.append(_extern(slot, only_here))
        else:
            keep = kept if slot.name in needed else only_here
            pointers.append(_hold(slot, constants, held, keep))
    code.call("setup", pointers)
    return prepared


def _extern(slot: Slot, kept: list[object]) -> int:
    from lamina.runtime.extern_kernels.binding import Binding

    binding = Binding(slot.target or "")
    kept.append(binding)
    return binding.address


def _scratch(slot: Slot, kept: list[object], *, is_partly_used: bool = False) -> int:
    if not slot.size:
        return 0
    memory = AlignedMemory(slot.size, memory_of((slot,), slot))
    if is_partly_used:
        map_to_be_read(memory)
    kept.append(memory)
    return memory.address


def _hold(
    slot: Slot, constants: Mapping[str, Any], held: dict[str, int], keep: list[object]
) -> int:
    """The address of a constant; the array, or a contiguous copy of it, goes into `keep`."""
    address = held.get(slot.name)
    if address is None:
        if (value := constants.get(slot.name)) is None:
            raise ArgumentError(f"@setup reads '{slot.name}', which is not among the constants")
        kind = array_kind(kind_name(value) or "numpy")
        kept = kind.contiguous(value)
        address = held[slot.name] = kind.reader(slot, -1)(kept)
        keep.append(kept)
    return address
