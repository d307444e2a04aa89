"""Distances of all pairs of rows, of which both sides may be padded."""

from __future__ import annotations

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.distance import ALWAYS, IF_NECESSARY, MOST_SUBTRACTED, NEVER
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned_at, common_sizes
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded


@bounds("cdist", "_cdist_forward", "_euclidean_dist")
def cdist(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """A distance for each pair of rows, both of which may be padded."""
    arguments = op.args()
    pair = [b.tensor(arguments["x1"]), b.tensor(arguments["x2"])]
    if pair[0].rank != pair[1].rank:
        raise b.refuse("batches of another rank")
    if any(tensor.sizes[-1] is not None for tensor in pair):
        raise b.refuse("sizes of samples that depend on data", "batches whose sizes do")
    rows = [b.size(tensor, tensor.rank - 2) for tensor in pair]
    counts = [tensor.sizes[-2] for tensor in pair]
    pair = [Bounded(tensor.value, tensor.sizes[:-2]) for tensor in pair]
    for dim in range(len(pair[0].sizes)):
        pair = aligned_at(dim, pair, b)
    arguments.update(x1=pair[0].value, x2=pair[1].value)
    sizes = (*common_sizes(pair), *counts)
    mode = arguments.get("compute_mode", ALWAYS)
    if mode is None or mode == IF_NECESSARY:
        # Torch multiplies more rows than so many; differences, which are exact, do for any number.
        many = any((number.least or 0) > MOST_SUBTRACTED for number in rows)
        arguments["compute_mode"] = ALWAYS if many else NEVER
    return Bounded(b(op.overload_name, **arguments), sizes)
