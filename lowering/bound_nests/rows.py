"""Ops on rows that are no nests: sorts, whose padding goes last, and transforms of rows."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop import FourierOp, ReadOp, SortOp
from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.loop.identities import identity_value
from lamina.dialects.sizes import Extent, Size
from lamina.lowering import scalar
from lamina.lowering.bound_nests.bodies import BoundBody, computed
from lamina.lowering.bound_nests.reads import before
from lamina.lowering.bound_nests.size_tensors import bound
from lamina.lowering.bound_nests.values import Shape, Values


def bound_sort(
    op: SortOp, sizes: Sequence[Extent], shapes: Sequence[Shape], values: Values
) -> list[SSAValue]:
    """Padding of rows is what a stable sort leaves behind all elements.

    Where one element is asked for, by an open number, rows are sorted and it is looked up.
    """
    axis = len(values.shape(op.input)) - 1
    last = _last(element_type(op.input.type), descending=op.descending is not None)
    value = values.filled(op.input, [axis], last, op)
    taken = op.window
    start: Extent = 0
    if taken is not None:
        start, count = (sizes[-1 - entry] if entry < 0 else entry for entry in taken)
        taken = None if isinstance(start, Size) else (start, bound(count))
    made = SortOp(value, descending=op.descending is not None, taken=taken)
    made.attributes.update(op.attributes)
    made.location = op.location
    before(op, made)
    if not isinstance(start, Size):
        return list(made.results)
    rows = values.shape(op.input)[:-1]
    found = [_element(op, result, (*rows, 1), start, values) for result in made.results[:2]]
    return [*found, *made.results[2:]]  # memory that holds nothing of use


def _element(op: SortOp, value: SSAValue, shape: Shape, start: Size, values: Values) -> SSAValue:
    """One element of each row; rows of padding have it, too."""

    def looked_up(body: BoundBody) -> SSAValue:
        table = body.add_source(value)
        places = [body.position(dim) for dim in range(len(shape) - 1)]
        return body.add(ReadOp(table, [*places, body.index(start)]))

    element = element_type(value.type)
    return before(op, computed(shape, element, "place", values.tensors, looked_up))


def _last(element: Attribute, *, descending: bool) -> Attribute:
    """What goes last; NaN is the largest float. It stands behind equal elements already."""
    combiner = "max" if descending else "min"
    if descending or isinstance(element, IntegerType):
        return identity_value(combiner, element)
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
