"""Masks that padded reads make needless: they are false where the read gives what they choose.

    %0 = select(%mask, %x, 0.0)   // %x is read with a pad of 0.0, from where the mask is false on

Both ask whether a position is below a number of the call; where `lamina.limits` has the read ask,
the mask may be taken for true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects import arith
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.linear import Linear
from lamina.passes.schedule.call_extents import limits_of
from lamina.passes.schedule.stages import Access, Stage


def implied_masks(stage: Stage, masks: Mapping[SSAValue, int]) -> list[SSAValue]:
    """The arguments of a body that are such masks; `masks` are arguments of the kernel that are
    false from the number in another one on, and beyond their edges."""
    reads: dict[SSAValue, Access] = dict(zip(stage.op.block.args, stage.reads, strict=False))
    return [
        argument
        for argument, mask in reads.items()
        if mask.memory in masks
        and all(
            isinstance(use.operation, arith.SelectOp)
            and use.index == 0
            and _is_padded(use.operation, _pad_of(use.operation.rhs), masks, mask, reads)
            for use in argument.uses
        )
    ]


def _is_padded(
    chosen: arith.SelectOp,
    pad: Attribute | None,
    masks: Mapping[SSAValue, int],
    mask: Access,
    reads: Mapping[SSAValue, Access],
) -> bool:
    """Whether what is chosen by a mask is the pad of a read wherever the mask is false."""
    if pad is None or _pad_of(chosen.rhs) != pad:
        return False
    value = chosen.lhs
    if isinstance(value.owner, arith.SelectOp):
        return _is_padded(value.owner, pad, masks, mask, reads)
    read = reads.get(value)
    if read is None or read.pad != pad:
        return False
    return (mask.axes[0], masks[mask.memory]) in _ends(read)


def _ends(read: Access) -> Iterator[tuple[Linear, int]]:
    for axis, number in enumerate(limits_of(read.memory) or ()):
        if axis in read.tested and number >= 0:
            yield read.axes[axis], number


def _pad_of(value: SSAValue) -> Attribute | None:
    owner = value.owner
    return owner.value if isinstance(owner, arith.ConstantOp) else None
