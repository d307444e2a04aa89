"""Results of kernels that end in zeros, where sums stand in between: weights of masked keys.

What nests compute element by element is followed as such (`padding_values`). A softmax over scores
that are -inf behind a number of the call gives 0 there, which takes a look at the whole kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.ir import SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.bounded_dims import kernel_facts
from lamina.dialects.loop.bounds import FIRST_COUNT, Bound
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.outside_values import is_zero
from lamina.passes.fusion.element_limits import Limit, Reach
from lamina.passes.fusion.padding_values import Paddings
from lamina.passes.fusion.row_counts import CountFacts


def zero_results(kernel: func.FuncOp, facts: CountFacts) -> Mapping[SSAValue, Paddings]:
    """Of what a kernel with sums returns: the limits outside of which it is 0, by what `facts`
    knows of its arguments, of which masks end at sizes."""
    end = kernel.body.block.last_op
    nests = [op for op in block_ops(kernel.body.block) if isinstance(op, GenericOp)]
    if not isinstance(end, func.ReturnOp) or all(nest.is_pointwise for nest in nests):
        return {}
    counts: dict[SSAValue, int] = {}
    arguments: list[SSAValue] = list(kernel.body.block.args)
    ends = {v: size for v in arguments if (size := facts.end_of(v)) is not None}
    masks = {value: counts.setdefault(size, len(counts)) for value, size in ends.items()}
    if not masks:
        return {}
    sizes = list(counts)
    outside = kernel_facts(nests, masks, {}).outside
    found: dict[SSAValue, Paddings] = {}
    for value in end.operands:
        shape = shape_of(value)
        limits = {
            Limit(row_major_strides(shape)[axis], shape[axis], Reach(sizes[number])): 0
            for (axis, bound), made in outside.get(value, {}).items()
            if is_zero(made) and (number := number_of(bound)) is not None
        }
        if limits:
            found[value] = limits
    return found


def number_of(bound: Bound) -> int | None:
    """The argument of a kernel that an upper bound is, if it is one alone."""
    dims = [d for d, _ in bound.form.terms if d >= FIRST_COUNT]
    if len(dims) != 1 or bound != Bound(True, Linear.dim(dims[0])):
        return None
    return dims[0] - FIRST_COUNT
