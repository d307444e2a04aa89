"""Reads of a nest that its body only wants where a mask is true: the mask says what they end at.

    %0 = select(%m, %x, 0.0)   // %m is read of a mask along an axis of what %x is read of

Where the mask is false below a number of the call (`lamina.masks` of the kernel), elements from
there on along the axis need not be there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import SSAValue

from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.records import record


@record
class Guard:
    """A mask of a read: the number of the read of it, and the axis that it is a mask of."""

    read: int
    axis: int


def masked_reads(
    nest: GenericOp, masks: Collection[SSAValue], *, padded: bool = False
) -> Mapping[int, tuple[Guard, ...]]:
    """For each read, by its number, the masks outside of which the body does not want it.

    `masks` are rows of truth values. Reads that have a pad are left out unless `padded` says that
    they are asked for, and so is what the nest writes itself. A mask whose pad is false wants
    nothing beyond its edges.
    """
    places: dict[SSAValue, int] = {
        argument: number
        for number, argument in enumerate(nest.block.args[: len(nest.inputs)])
        if nest.inputs[number] in masks and _is_false_beyond(nest, number, padded=padded)
    }
    if not places:
        return {}
    found: dict[int, tuple[Guard, ...]] = {}
    for number, argument in enumerate(nest.block.args[: len(nest.inputs)]):
        own = nest.inputs[number]
        if own in masks or own in nest.outs:
            continue
        if nest.pad_values[number] is not None and not padded:
            continue
        axes = nest.read_maps[number].results
        guards = [
            Guard(mask, axis)
            for mask in (places[m] for m in _conditions(argument) if m in places)
            for axis, place in enumerate(axes)
            if nest.read_maps[mask].results == (place,)
        ]
        if guards:
            found[number] = tuple(guards)
    return found


def _is_false_beyond(nest: GenericOp, number: int, *, padded: bool) -> bool:
    pad = nest.pad_values[number]
    return pad is None or (padded and pad == BoolAttr.from_bool(False))


def _conditions(value: SSAValue) -> Iterator[SSAValue]:
    """What has to be true for anybody to want a value, each alone: of selections in a row."""
    uses = list(value.uses)
    chosen = [use.operation for use in uses]
    if not uses or not all(
        isinstance(op, arith.SelectOp) and use.index == 1
        for op, use in zip(chosen, uses, strict=True)
    ):
        return
    if len({op.operands[0] for op in chosen}) != 1:
        return
    yield chosen[0].operands[0]
    if len(chosen) == 1:
        yield from _conditions(chosen[0].results[0])


__all__ = ["Guard", "masked_reads"]
