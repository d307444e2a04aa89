"""Ops on rows that are no nests: sorts, whose padding goes last, and transforms of rows."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop import FourierOp, SortOp
from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.sizes import Extent, Size
from lamina.lowering import scalar
from lamina.lowering.bound_nests.nests import NUMBERS_INSTEAD
from lamina.lowering.bound_nests.reads import before
from lamina.lowering.bound_nests.size_tensors import bound
from lamina.lowering.bound_nests.values import Shape, Values
from lamina.lowering.prims_to_loop.monoids import identity
from lamina.passes.refusal import unsupported


def bound_sort(
    op: SortOp, sizes: Sequence[Extent], shapes: Sequence[Shape], values: Values
) -> list[SSAValue]:
    """Padding of rows is what a stable sort leaves behind all elements.

    Raises UnsupportedError where the first element that is asked for is of an open size.
    """
    axis = len(values.shape(op.input)) - 1
    last = _last(element_type(op.input.type), descending=op.descending is not None)
    value = values.filled(op.input, [axis], last, op)
    taken = op.window
    if taken is not None:
        start, count = (sizes[-1 - entry] if entry < 0 else entry for entry in taken)
        if isinstance(start, Size):
            reason = f"of each row it takes the element {start}, which is of an open size"
            raise unsupported(op, reason, NUMBERS_INSTEAD)
        taken = (start, bound(count))
    made = SortOp(value, descending=op.descending is not None, taken=taken)
    made.attributes.update(op.attributes)
    made.location = op.location
    before(op, made)
    return list(made.results)


def _last(element: Attribute, *, descending: bool) -> Attribute:
    """What goes last; NaN is the largest float. It stands behind equal elements already."""
    if descending:
        return identity("max", element)
    if isinstance(element, IntegerType):
        return identity("min", element)
    return scalar.number(float("nan"), element)


def bound_transform(
    op: FourierOp, sizes: Sequence[Extent], shapes: Sequence[Shape], values: Values
) -> list[SSAValue]:
    """How many rows there are may be open; each is transformed by itself."""
    kind = TensorType(element_type(op.input.type), list(map(bound, shapes[0])))
    made = FourierOp(
        op.input,
        op.turns,
        kind,
        kind=op.kind.data,
        scale=op.scale.value.data,
        inverse=op.inverse is not None,
        columns=op.columns is not None,
    )
    made.attributes.update(op.attributes)
    made.location = op.location
    return [before(op, made)]
