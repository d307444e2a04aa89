"""Dividing a dimension of a nest in two: so many parts, and the positions of each."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from lamina.dialects.loop import GenericOp, IndexOp
from lamina.dialects.loop.access import Forms, forms_of, map_of, substitute
from lamina.dialects.loop.linear import Linear
from lamina.passes.loop.loop_rewriting import rebuild


def is_divisible(nest: GenericOp) -> bool:
    """Whether all index maps of the nest are linear, so that a dimension of it can be divided."""
    maps = (*nest.read_maps, *nest.write_maps)
    return all(forms_of(index_map, nest.extents) is not None for index_map in maps)


def divide(nest: GenericOp, dim: int, parts: int) -> GenericOp:
    """The nest with dimension `dim` as two: `parts`, in its place, and behind it the rest.

    `parts` divides its extent, and the nest `is_divisible`.
    """
    extents = list(nest.extents)
    length = extents[dim] // parts
    extents[dim : dim + 1] = [parts, length]
    rank = len(extents)
    moved = [Linear.dim(d if d < dim else d + 1) for d in range(rank - 1)]
    moved[dim] = Linear.of({dim: length, dim + 1: 1})
    reads = [_moved(forms_of(m, nest.extents), moved) for m in nest.read_maps]
    writes = [_moved(forms_of(m, nest.extents), moved) for m in nest.write_maps]
    new = rebuild(
        nest,
        domain=extents,
        input_maps=[map_of(forms, rank) for forms in reads],
        output_maps=[map_of(forms, rank) for forms in writes],
    )
    for op in list(new.block.ops):
        if isinstance(op, IndexOp) and op.dim.value.data >= dim:
            _replace_position(op, moved[op.dim.value.data])
    return new


def divided_dims(dims: Sequence[int], dim: int) -> tuple[int, ...]:
    """Where dimensions are after `divide`; the parts stand in front of what was divided."""
    found: list[int] = []
    for d in dims:
        found += [d, d + 1] if d == dim else [d if d < dim else d + 1]
    return tuple(found)


def _moved(forms: Forms | None, moved: Sequence[Linear]) -> Forms:
    assert forms is not None
    return tuple(substitute(form, moved) for form in forms)


def _replace_position(op: IndexOp, form: Linear) -> None:
    """The position along an old dimension, from those along the new ones."""
    block = op.parent_block()
    assert block is not None

    def add(new: Operation) -> SSAValue:
        block.insert_op_before(new, op)
        return new.results[0]

    total: SSAValue | None = None
    for dim, coefficient in form.terms:
        term = add(IndexOp(dim))
        if coefficient != 1:
            step = add(arith.ConstantOp(IntegerAttr(coefficient, IndexType())))
            term = add(arith.MuliOp(term, step))
        total = term if total is None else add(arith.AddiOp(total, term))
    assert total is not None
    op.result.replace_all_uses_with(total)
    block.erase_op(op)
