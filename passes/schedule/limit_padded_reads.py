"""`limit-padded-reads`: reads that give a pad beyond an edge give it from the sizes of a call on.

A window over an image of open size reads beyond its edge, where the pad is. In a version that has
room for larger images the edge of the type is further out; nobody knows what stands between the two
(`lamina.counts` of the entry's argument), and the program masks it. `lamina.limits` of a kernel's
argument says at which numbers of the call it ends:

    func.func private @kernel(%x: memref<64x256xf32> {lamina.limits = [1, 2]},
                              %rows: memref<i64>, %columns: memref<i64>)

`apply-schedule` gives the pad from there on, and reads no further. Only arguments of kernels whose
padded reads stand in nests in tasks of rows are noted, where all calls agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.schedules import RowTasksAttr
from lamina.passes.contracts.argument_numbers import COUNTS, LIMITS
from lamina.passes.contracts.declared import arguments_of, text_of
from lamina.passes.fusion.outline_kernels import kernel_calls, kernel_functions
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.schedule.call_extents import integers, note_on_arguments
from lamina.passes.schedule.kernel_parts import parts_of

Counts = tuple[SSAValue | None, ...]
"""For each dimension of an argument of an entry the one that says how much of it counts."""


class LimitPaddedReadsPass(ModulePass):
    """Note on arguments of kernels at which numbers of the call padded reads end."""

    name = "limit-padded-reads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        counted = {v: c for f in functions if ENTRY in f.attributes for v, c in _counted(f)}
        if not counted:  # of known sizes: there is nothing to walk for
            for kernel in kernel_functions(op):
                _note(kernel, {})
            return
        for kernel, calls in kernel_calls(op).items():
            _note(kernel, {n: e for n in _padded(kernel) if (e := _agreed(calls, n, counted))})


def _counted(entry: func.FuncOp) -> Iterator[tuple[BlockArgument, Counts]]:
    """The inputs of an entry of which parts count."""
    arguments = arguments_of(entry)
    values = {
        declared.name: value
        for declared, value in zip(arguments, entry.body.block.args, strict=True)
    }
    for value, declared in zip(entry.body.block.args, arguments, strict=True):
        counts = declared.entries.get(COUNTS)
        if isinstance(counts, ArrayAttr) and declared.kind == "input":
            yield value, tuple(values.get(text_of(name) or "") for name in counts)


def _padded(kernel: func.FuncOp) -> list[int]:
    """The arguments of a kernel whose reads beyond an edge all stand in tasks of rows."""
    found: dict[int, bool] = {}
    rows = {
        stage.op
        for part in parts_of(kernel)
        if part.kind is RowTasksAttr and not any(is_packed(stage.op) for stage in part.stages)
        for stage in part.stages
    }
    for nest in kernel.body.walk():
        if not isinstance(nest, GenericOp):
            continue
        for value, _, pad in nest.reads:
            if pad is not None and isinstance(value, BlockArgument):
                found[value.index] = found.get(value.index, True) and nest in rows
    return [place for place, fits in found.items() if fits]


def _agreed(
    calls: Sequence[func.CallOp], place: int, counted: dict[BlockArgument, Counts]
) -> tuple[int, ...] | None:
    """The places of the numbers at which what all calls pass at a place ends."""
    said = {_passed(call, place, counted) for call in calls}
    numbers = said.pop() if len(said) == 1 else None
    return numbers if numbers is not None and any(n >= 0 for n in numbers) else None


def _passed(
    call: func.CallOp, place: int, counted: dict[BlockArgument, Counts]
) -> tuple[int, ...] | None:
    value = call.arguments[place]
    if not isinstance(value, BlockArgument) or value not in counted:
        return None
    places = {argument: number for number, argument in enumerate(call.arguments)}
    return tuple(-1 if count is None else places.get(count, -1) for count in counted[value])


def _note(kernel: func.FuncOp, limits: dict[int, tuple[int, ...]]) -> None:
    note_on_arguments(kernel, LIMITS, {n: integers(own) for n, own in limits.items()})
