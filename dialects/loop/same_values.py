"""Whether bodies of nests compute the same, or what does not vary along a dimension."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import BlockArgument, OpResult, SSAValue

from lamina.dialects.loop.access import forms_of, substitute
from lamina.dialects.loop.body_ops import IndexOp
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.linear import Linear


def is_same_along(nest: GenericOp, value: SSAValue, dim: int | None) -> bool:
    """Whether a value of the body does not depend on the position along a dimension."""
    if dim is None:
        return True
    if isinstance(value, BlockArgument):
        if value.index >= len(nest.inputs):
            return False
        return dim not in nest.read_maps[value.index].used_dims()
    assert isinstance(value, OpResult)
    if isinstance(value.owner, IndexOp):
        return value.owner.dim.value.data != dim
    return not value.owner.regions and all(
        is_same_along(nest, o, dim) for o in value.owner.operands
    )


def is_reduced_by(
    nest: GenericOp, value: SSAValue, other: GenericOp, number: int, dim: int
) -> bool:
    """Whether result `number` of another nest reduces, along its `dim`, just this value of a body.

    Both are nests of one kernel, with one dimension beside its rows.
    """
    inner = [d for d in range(len(nest.extents)) if d not in rows_of(nest)]
    if len(inner) != 1 or len(rows_of(other)) != len(rows_of(nest)):
        return False
    dims = dict(zip(rows_of(other), rows_of(nest), strict=True)) | {dim: inner[0]}
    if any(d not in dims and e != 1 for d, e in enumerate(other.extents)):
        return False
    if any(other.extents[d] != nest.extents[dims[d]] for d in dims):
        return False
    moved = [Linear.dim(dims[d]) if d in dims else Linear(()) for d in range(len(other.extents))]
    return _is_same(nest, value, other, other.yielded[number], moved)


def is_same_value(nest: GenericOp, value: SSAValue, other: GenericOp, its: SSAValue) -> bool:
    """Whether the bodies of two nests over one domain compute the same at each point."""
    dims = [Linear.dim(d) for d in range(len(nest.extents))]
    return nest.extents == other.extents and _is_same(nest, value, other, its, dims)


def _is_same(
    nest: GenericOp, value: SSAValue, other: GenericOp, its: SSAValue, moved: Sequence[Linear]
) -> bool:
    """Whether the body of another nest computes a value of this one: equal ops, equal reads."""
    if isinstance(value, BlockArgument) and isinstance(its, BlockArgument):
        return _is_same_read(nest, value.index, other, its.index, moved)
    if not isinstance(value, OpResult) or not isinstance(its, OpResult):
        return False
    here, there = value.owner, its.owner
    if isinstance(here, IndexOp) and isinstance(there, IndexOp):
        return moved[there.dim.value.data] == Linear.dim(here.dim.value.data)
    if here.name != there.name or here.properties != there.properties or here.regions:
        return False
    if value.type != its.type or len(here.operands) != len(there.operands):
        return False
    pairs = zip(here.operands, there.operands, strict=True)
    return all(_is_same(nest, a, other, b, moved) for a, b in pairs)


def _is_same_read(
    nest: GenericOp, number: int, other: GenericOp, its: int, moved: Sequence[Linear]
) -> bool:
    if number >= len(nest.inputs) or its >= len(other.inputs):
        return False
    if nest.inputs[number] is not other.inputs[its]:
        return False
    if nest.pad_values[number] is not None or other.pad_values[its] is not None:
        return False
    forms = forms_of(nest.read_maps[number], nest.extents)
    theirs = forms_of(other.read_maps[its], other.extents)
    if forms is None or theirs is None:
        return False
    wide = {d for d, extent in enumerate(nest.extents) if extent != 1}
    return all(
        _without(a, wide) == _without(substitute(b, moved), wide)
        for a, b in zip(forms, theirs, strict=True)
    )


def _without(form: Linear, wide: set[int]) -> Linear:
    """The form without dimensions of one position."""
    return Linear(tuple(t for t in form.terms if t[0] in wide), form.constant)


__all__ = ["is_reduced_by", "is_same_along", "is_same_value"]
