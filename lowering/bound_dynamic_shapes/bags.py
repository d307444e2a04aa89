"""Bags of embeddings: offsets say where in a list of rows each begins."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded
from lamina.lowering.tensor_types import element_of


@bounds(
    "embedding_bag",
    "embedding_bag.padding_idx",
    "_embedding_bag",
    "_embedding_bag_forward_only",
)
def embedding_bag(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """One bag more begins where the rows that count end, and has their padding; it is left out."""
    arguments = op.args()
    rows, offsets = b.tensor(arguments["indices"]), b.tensor(arguments["offsets"])
    if arguments["include_last_offset"] or not b.tensor(arguments["weight"]).is_static:
        raise b.refuse("with the last offset, or a table, of a size that depends on data")
    weights = arguments["per_sample_weights"]
    if weights is not None:
        arguments["per_sample_weights"] = b.filled(b.tensor(weights), 0)
    end = b.as_tensor(b.size(rows, 0), element_of(offsets.value))
    begins = b.where(b.mask(offsets), offsets.value, end) if offsets.sizes[0] else offsets.value
    arguments["indices"] = b.filled(rows, 0)
    arguments["offsets"] = b("cat.default", [begins, b.reshape(end, [1])], 0)
    made = b.op(op.overload_name, **arguments).results
    bags = offsets.shape[0]
    sizes = [offsets.sizes[0], rows.sizes[0], offsets.sizes[0], offsets.sizes[0]]
    found: list[Bounded] = []
    for place, (value, size) in enumerate(zip(made, sizes, strict=True)):
        assert isinstance(value.type, TensorType)
        if value.type.get_num_dims() and place != 1 and value.type.get_shape()[0] == bags + 1:
            value = b.slice(value, 0, 0, bags)
        elif place:
            size = size if place == 1 and value.type.get_shape() == (rows.shape[0],) else None
        found.append(Bounded(value, (size, *[None] * (value.type.get_num_dims() - 1))))
    return found
