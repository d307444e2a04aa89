"""Dividing a dimension of a nest into several, each of which its body and index maps then name."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp
from lamina.dialects.loop.access import Forms, forms_of, map_of, substitute
from lamina.dialects.loop.linear import Linear
from lamina.passes.loop.loop_rewriting import rebuild


def is_divisible(nest: GenericOp) -> bool:
    """Whether all index maps of the nest are linear, so that a dimension of it can be divided."""
    maps = (*nest.read_maps, *nest.write_maps)
    return all(forms_of(index_map, nest.extents) is not None for index_map in maps)


def split_positions(rank: int, dim: int, parts: Sequence[int]) -> list[Linear]:
    """Of each of `rank` dimensions, its position in those after `dim` is split into `parts`."""
    moved = [Linear.dim(d if d < dim else d + len(parts) - 1) for d in range(rank)]
    moved[dim] = Linear.of({dim + n: prod(parts[n + 1 :]) for n in range(len(parts))})
    return moved


def split_dim(nest: GenericOp, dim: int, parts: Sequence[int]) -> GenericOp:
    """The nest with dimension `dim` as several, of extents `parts`, outermost first, in its place.

    Their product is its extent, and the nest `is_divisible`. Tensors keep their shapes.
    """
    extents = [*nest.extents[:dim], *parts, *nest.extents[dim + 1 :]]
    rank = len(extents)
    moved = split_positions(len(nest.extents), dim, parts)
    reads = [_moved(forms_of(m, nest.extents), moved) for m in nest.read_maps]
    writes = [_moved(forms_of(m, nest.extents), moved) for m in nest.write_maps]
    new = rebuild(
        nest,
        domain=extents,
        input_maps=[map_of(forms, rank) for forms in reads],
        output_maps=[map_of(forms, rank) for forms in writes],
    )
    replace_positions(new, moved)
    return new


def replace_positions(nest: GenericOp, moved: Sequence[Linear]) -> None:
    """Let the body of a nest see the old positions, by those of its new dimensions."""
    for op in block_ops(nest.block):
        if isinstance(op, IndexOp):
            dim = op.dim.value.data
            if moved[dim] != Linear.dim(dim):
                _replace_position(op, moved[dim])


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


__all__ = ["is_divisible", "replace_positions", "split_dim", "split_positions"]
