"""Joining two dimensions of a nest that its accesses walk as one; used by `fold-layout`.

A tensor that was viewed from [32, 64] as [2, 16, 64] is read at `16 * d0 + d1`. Where every access
either does that or has the two dimensions as neighbouring axes, the nest is the same over one
dimension of 32, with free reshapes around it; then it lines up with the nest it reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp, ReshapeOp, before_reshapes
from lamina.dialects.loop.access import Forms, forms_of, map_of, shape_of, substitute
from lamina.dialects.loop.linear import Linear
from lamina.dialects.schema.result_rules.shapes import tensor
from lamina.passes.loop.loop_rewriting import rebuild


def collapse_dims(op: GenericOp) -> GenericOp | None:
    """The nest with one pair of dimensions joined, or None if no pair can and should be."""
    reads = [forms_of(m, op.extents) for m in op.read_maps]
    writes = [forms_of(m, op.extents) for m in op.write_maps]
    if any(f is None for f in (*reads, *writes)) or op.sources:
        return None
    if any(isinstance(o, IndexOp) for o in block_ops(op.block)):
        return None
    accesses = [f for f in (*reads, *writes) if f is not None]
    given = zip(accesses, op.inputs, strict=False)
    lined = [f for f, v in given if _is_made_by_nest(v) or _walks_all(f, op.extents)]
    for outer, inner in _composite_pairs([*lined, *accesses[len(reads) :]], op.extents):
        joined = _join(op, accesses, outer, inner)
        if joined is not None:
            return joined
    return None


def join_dims(op: GenericOp, outer: int, inner: int) -> GenericOp | None:
    """The nest with this pair of dimensions joined, or None if some access does not allow it."""
    forms = [forms_of(index_map, op.extents) for index_map in (*op.read_maps, *op.write_maps)]
    accesses = [form for form in forms if form is not None]
    return _join(op, accesses, outer, inner) if len(accesses) == len(forms) else None


def _is_made_by_nest(value: SSAValue) -> bool:
    """Whether there is a nest to line up with."""
    return isinstance(before_reshapes(value).owner, GenericOp)


def _walks_all(forms: Forms, extents: Sequence[int]) -> bool:
    """Whether a read uses every dimension: one of a weight or bias is repeated along others."""
    used = {dim for form in forms for dim, _ in form.terms}
    return all(dim in used for dim, extent in enumerate(extents) if extent != 1)


def _composite_pairs(accesses: Sequence[Forms], extents: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs (outer, inner) that some index walks as `inner's extent * outer + inner`."""
    pairs: dict[tuple[int, int], None] = {}
    for forms in accesses:
        for form in forms:
            for outer, big in form.terms:
                for inner, small in form.terms:
                    if outer != inner and big == small * extents[inner]:
                        pairs[outer, inner] = None
    return list(pairs)


def _axis_pair(
    forms: Forms, shape: Sequence[int], outer: int, inner: int, extents: Sequence[int]
) -> int | None:
    """The axis of `outer` where `inner` is the whole next axis."""
    for axis in range(len(forms) - 1):
        pair = forms[axis], forms[axis + 1]
        if pair == (Linear.dim(outer), Linear.dim(inner)) and shape[axis + 1] == extents[inner]:
            return axis
    return None


def _joined_form(form: Linear, outer: int, inner: int, extents: Sequence[int]) -> Linear | None:
    """The form over the joined dimension (numbered `inner`), or None."""
    big, small = form.coefficient(outer), form.coefficient(inner)
    if big != small * extents[inner]:
        return None
    terms = form.coefficients
    terms.pop(outer, None)
    return Linear.of(terms, form.constant)


def _join(op: GenericOp, accesses: Sequence[Forms], outer: int, inner: int) -> GenericOp | None:
    extents = op.extents
    count = len(op.inputs)
    shapes = [shape_of(v) for v in op.inputs] + [shape_of(r) for r in op.res]
    pads = [*op.pad_values, *([None] * len(op.res))]
    planned: list[tuple[Forms, int | None]] = []
    for forms, shape, pad in zip(accesses, shapes, pads, strict=True):
        axis = _axis_pair(forms, shape, outer, inner, extents)
        if pad is not None and axis is not None:
            return None
        kept = list(forms)
        if axis is not None:
            kept[axis : axis + 2] = [Linear.dim(inner)]
            rest = [f for p, f in enumerate(kept) if p != axis]
            if any(f.coefficient(outer) or f.coefficient(inner) for f in rest):
                return None
            planned.append((tuple(kept), axis))
            continue
        joined = [_joined_form(f, outer, inner, extents) for f in forms]
        if any(f is None for f in joined):
            return None
        planned.append((tuple(f for f in joined if f is not None), None))
    return _apply(op, planned, count, outer, inner)


def _apply(
    op: GenericOp,
    planned: Sequence[tuple[Forms, int | None]],
    count: int,
    outer: int,
    inner: int,
) -> GenericOp:
    extents = list(op.extents)
    extents[inner] *= extents[outer]
    kept = [d for d in range(len(extents)) if d != outer]
    values = [Linear.dim(kept.index(d)) if d != outer else Linear(()) for d in range(len(extents))]

    def final(forms: Forms) -> Forms:
        return tuple(substitute(f, values) for f in forms)

    block = op.parent_block()
    assert block is not None
    inputs: list[SSAValue] = []
    for value, (_, axis) in zip(op.inputs, planned[:count], strict=True):
        if axis is None:
            inputs.append(value)
            continue
        view = ReshapeOp(value, _joined_type(value, axis))
        view.location = op.location
        block.insert_op_before(view, op)
        inputs.append(view.result)
    result_types = [
        r.type if axis is None else _joined_type(r, axis)
        for r, (_, axis) in zip(op.res, planned[count:], strict=True)
    ]
    old_results = list(op.res)
    new = rebuild(
        op,
        domain=[extents[d] for d in kept],
        inputs=inputs,
        input_maps=[map_of(final(f), len(kept)) for f, _ in planned[:count]],
        output_maps=[map_of(final(f), len(kept)) for f, _ in planned[count:]],
        result_types=result_types,
        replace_results=False,
    )
    for old, result in zip(old_results, new.res, strict=True):
        if old.type == result.type:
            old.replace_all_uses_with(result)
            continue
        view = ReshapeOp(result, old.type)
        view.location = op.location
        block.insert_op_after(view, new)
        old.replace_all_uses_with(view.result)
    block.erase_op(op)
    return new


def _joined_type(value: SSAValue, axis: int) -> TensorType:
    assert isinstance(value.type, TensorType)
    shape = list(value.type.get_shape())
    shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
    return tensor(shape, value.type.element_type)
