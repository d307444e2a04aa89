"""Arguments of kernels whose extents in memory are numbers of the call: `lamina.extents`.

    func.func private @kernel(%x: memref<64x256xf32> {lamina.extents = [1, 2]},
                              %rows: memref<i64>, %columns: memref<i64>)

Element (i, j) is at `i * %columns + j`: memory is row-major over the extents that the call has, not
over those of the type, which are the most that they can be. With `lamina.limits`, reads that give a
pad beyond the edge of a tensor give it from these numbers on: nobody knows what stands behind them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue

from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.records import record
from lamina.passes.contracts.argument_numbers import EXTENTS, LIMITS
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.schedule.emitter import Emitter, Index


def extents_of(value: SSAValue) -> tuple[int, ...] | None:
    """For each dimension of an argument the argument that is its extent in memory, or -1 where that
    of the type is; None where all of those are."""
    return _numbers_of(value, EXTENTS)


def limits_of(value: SSAValue) -> tuple[int, ...] | None:
    """For each dimension of an argument of a kernel the argument at whose number padded reads end,
    or -1 where they end with the type; None where all do."""
    return _numbers_of(value, LIMITS)


def _numbers_of(value: SSAValue, key: str) -> tuple[int, ...] | None:
    if not isinstance(value, BlockArgument):
        return None
    function = value.owner.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return None
    noted = function.arg_attrs.data[value.index].data.get(key)
    if not isinstance(noted, ArrayAttr):
        return None
    return tuple(entry.value.data for entry in noted if isinstance(entry, IntegerAttr))


def note_on_arguments(function: FuncOp, key: str, found: Mapping[int, Attribute]) -> None:
    """Note what is found of arguments, by their places; others lose the note, which is no choice:
    what does not follow is not so."""
    entries = [dict(declared.entries) for declared in arguments_of(function)]
    if not found and not any(key in entry for entry in entries):
        return
    for place, entry in enumerate(entries):
        entry.pop(key, None)
        if place in found:
            entry[key] = found[place]
    function.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, entries))


def integers(numbers: Sequence[int]) -> ArrayAttr[Attribute]:
    """Numbers as an attribute of an argument."""
    return ArrayAttr([IntegerAttr(number, i64) for number in numbers])


def drop_extents(function: FuncOp) -> None:
    """Forget them: accesses are to flat memory by now."""
    if function.arg_attrs is None:
        return
    entries = [dict(entry.data) for entry in function.arg_attrs]
    if not any(entry.keys() & {EXTENTS, LIMITS} for entry in entries):
        return
    for entry in entries:
        entry.pop(EXTENTS, None)
        entry.pop(LIMITS, None)
    if any(entries):
        function.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, entries))
    else:
        del function.properties["arg_attrs"]


def open_axes(extents: Sequence[int]) -> tuple[int, ...]:
    """The axes in front of one whose extent is a number of the call: their strides are, too."""
    last = max((axis for axis, number in enumerate(extents) if number >= 0), default=0)
    return tuple(range(last))


def dimensions_of(value: SSAValue) -> list[tuple[int, int]]:
    """Of each dimension its stride, in numbers of which a complex one is two, and its extent."""
    kind, shape = value.type, shape_of(value)
    assert isinstance(kind, MemRefType)
    each = 2 if isinstance(kind.element_type, ComplexType) else 1
    return [(each * stride, n) for stride, n in zip(row_major_strides(shape), shape, strict=True)]


@record
class CallExtents:
    """What of the arguments of a kernel follows from numbers of the call.

    A number out of its range is taken as the nearest in it: kernels do not leave their memory.
    """

    emit: Emitter
    arguments: Sequence[BlockArgument]
    flat: Mapping[SSAValue, SSAValue]
    """The arguments as rows."""
    _ends: dict[tuple[int, int, int], Index] = field(default_factory=dict)
    _products: dict[tuple[Index, Index], Index] = field(default_factory=dict)

    def strides(self) -> dict[SSAValue, tuple[Index, ...]]:
        """Of arguments with `lamina.extents` the elements from one position of each axis to the
        next."""
        found: dict[SSAValue, tuple[Index, ...]] = {}
        for argument in self.arguments:
            extents = extents_of(argument)
            if extents is None:
                continue
            steps: list[Index] = [1]
            for extent, number in list(zip(shape_of(argument), extents, strict=True))[:0:-1]:
                end = extent if number < 0 else self._end(number, 1, extent)
                steps.append(self._times(steps[-1], end))
            found[argument] = tuple(reversed(steps))
        return found

    def edges(self) -> dict[SSAValue, tuple[Index, ...]]:
        """Of arguments with `lamina.limits` where each axis ends for reads that have a pad."""
        return {
            argument: tuple(
                extent if number < 0 else self._end(number, 0, extent)
                for extent, number in zip(shape_of(argument), limits, strict=True)
            )
            for argument in self.arguments
            if (limits := limits_of(argument)) is not None
        }

    def _end(self, number: int, least: int, most: int) -> Index:
        key = (number, least, most)
        if key not in self._ends:
            emit = self.emit
            given = emit.read_index(self.flat[self.arguments[number]])
            self._ends[key] = emit.least(emit.most(given, least), most)
        return self._ends[key]

    def _times(self, step: Index, by: Index) -> Index:
        if (step, by) not in self._products:
            self._products[step, by] = self.emit.times(step, by)
        return self._products[step, by]
