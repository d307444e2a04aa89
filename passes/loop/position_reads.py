"""Indirect reads whose indices follow from the position: they become reads by index map.

`embedding(arange(n))`, `unfold` and the frames of an `stft` compute their indices from positions.
Where these are linear and inside the tensor, and have no limits that come with the call, nothing is
left to check, and the read is one like any other: it is scheduled by its strides, and what makes
the tensor may be computed beside it.
"""

from __future__ import annotations

from xdsl.ir import BlockArgument, SSAValue

from lamina.dialects.loop import GenericOp, ReadOp
from lamina.dialects.loop.access import Forms, map_of, shape_of
from lamina.dialects.loop.linear import Linear
from lamina.passes.loop.body_folding import simplify_body
from lamina.passes.loop.canonicalize_loop import drop_unused_operands
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.position_choices import position_forms


def settle_reads(op: GenericOp) -> GenericOp:
    """The nest with plain reads, behind those that it has, in the place of such indirect ones."""
    if not op.sources or 0 in op.extents:
        return op
    forms: dict[SSAValue, Linear] = position_forms(op)
    reads = op.reads
    for read in [inner for inner in op.block.ops if isinstance(inner, ReadOp)]:
        found = [forms.get(index) for index in read.indices]
        place = tuple(form for form in found if form is not None)
        assert isinstance(read.source, BlockArgument)
        source = op.sources[read.source.index - len(reads)]
        if len(place) < len(found) or read.limits or not _is_inside(place, source, op.extents):
            continue
        argument = op.block.insert_arg(read.result.type, len(reads))
        reads.append((source, map_of(place, len(op.extents)), None))
        read.result.replace_all_uses_with(argument)
        op.block.erase_op(read)
    if len(reads) == len(op.inputs):
        return op
    simplify_body(op.block)
    return drop_unused_operands(rebuild(op, reads=reads))


def _is_inside(forms: Forms, source: SSAValue, extents: tuple[int, ...]) -> bool:
    """Whether these indices are inside a tensor wherever the nest stands."""
    ends = [form.range(extents) for form in forms]
    return all(0 <= low <= high < e for (low, high), e in zip(ends, shape_of(source), strict=True))


def is_position(nest: GenericOp) -> bool:
    """Whether a nest holds integers that are linear in their position, as `arange` does."""
    if nest.inputs or nest.sources or 0 in nest.extents or len(nest.res) != 1:
        return False
    return nest.yielded[0] in position_forms(nest)


__all__ = ["is_position", "settle_reads"]
