"""Bags of embeddings: offsets say where in a list of rows each begins."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count
from lamina.lowering.tensor_types import element_of, shape_of


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
    mask = b.mask(offsets)
    begins = offsets.value if mask is None else b.where(mask, offsets.value, end)
    arguments["indices"] = b.filled(rows, 0)
    arguments["offsets"] = b("cat.default", [begins, b.reshape(end, [1])], 0)
    made = b.op(op.overload_name, **arguments).results
    kept = [_without_last(value, offsets, b) if n != 1 else value for n, value in enumerate(made)]
    counts = [offsets.sizes[0], rows.sizes[0], offsets.sizes[0], offsets.sizes[0]]
    extents = [offsets.shape[0], rows.shape[0], offsets.shape[0], offsets.shape[0]]
    return [
        _counted(value, count, extent)
        for value, count, extent in zip(kept, counts, extents, strict=True)
    ]


def _without_last(value: SSAValue, offsets: Bounded, b: BoundBuilder) -> SSAValue:
    """What one bag more is left out of; bookkeeping that was not asked for is empty."""
    bags = offsets.shape[0]
    return b.slice(value, 0, 0, bags) if shape_of(value)[:1] == [bags + 1] else value


def _counted(value: SSAValue, count: Count, extent: int) -> Bounded:
    shape = shape_of(value)
    return Bounded(value, (count if shape[0] == extent else None, *[None] * (len(shape) - 1)))
