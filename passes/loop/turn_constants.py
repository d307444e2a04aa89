"""Constants that sums read in jumps along their vectors are turned; used by `pack-contractions`.

A depthwise convolution with channels innermost reads its image in runs of channels, and its weight
`[channel, 1, y, x]` in jumps of a window. A copy with channels innermost moves to `@setup`.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import flatten, forms_of, map_of, shape_of, substitute
from lamina.dialects.loop.linear import Linear
from lamina.passes.fusion.fusion_override import MATERIALIZED
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.packing import copy_nest, is_constant


def turn_constants(op: GenericOp, invariants: Collection[SSAValue]) -> bool:
    """Gives a sum copies of constants that it would read in jumps beside runs; whether it did."""
    if op.is_pointwise or 0 in op.extents or len(op.inputs) < 2:
        return False
    inner = _inner_dim(op)
    if inner is None:
        return False
    steps = [_step(op, number, inner) for number in range(len(op.inputs))]
    if 1 not in steps:
        return False
    inputs, maps = list(op.inputs), list(op.read_maps)
    for number, step in enumerate(steps):
        if step in (None, 0, 1) or op.pad_values[number] is not None:
            continue
        if not is_constant(inputs[number], invariants):
            continue
        forms = forms_of(maps[number], op.extents)
        assert forms is not None
        used = sorted({d for form in forms for d, _ in form.terms}, key=lambda d: (d == inner, d))
        position = [Linear(())] * len(op.extents)
        for place, dim in enumerate(used):
            position[dim] = Linear.dim(place)
        read = map_of([substitute(form, position) for form in forms], len(used))
        domain = [op.extents[d] for d in used]
        copy = copy_nest(op, "turn", inputs[number], read, domain, None)
        copy.attributes[MATERIALIZED] = UnitAttr()
        block = op.parent_block()
        assert block is not None
        block.insert_op_before(copy, op)
        axes = tuple(AffineExpr.dimension(d) for d in used)
        inputs[number], maps[number] = copy.res[0], AffineMap(len(op.extents), 0, axes)
    if inputs == list(op.inputs):
        return False
    rebuild(op, inputs=inputs, input_maps=maps)
    return True


def _inner_dim(op: GenericOp) -> int | None:
    """The dimension whose positions are neighbours in the first result."""
    written = forms_of(op.write_maps[0], op.extents)
    if written is None:
        return None
    kind = shape_of(op.res[0])
    steps = flatten(written, kind).terms
    return next((d for d, step in steps if step == 1 and op.extents[d] > 1), None)


def _step(op: GenericOp, number: int, dim: int) -> int | None:
    """How far apart in a read neighbours along a dimension stand; None if that varies."""
    forms = forms_of(op.read_maps[number], op.extents)
    return None if forms is None else flatten(forms, shape_of(op.inputs[number])).coefficient(dim)
