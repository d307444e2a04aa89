"""`masked_scatter`: where a mask holds, what a source has in order."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.records import record
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned, common_sizes
from lamina.lowering.bound_dynamic_shapes.regrouping import kept_behind, taken_along, taken_in_order
from lamina.lowering.bound_dynamic_shapes.selecting import truth
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number
from lamina.lowering.repeated_dims import ones_behind, unrepeated
from lamina.lowering.tensor_types import shape_of


@bounds("masked_scatter")
def masked_scatter(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Elements where a mask holds are those of a source, in order.

    A mask that says one thing of all elements of a row, of which the source has as many, counts
    and moves rows.
    """
    tensor, mask = aligned([b.tensor(op.arg("self")), b.tensor(op.arg("mask"))], b)
    source = b.tensor(op.arg("source"))
    sizes, shape = common_sizes([tensor, mask]), b.broadcast(tensor.shape, mask.shape)
    wide = Bounded(b.expand(tensor.value, shape), sizes)
    if not prod(shape):
        return wide
    said = unrepeated(mask.value)
    own = [b.size(wide, dim) for dim in range(wide.rank)]
    equal = kept_behind([b.size(source, dim) for dim in range(source.rank)], own)
    width = min(equal, ones_behind(shape_of(said)), max(wide.rank - 1, 0))
    rows = wide.rank - width
    once = b.expand(b.reshape(said, shape_of(said)[:rows]), shape[:rows])
    chosen = truth(Bounded(once, sizes[:rows]), b)
    counted = _counted(Bounded(b.converted(chosen, i64), sizes[:rows]), b)
    needed = b.product(Number(counted.all, prod(shape[:rows])), *own[rows:])
    enough = b("le.Tensor", b.as_tensor(needed), b.as_tensor(b.elements(source)))
    b.require(enough, f"{b.place}the source has fewer elements than the mask")
    if not prod(source.shape):
        return wide
    if equal and not width and counted.of_rows is not None:
        taken = taken_along(source, counted.of_rows, counted.in_row, sizes, b)
    else:
        taken = taken_in_order(source, width, Bounded(counted.in_front(b), sizes[:rows]), b)
    for dim in range(rows, wide.rank):
        taken = b.resized(taken, dim, shape[dim])
    chosen = b.reshape(chosen, [*shape[:rows], *([1] * width)])
    return Bounded(b.where(chosen, taken, wide.value), sizes)


@record
class _Counted:
    """Sums of numbers in front of each position of a row, of each row, and of all."""

    in_row: SSAValue
    of_rows: SSAValue | None
    all: SSAValue

    def in_front(self, b: BoundBuilder) -> SSAValue:
        """The sum of those in front of each position in row-major order."""
        if self.of_rows is None:
            return self.in_row
        rank = len(shape_of(self.in_row))
        return b("add.Tensor", self.in_row, b("unsqueeze.default", self.of_rows, rank - 1))


def _counted(numbers: Bounded, b: BoundBuilder) -> _Counted:
    """Rows are summed for themselves, so that loops end at each size.

    Padding is 0, which is said again where all are summed: its rows are not even looked at then.
    """
    last = numbers.rank - 1
    if last < 0:
        return _Counted(b.full([], 0, i64), None, numbers.value)
    in_row = b("sub.Tensor", b("cumsum.default", numbers.value, last), numbers.value)
    if not last:
        return _Counted(in_row, None, b("sum.default", b.filled(numbers, 0)))
    of_rows = b("sum.dim_IntList", numbers.value, [last])
    rows = _counted(Bounded(of_rows, numbers.sizes[:last]), b)
    return _Counted(in_row, rows.in_front(b), rows.all)
