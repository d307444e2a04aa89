"""Giving a dimension that is a digit of an index an axis of its own."""

from __future__ import annotations

from collections.abc import Container

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.access import Forms
from lamina.dialects.loop.linear import Linear


def with_own_axis(
    op: GenericOp, value: SSAValue, forms: Forms, dim: int, outer: Container[int]
) -> tuple[SSAValue, Forms]:
    """What a nest reads at `forms`, and its indices, in which `dim` is an axis.

    Where positions of batches lie behind one another, at `n * batch + position`, what goes beyond
    the last position of one batch is a position of the next one, which a call need not have. As an
    axis it is beyond the end. Nothing changes where none of the dims `outer` is in front of `dim`.
    """
    count = op.extents[dim]
    assert isinstance(value.type, TensorType)
    axes = value.type.get_shape()
    for axis, form in enumerate(forms):
        rest = form.add(Linear.dim(dim).scale(-form.coefficient(dim)))
        steps = (axes[axis], rest.constant, *(step for _, step in rest.terms))
        behind = any(other in outer for other, _ in rest.terms)
        if form.coefficient(dim) != 1 or not behind or any(step % count for step in steps):
            continue
        split = (*axes[:axis], axes[axis] // count, count, *axes[axis + 1 :])
        apart = ReshapeOp(value, TensorType(value.type.element_type, split))
        block = op.parent_block()
        assert block is not None
        block.insert_op_before(apart, op)
        above = Linear.of({d: step // count for d, step in rest.terms}, rest.constant // count)
        return apart.result, (*forms[:axis], above, Linear.dim(dim), *forms[axis + 1 :])
    return value, forms
