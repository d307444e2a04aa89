"""Where the columns of packed products end that are no rows of their kernel (`lamina.ends`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.bounded_dims import leaves_kernel
from lamina.dialects.loop.bounds import FIRST_COUNT, Bound
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.counted_dims import set_ends
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.linear import Linear
from lamina.passes.fusion.element_limits import Reach
from lamina.passes.fusion.kernel_ends import KernelCall, Numbers, kept_bounds


def note_columns(
    kernel: func.FuncOp,
    nests: Sequence[GenericOp],
    calls: Sequence[KernelCall],
    numbers: dict[Reach, int],
) -> None:
    """Note the numbers behind which nobody reads the columns that a product gives to the caller.

    Those of products whose columns are rows end with these (`live` of `#loop.nest`).
    """
    for nest in nests:
        shape = Contraction.of(nest)
        if shape is None or shape.panel is None or shape.pairs is not None:
            continue
        column = shape.inner_column
        made = nest.res[0]
        others = [use.operation for use in made.uses if isinstance(use.operation, GenericOp)]
        if column in rows_of(nest) or not leaves_kernel(made) or others:
            continue
        known = Numbers(len(kernel.body.block.args), calls, dict(numbers))
        ends = [bound.form.terms[0][0] for bound in kept_bounds(nest, calls, known).get(column, ())]
        if not ends or nest.extents[column] < 2:
            continue
        number = min(ends) - FIRST_COUNT
        for reach, own in known.made.items():
            if own == number and reach not in numbers and number >= len(kernel.body.block.args):
                number = numbers.setdefault(reach, len(kernel.body.block.args) + len(numbers))
                break
        set_ends(nest, {column: [Bound(True, Linear.dim(FIRST_COUNT + number))]})
