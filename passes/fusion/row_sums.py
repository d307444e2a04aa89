"""Sums over the rows of a kernel, as nests that add to their results row after row.

Such a nest has rows among the dimensions that it reduces: a task runs them one after the other, and
adds what each row gives to results that stay in memory. Rows in front of them are tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Region

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, YieldOp
from lamina.dialects.loop.access import Forms, forms_of, map_of, substitute
from lamina.dialects.loop.kernel_nests import part_of, rows_of, set_part, set_rows
from lamina.dialects.loop.labels import names_of, set_names
from lamina.dialects.loop.linear import Linear
from lamina.passes.fusion.fusion_rules import initial_rows
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.split_reductions import join_partial


def sum_over_rows(nest: GenericOp, parts: int) -> None:
    """Rewrite a reduction whose rows are set into one that adds row by row.

    With several `parts`, the first row that it reduces is tasks: each leaves partial results, and a
    last part of the kernel joins them. What a row adds is reduced in a nest of its own, if there is
    anything to reduce in it.
    """
    rows, reduced = rows_of(nest), set(nest.reduction_dims)
    summed = [d for d in rows if d in reduced]
    part = summed[:1] if parts > 1 else []
    written = [_forms(nest, index_map) for index_map in nest.write_maps]
    inner = reduced - set(summed)
    if not inner and not part:
        return
    if inner:
        row = _writing(nest, summed, written)
        new = _sum_of(
            row, nest, written, part, [d for d in range(len(nest.extents)) if d not in inner]
        )
    else:
        new = _writing(nest, part, written)
    if not part:
        for old, result in zip(nest.res, new.res, strict=True):
            old.replace_all_uses_with(result)
    else:
        _join(nest, new)
    block = nest.parent_block()
    assert block is not None
    block.erase_op(nest)


def _forms(nest: GenericOp, index_map: object) -> Forms:
    forms = forms_of(index_map, nest.extents)  # pyright: ignore[reportArgumentType]
    assert forms is not None
    return forms


def _result_types(nest: GenericOp, front: Sequence[int]) -> list[TensorType]:
    """The nest's result types with axes for some of its dimensions in front."""
    kinds: list[TensorType] = []
    for result in nest.res:
        assert isinstance(result.type, TensorType)
        shape = [*(nest.extents[d] for d in front), *result.type.get_shape()]
        kinds.append(TensorType(result.type.element_type, shape))
    return kinds


def _writing(nest: GenericOp, front: Sequence[int], written: Sequence[Forms]) -> GenericOp:
    """The nest with results that have axes for some dimensions; `nest` is left without a body."""
    rank = len(nest.extents)
    axes = tuple(Linear.dim(d) for d in front)
    return rebuild(
        nest,
        output_maps=[map_of((*axes, *forms), rank) for forms in written],
        result_types=_result_types(nest, front),
        replace_results=False,
    )


def _sum_of(
    row: GenericOp,
    nest: GenericOp,
    written: Sequence[Forms],
    part: Sequence[int],
    kept: Sequence[int],
) -> GenericOp:
    """The nest that adds up what `row` gives for each row, over the dimensions `kept`."""
    rank = len(kept)
    moved = [
        Linear.dim(kept.index(d)) if d in kept else Linear(()) for d in range(len(nest.extents))
    ]

    def moved_map(index_map: object) -> object:
        return map_of([substitute(form, moved) for form in _forms(row, index_map)], rank)

    axes = tuple(Linear.dim(kept.index(d)) for d in part)
    targets = [(*axes, *(substitute(form, moved) for form in forms)) for forms in written]
    elements = [kind.element_type for kind in _result_types(nest, ())]
    body = Block(arg_types=elements)
    body.add_op(YieldOp(list(body.args)))
    new = GenericOp(
        [nest.extents[d] for d in kept],
        list(row.res),
        [moved_map(index_map) for index_map in row.write_maps],  # pyright: ignore
        [map_of(forms, rank) for forms in targets],
        list(nest.combiner_names),
        _result_types(nest, part),
        Region(body),
    )
    new.location = nest.location
    if names_of(nest):
        set_names(new, ["rows"])
    set_rows(new, [kept.index(d) for d in rows_of(nest)])
    block = nest.parent_block()
    assert block is not None
    block.insert_op_before(new, nest)
    return new


def _join(nest: GenericOp, partial: GenericOp) -> None:
    """Join partial results behind the nest that makes them, each in a part of its own."""
    block = nest.parent_block()
    assert block is not None
    for number, old in reversed(list(enumerate(nest.res))):
        join = join_partial(partial, [number], 0)
        join.location = nest.location
        set_names(join, ["join"])
        set_rows(join, initial_rows(join))
        block.insert_op_after(join, partial)
        old.replace_all_uses_with(join.res[0])
        begin_part([join])


def begin_part(nests: Sequence[GenericOp]) -> None:
    """Make nests a part of their kernel, which runs behind those that stand before them."""
    block = nests[0].parent_block()
    assert block is not None
    last = max(part_of(op) for op in block_ops(block))
    for nest in nests:
        set_part(nest, last + 1)
