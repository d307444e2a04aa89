"""Moving chosen elements to the front: what every op that selects by a mask does."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.records import record
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number, known
from lamina.lowering.tensor_types import element_of, shape_of


@record
class Compaction:
    """Where each position of a vector goes: those chosen in front, those left out behind them."""

    places: SSAValue
    count: Number
    bound: int

    def moved(self, values: SSAValue, b: BoundBuilder) -> Bounded:
        """The chosen elements (or rows) of `values`, in order; the others are the padding."""
        shape = shape_of(values)
        if not self.bound:
            return b.bounded(values, [self.count, *([None] * (len(shape) - 1))])
        room = b.full(shape, 0, element_of(values))
        if len(shape) == 1:
            made = b("scatter.src", room, 0, self.places, values)
        else:
            made = b("index_put.default", room, [self.places], values)
        return b.bounded(made, [self.count, *([None] * (len(shape) - 1))])


def compaction(mask: SSAValue, b: BoundBuilder) -> Compaction:
    """Chosen are the positions where a vector of i1 holds: a running sum counts them.

    All places are different, so that no position needs a place of its own outside.
    """
    (bound,) = shape_of(mask)
    if not bound:
        return Compaction(b.full([0], 0, i64), known(0), 0)
    running = b("cumsum.default", mask, 0, dtype=i64)
    count = b("select.int", running, 0, bound - 1)
    behind = b("sub.Tensor", b("add.Tensor", b.iota(bound), count), running)
    places = b.where(mask, b("sub.Scalar", running, 1), behind)
    return Compaction(places, Number(count, bound, 0), bound)


def flattened(value: SSAValue, b: BoundBuilder) -> SSAValue:
    """All elements as a vector."""
    return value if len(shape_of(value)) == 1 else b.reshape(value, [-1])
