"""Splitting a dimension of a nest as what stands beside it has it; used by `fold-layout`.

A batched product is computed over one batch dimension: 24 for 2 x 12 heads. Where a mask or bias
tells the two apart, its readers walk them one by one, and no nest of theirs would line up with the
product. Rows and columns stay whole, since tiles go along them.

An operand may tell them apart too: keys that several heads share were expanded, and viewed as one
batch. Split as the keys have it, the product reads each of them where it is, for all rows of the
heads that share it. Nests that read its result are then split in the same way, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp, ReshapeOp
from lamina.dialects.loop.access import Forms, forms_of, is_copy, map_of, shape_of, substitute
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.linear import Linear
from lamina.dialects.schema.result_rules.shapes import tensor
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.packing import copy_nest
from lamina.passes.loop.split_dim import is_divisible, split_dim, split_positions

STEPS = 8
"""Pointwise nests behind a product that are looked through: a chain that reads its links twice each
is walked 2^8 times then, at most."""
Reach = Callable[[GenericOp, int, Forms, Sequence[int]], Forms]
"""Of a nest, the number of a read, its indices and the extents of the domain they are over: the
indices into the tensor that the read reaches through rearrangements."""


def expand_batch(producer: GenericOp, view: ReshapeOp) -> GenericOp | None:
    """The product over a domain whose batch is split as `view` splits it; None if it splits none.

    The result keeps its shape.
    """
    shape = Contraction.of(producer)
    written = forms_of(producer.write_maps[0], producer.extents)
    if shape is None or written is None or any(p is not None for p in producer.pad_values):
        return None
    for axis, form in enumerate(written):
        for dim in shape.batch:
            if form == Linear.dim(dim) and is_divisible(producer):
                parts = _parts(shape_of(view.source), shape_of(view.result), axis)
                if len(parts) > 1:
                    return split_dim(producer, dim, parts)
    return None


def expand_for_read(op: GenericOp, reach: Reach) -> GenericOp | None:
    """The nest with a dimension split as a nest in front of a reshape has it, or None.

    A product is split only where one of its operands is the same for all positions of a part.
    An empty nest is not: nothing is computed, and an index into 0 elements does not tell its parts.
    """
    if not any(type(value.owner) is ReshapeOp for value in op.inputs):
        return None  # as of most nests, which are asked no more
    if 0 in op.extents or not is_divisible(op):
        return None
    shape = Contraction.of(op)
    for number, value in enumerate(op.inputs):
        view = value.owner
        if type(view) is not ReshapeOp:
            continue
        forms = forms_of(op.read_maps[number], op.extents)
        for axis in range(len(forms or ()) - 1):
            found = _splits(op, number, axis, view)
            if found is None or (shape is not None and found[0] not in shape.batch):
                continue
            if shape is None and _walks_product(op, found[0], number, STEPS):
                continue
            if shape is None or _is_shared(op, *found, reach):
                return _with_parts(op, *found)
    return None


def _walks_product(op: GenericOp, dim: int, but: int | None, steps: int) -> bool:
    """Whether a read other than `but` takes a product's rows or columns along a dimension.

    They stay whole there, and pointwise nests between the two would have to be split as well.
    """
    for number, (value, index_map) in enumerate(zip(op.inputs, op.read_maps, strict=True)):
        producer, forms = value.owner, forms_of(index_map, op.extents)
        if number == but or not isinstance(producer, GenericOp) or forms is None:
            continue
        results: list[SSAValue] = [*producer.res]
        written = forms_of(producer.write_maps[results.index(value)], producer.extents)
        axes = [n for n, form in enumerate(forms) if form.coefficient(dim)]
        if written is None or len(axes) != 1 or forms[axes[0]] != Linear.dim(dim):
            continue
        own = [d for d, _ in written[axes[0]].terms]
        if written[axes[0]] != Linear.dim(own[0] if own else -1):
            continue
        shape = Contraction.of(producer)
        if shape is not None:
            if own[0] not in shape.batch:
                return True
        elif steps and producer.is_pointwise and _walks_product(producer, own[0], None, steps - 1):
            return True
    return False


def without_repeats(op: GenericOp) -> GenericOp | None:
    """A pointwise nest over the dimensions that it reads along, and a copy that repeats its result.

    None if it reads along all of them. A copy is left alone: that is what it is.
    """
    read = {d for m in op.read_maps for d in m.used_dims()}
    kept = [d for d, extent in enumerate(op.extents) if d in read or extent == 1]
    if not op.is_pointwise or is_copy(op) or op.sources or len(op.res) != 1 or not op.inputs:
        return None
    if len(kept) == len(op.extents) or any(isinstance(o, IndexOp) for o in block_ops(op.block)):
        return None
    reads = [forms_of(m, op.extents) or () for m in op.read_maps]
    written = forms_of(op.write_maps[0], op.extents) or ()
    kind = op.res[0].type
    alone = [Linear(()), *map(Linear.dim, range(len(op.extents)))]
    if not isinstance(kind, TensorType) or any(form not in alone for form in written):
        return None
    place = [Linear.dim(kept.index(d)) if d in kept else Linear(()) for d in range(len(op.extents))]
    axes = [n for n, form in enumerate(written) if all(d in kept for d, _ in form.terms)]
    own = [substitute(written[n], place) for n in axes]
    shape = kind.get_shape()
    made = tensor([shape[n] for n in axes], kind.element_type)
    new = rebuild(
        op,
        domain=[op.extents[d] for d in kept],
        input_maps=[map_of([substitute(f, place) for f in forms], len(kept)) for forms in reads],
        output_maps=[map_of(own, len(kept))],
        result_types=[made],
        replace_results=False,
    )
    repeated = map_of([Linear.dim(n) for n in axes], len(shape))
    copy = copy_nest(new, "repeat", new.res[0], repeated, shape, None)
    block = new.parent_block()
    assert block is not None
    block.insert_op_after(copy, new)
    op.res[0].replace_all_uses_with(copy.res[0])
    block.erase_op(op)
    return new


def is_split_by_readers(view: ReshapeOp, axis: int) -> bool:
    """Whether nests that read what `view` makes can be split where it joins axes to `axis`."""
    uses = list(view.result.uses)
    return bool(uses) and all(
        isinstance(use.operation, GenericOp)
        and use.index < len(use.operation.inputs)
        and is_divisible(use.operation)
        and _splits(use.operation, use.index, axis, view) is not None
        for use in uses
    )


def joins_groups(producer: GenericOp, folded: Forms) -> list[int]:
    """The axes at which `folded`, indices of a product's result, join its batch and its rows."""
    shape = Contraction.of(producer)
    if shape is None:
        return []
    return [
        axis
        for axis, form in enumerate(folded)
        if len({dim in shape.batch for dim, _ in form.terms}) > 1
    ]


def _splits(op: GenericOp, number: int, axis: int, view: ReshapeOp) -> tuple[int, list[int]] | None:
    """The dimension that walks an axis of a read, and the extents of what `view` joined there."""
    forms = forms_of(op.read_maps[number], op.extents)
    if forms is None or op.pad_values[number] is not None or axis == len(forms) - 1:
        return None
    terms = forms[axis].terms
    if not isinstance(view.source.owner, GenericOp) or len(terms) != 1:
        return None
    dim = terms[0][0]
    made, source = shape_of(view.result), shape_of(view.source)
    if forms[axis] != Linear.dim(dim) or op.extents[dim] != made[axis]:
        return None
    if dim in op.reduction_dims or any(map(_ends_with(op, dim), op.write_maps)):
        return None
    parts = _parts(made, source, axis)
    return (dim, parts) if len(parts) > 1 else None


def _ends_with(op: GenericOp, dim: int) -> Callable[..., bool]:
    """Whether neighbouring results lie along a dimension: vectors had better find it whole."""

    def ends(index_map: object) -> bool:
        forms = forms_of(index_map, op.extents)  # pyright: ignore[reportArgumentType]
        return not forms or forms[-1].coefficient(dim) != 0

    return ends


def _is_shared(op: GenericOp, dim: int, parts: Sequence[int], reach: Reach) -> bool:
    """Whether an operand of a product is the same for all positions of a part of its batch."""
    extents = [*op.extents[:dim], *parts, *op.extents[dim + 1 :]]
    moved = split_positions(len(op.extents), dim, parts)
    for number in range(len(op.inputs)):
        forms = forms_of(op.read_maps[number], op.extents)
        assert forms is not None
        reached = reach(op, number, tuple(substitute(f, moved) for f in forms), extents)
        used = {d for form in reached for d, _ in form.terms}
        if any(d not in used for d in range(dim, dim + len(parts))):
            return True
    return False


def _with_parts(op: GenericOp, dim: int, parts: Sequence[int]) -> GenericOp:
    """The nest with a dimension split, and so the axes of its results that are that dimension."""
    joined = split_positions(len(op.extents), dim, parts)[dim]
    new = split_dim(op, dim, parts)
    maps, types = list(new.write_maps), [result.type for result in new.res]
    for number, index_map in enumerate(new.write_maps):
        forms, kind = forms_of(index_map, new.extents), types[number]
        assert forms is not None and isinstance(kind, TensorType)
        axis = next((n for n, form in enumerate(forms) if form == joined), None)
        if axis is None:
            continue
        own = [Linear.dim(dim + n) for n in range(len(parts))]
        maps[number] = map_of([*forms[:axis], *own, *forms[axis + 1 :]], len(new.extents))
        shape = [*kind.get_shape()]
        shape[axis : axis + 1] = parts
        types[number] = tensor(shape, kind.element_type)
    apart = rebuild(new, output_maps=maps, result_types=types, replace_results=False)
    block = apart.parent_block()
    assert block is not None
    for old, result in zip(new.res, apart.res, strict=True):
        made = result
        if old.type != result.type:
            view = ReshapeOp(result, old.type)
            view.location = apart.location
            block.insert_op_after(view, apart)
            made = view.result
        old.replace_all_uses_with(made)
    block.erase_op(new)
    return apart


def _parts(source: Sequence[int], result: Sequence[int], axis: int) -> list[int]:
    """Extents, other than 1, of the axes that a reshape splits an axis into, if it does."""
    before = prod(source[:axis])
    first = next((n for n in range(len(result)) if prod(result[:n]) == before), len(result))
    for last in range(first, len(result) + 1):
        if prod(result[first:last]) == source[axis]:
            return [extent for extent in result[first:last] if extent != 1]
    return []


__all__ = [
    "expand_batch",
    "expand_for_read",
    "is_split_by_readers",
    "joins_groups",
    "without_repeats",
]
