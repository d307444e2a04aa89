"""Arguments that lie in memory row-major over numbers of the call (`lamina.extents`).

Entries take and hand on such memory; kernels whose nests are on indices get it laid out as its type
says, and what they write goes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.interpreter import Interpreter, impl_callable, register_impls
from xdsl.interpreters.func import FuncFunctions

from lamina.passes.contracts.argument_numbers import EXTENTS
from lamina.passes.memory.bufferize import ENTRY
from lamina.runtime.entry import Slot
from lamina.runtime.interpreters.loop_memory import unwritten

Region = tuple[slice, ...]


@register_impls
class KernelFunctions(FuncFunctions):
    """Functions, of which kernels may take arguments in such memory."""

    @impl_callable(func.FuncOp)
    def call_func(self, interpreter: Interpreter, op: func.FuncOp, args: tuple[Any, ...]) -> Any:
        """Calls a function with its arguments laid out as their types say."""
        found = {} if ENTRY in op.attributes else _extents(op)
        if not found:
            return super().call_func(interpreter, op, args)
        laid_out, regions = list(args), dict[int, Region]()
        for place, extents in found.items():
            given = args[place]
            regions[place] = _region(given.shape, [args[n] if n >= 0 else -1 for n in extents])
            laid_out[place] = unwritten(given.shape, given.dtype)
            part = laid_out[place][regions[place]]
            part[...] = given.reshape(-1)[: part.size].reshape(part.shape)
        results = super().call_func(interpreter, op, tuple(laid_out))
        for place, region in regions.items():
            if args[place].flags.writeable:
                part = laid_out[place][region]
                args[place].reshape(-1)[: part.size] = part.reshape(-1)
        return results


def compact(slots: Sequence[Slot], slot: Slot, values: Mapping[str, Any]) -> Any:
    """The value of a slot of an entry as it lies in memory."""
    value = values[slot.name]
    if slot.extents is None:
        return value
    counts = [values[slots[n].name] if n >= 0 else -1 for n in slot.extents]
    part = value[_region(value.shape, counts)]
    made = unwritten(value.shape, value.dtype)
    made.reshape(-1)[: part.size] = part.reshape(-1)
    made.flags.writeable = value.flags.writeable
    return made


def _region(shape: Sequence[int], counts: Sequence[Any]) -> Region:
    """What counts of an array; all of a dimension where there is -1."""
    return tuple(
        slice(extent if int(count) < 0 else min(int(count), extent))
        for extent, count in zip(shape, counts, strict=True)
    )


def _extents(op: func.FuncOp) -> dict[int, list[int]]:
    """For each argument that has them the arguments that are its extents, or -1."""
    found: dict[int, list[int]] = {}
    for place, entry in enumerate(op.arg_attrs or ()):
        noted = entry.data.get(EXTENTS)
        if isinstance(noted, ArrayAttr):
            found[place] = [n.value.data for n in noted if isinstance(n, IntegerAttr)]
    return found
