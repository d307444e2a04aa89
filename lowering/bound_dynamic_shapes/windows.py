"""Windows that overlap: as a view, and as columns of a matrix."""

from __future__ import annotations

from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules.shapes import repeat_to
from lamina.lowering.bound_dynamic_shapes.batches import only_first_padded
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.grouping import regrouped_in_place
from lamina.lowering.bound_dynamic_shapes.rearranging import reshaped_to
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import affine, quotient
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Grouped, Number
from lamina.lowering.tensor_types import normalized, shape_of


@bounds("unfold", "unfold_copy")
def unfold(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Windows of one dimension, the elements of each as a new last one."""
    values = op.args()
    tensor = b.tensor(values["self"])
    size, step = values["size"], values["step"]
    dim = normalized(values["dimension"], tensor.rank)
    sizes = list(tensor.sizes)
    if not tensor.is_known(dim):
        given = b.size(tensor, dim)
        b.require_least(given, size, f"a window of {size} is longer than dimension {dim}")
        sizes[dim] = b.as_tensor(affine(quotient(given, -size, step, b), 1, 1, b))
    return Bounded(b(op.overload_name, tensor.value, dim, size, step), (*sizes, None))


@bounds("im2col")
def im2col(op: SchemaOp, b: BoundBuilder) -> Bounded | Grouped:
    """Windows as columns, in a group of lines and columns; none begins in the padding."""
    values, image = op.args(), only_first_padded(op, b)
    first = image.rank - 2
    rows = [
        repeat_to(values[name], 2, name)
        for name in ("kernel_size", "dilation", "padding", "stride")
    ]
    if image.sizes[first - 1] is not None:
        raise b.refuse("a number of channels that depends on data")
    made = b(op.overload_name, **{**values, "self": b.filled(image, 0, [first, first + 1])})
    counts: list[Number] = []
    extents: list[int] = []
    for place, (window, dilation, padding, stride) in enumerate(zip(*rows, strict=True)):
        reach = dilation * (window - 1) + 1
        size, dim = b.size(image, first + place), first + place
        message = f"a window of {window} does not fit dimension {dim}"
        b.require_least(size, reach - 2 * padding, message)
        counts.append(affine(quotient(size, 2 * padding - reach, stride, b), 1, 1, b))
        extents.append((image.shape[dim] + 2 * padding - reach) // stride + 1)
    shape = [*shape_of(made)[:-1], *extents]
    batch = image.sizes[: first - 1]
    apart = b.bounded(b.reshape(made, shape), [*batch, None, *counts])
    sizes = [*(b.size(apart, dim) for dim in range(first)), b.product(*counts)]
    return regrouped_in_place(apart, sizes, b) or reshaped_to(apart, sizes, b)
