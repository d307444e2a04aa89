"""Arguments of kernels whose extents in memory are numbers of the call: `lamina.extents`.

    func.func private @kernel(%x: memref<64x256xf32> {lamina.extents = [1, 2]},
                              %rows: memref<i64>, %columns: memref<i64>)

Element (i, j) is at `i * %columns + j`: memory is row-major over the extents that the call has, not
over those of the type, which are the most that they can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.passes.contracts.entry_attributes import EXTENTS
from lamina.passes.schedule.emitter import Emitter, Index


def extents_of(value: SSAValue) -> tuple[int, ...] | None:
    """For each dimension of an argument the argument that is its extent in memory, or -1 where that
    of the type is; None where all of those are."""
    if not isinstance(value, BlockArgument):
        return None
    function = value.owner.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return None
    noted = function.arg_attrs.data[value.index].data.get(EXTENTS)
    if not isinstance(noted, ArrayAttr):
        return None
    return tuple(entry.value.data for entry in noted if isinstance(entry, IntegerAttr))


def drop_extents(function: FuncOp) -> None:
    """Forget them: accesses are to flat memory by now."""
    if function.arg_attrs is None:
        return
    entries = [dict(entry.data) for entry in function.arg_attrs]
    if not any(EXTENTS in entry for entry in entries):
        return
    for entry in entries:
        entry.pop(EXTENTS, None)
    if any(entries):
        function.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, entries))
    else:
        del function.properties["arg_attrs"]


def open_axes(extents: Sequence[int]) -> tuple[int, ...]:
    """The axes in front of one whose extent is a number of the call: their strides are, too."""
    last = max((axis for axis, number in enumerate(extents) if number >= 0), default=0)
    return tuple(range(last))


def reshaped_extents(
    extents: Sequence[int], value: SSAValue, result: SSAValue
) -> tuple[int, ...] | None:
    """The extents of the elements of a value in the shape of another one; None where an open
    dimension is split or joined there. Others may be, on either side of open ones."""
    dimensions = dimensions_of(result)
    found = [-1] * len(dimensions)
    for number, dimension in zip(extents, dimensions_of(value), strict=True):
        if number < 0 or dimension[1] == 1:  # of one element, the number is taken as 1 as well
            continue
        if dimension not in dimensions:
            return None
        found[dimensions.index(dimension)] = number
    return tuple(found)


def dimensions_of(value: SSAValue) -> list[tuple[int, int]]:
    """Of each dimension its stride, in numbers of which a complex one is two, and its extent."""
    kind, shape = value.type, shape_of(value)
    assert isinstance(kind, MemRefType)
    each = 2 if isinstance(kind.element_type, ComplexType) else 1
    return [(each * stride, n) for stride, n in zip(row_major_strides(shape), shape, strict=True)]


def strides_of(
    emit: Emitter, arguments: Sequence[BlockArgument], flat: Mapping[SSAValue, SSAValue]
) -> dict[SSAValue, tuple[Index, ...]]:
    """Of arguments with such extents the elements from one position of each axis to the next;
    `flat` are the arguments of their kernel as rows.

    A number out of its range is taken as the nearest in it: kernels do not leave their memory.
    """
    ends: dict[tuple[int, int], Index] = {}
    products: dict[tuple[Index, Index], Index] = {}

    def end(number: int, extent: int) -> Index:
        if (number, extent) not in ends:
            given = emit.add(memref.LoadOp.get(flat[arguments[number]], [emit.value(0)]))
            counted = emit.add(arith.IndexCastOp(given, IndexType()))
            ends[number, extent] = emit.least(emit.most(counted, 1), extent)
        return ends[number, extent]

    def times(step: Index, by: Index) -> Index:
        if (step, by) not in products:
            products[step, by] = emit.times(step, by)
        return products[step, by]

    found: dict[SSAValue, tuple[Index, ...]] = {}
    for argument in arguments:
        extents = extents_of(argument)
        if extents is None:
            continue
        steps: list[Index] = [1]
        for extent, number in list(zip(shape_of(argument), extents, strict=True))[:0:-1]:
            steps.append(times(steps[-1], extent if number < 0 else end(number, extent)))
        found[argument] = tuple(reversed(steps))
    return found
