"""Times of single kernels: the program once more, with an entry point for each kernel call.

The code that ordinary calls run knows nothing of it. The entries are compiled when they are first
asked for and called in the order of the program, so that each finds the data, and the caches, as
they are in a real run.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Sequence, Set
from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import SingleOp, TeamOp
from lamina.dialects.loop.team import team_of
from lamina.passes.regions.trip_counts import trip_count
from lamina.runtime.arguments import array_kind, check_count, kind_name
from lamina.runtime.buffers import AlignedMemory
from lamina.runtime.dispatch.binding import BoundProgram
from lamina.runtime.dispatch.shortage import memory_of
from lamina.runtime.entry import OUTPUT_KINDS, entry_of, function_named
from lamina.runtime.executable import Executable, ProgramMetadata

_EMPTY = {False: "no_call", True: "no_call_in_team"}
"""Entries that call no kernel: without a team of threads, and with one."""


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
        if slot.kind not in ("input", *OUTPUT_KINDS):
            continue
        memory = AlignedMemory(slot.size, memory_of(bound.slots, slot))
        kept.append(memory)
        pointers[index] = memory.address
        if slot.kind == "input":
            name = kind_name(values[position]) or "numpy"
            kind = array_kind(name)
            plain = kind.plain(kind.viewed(values[position], slot, position), slot)
            ctypes.memmove(memory.address, kind.reader(slot, position)(plain), slot.size)
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
        self._calls = _split(module, main)
        emitted = emit_module(module, target, default_options())
        metadata = ProgramMetadata(
            arguments=dict.fromkeys(emitted.entries, slots),
            messages=emitted.messages,
            needs_openmp=emitted.needs_openmp,
        )
        self._code = Executable(compile_object(emitted.text, target), metadata, target)

    def measure(self, pointers: Sequence[int], repeats: int) -> dict[str, float]:
        """Least seconds of one call of each kernel.

        The cost of calling from Python, and of starting a team of threads, is taken off.
        """
        best = dict.fromkeys(range(len(self._calls)), float("inf"))
        empty = dict.fromkeys((in_team for _, in_team in self._calls), float("inf"))
        for _ in range(repeats):
            for in_team in empty:
                empty[in_team] = min(empty[in_team], self._time(_EMPTY[in_team], pointers))
            for number in best:
                best[number] = min(best[number], self._time(f"call_{number}", pointers))
        times: dict[str, list[float]] = {}
        for number, (name, in_team) in enumerate(self._calls):
            times.setdefault(name, []).append(max(0.0, best[number] - empty[in_team]))
        return {name: sum(found) / len(found) for name, found in times.items()}

    def _time(self, entry: str, pointers: Sequence[int]) -> float:
        start = time.perf_counter()
        self._code.call(entry, pointers)
        return time.perf_counter() - start


def _split(module: ModuleOp, main: FuncOp) -> list[tuple[str, bool]]:
    """Replace the entries by one for each call of `main`, and by those of `_EMPTY`.

    Returns, for each call, the name of the kernel and whether a team of threads makes it.
    """
    calls = _calls(main)
    described = [(c.callee.root_reference.data, team_of(c) is not None) for c in calls]
    entries = {f"call_{number}": _entry(main, call) for number, call in enumerate(calls)}
    entries |= {name: _entry(main, None) for name in _EMPTY.values()}
    in_team = entries[_EMPTY[True]].body.block
    assert in_team.last_op is not None
    in_team.insert_op_before(TeamOp([]), in_team.last_op)
    for name, entry in entries.items():
        entry.sym_name = StringAttr(name)
        module.body.block.insert_op_before(entry, main)
    module.body.block.erase_op(main)
    setup = function_named(module, "setup")
    if setup is not None:
        module.body.block.erase_op(setup)
    return described


def _entry(main: FuncOp, call: CallOp | None) -> FuncOp:
    """A copy of `main` with one of its calls, its team and what it is passed, or with none; of
    loops around the call it has one round."""
    entry = main.clone_without_regions()
    body = Block(arg_types=main.body.block.arg_types)
    entry.body.add_block(body)
    values: dict[SSAValue, SSAValue] = dict(zip(main.body.block.args, body.args, strict=True))
    around = _around(call)
    passed = _makers([op for op in around if isinstance(op, CallOp | TeamOp | SingleOp)])
    _copy(main.body.block, body, {*around, *passed}, values)
    end = main.body.block.last_op
    assert end is not None
    body.add_op(end.clone(values))
    return entry


def _copy(
    source: Block, target: Block, wanted: Set[Operation], values: dict[SSAValue, SSAValue]
) -> None:
    """Append copies of the wanted ops of a block; of loops and branches, of what is wanted in them,
    with 0 for an index."""
    for op in block_ops(source):
        if op not in wanted:
            continue
        inner = next((r.block for r in op.regions if wanted & {*block_ops(r.block)}), None)
        if inner is None:
            target.add_op(op.clone(values))
        elif isinstance(op, TeamOp | SingleOp):
            team, body = op.clone_without_regions(values), Block()
            team.regions[0].add_block(body)
            target.add_op(team)
            _copy(inner, body, wanted, values)
            if (end := inner.last_op) is not None and end.has_trait(IsTerminator):
                body.add_op(end.clone(values))
        else:
            for argument in inner.args:
                first = ConstantOp(IntegerAttr(0, argument.type))  # pyright: ignore - an index
                target.add_op(first)
                values[argument] = first.result
            _copy(inner, target, wanted, values)


def _makers(ops: Sequence[Operation]) -> Iterator[Operation]:
    """The ops that make what others are passed, and what these are passed."""
    waiting, seen = [*ops], set(ops)
    while waiting:
        op = waiting.pop()
        for owner in [value.owner for value in op.operands]:
            if isinstance(owner, Operation) and owner not in seen:
                seen.add(owner)
                waiting.append(owner)
                yield owner


def _calls(entry: FuncOp) -> list[CallOp]:
    """The calls of an entry that may ever run: loops of no rounds have no rows to run on."""
    return [op for op in entry.body.walk() if isinstance(op, CallOp) and trip_count(op)]


def _around(op: Operation | None) -> list[Operation]:
    """An op and what it stands in, within its function."""
    found: list[Operation] = []
    while op is not None and not isinstance(op, FuncOp):
        found.append(op)
        op = op.parent_op()
    return found
