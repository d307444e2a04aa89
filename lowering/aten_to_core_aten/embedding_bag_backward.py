"""Gradients of embedding bags (aten/src/ATen/native/EmbeddingBag.cpp)."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, shape_of

SUM, MEAN, MAX = 0, 1, 2
"""Modes of embedding_bag."""


def _bags(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The bag of each index, made from the offsets where the program has none."""
    bag = op.arg("offset2bag")
    (count,) = shape_of(op.arg("indices"))
    if shape_of(bag) == [count]:
        return b.cast(bag, i64)
    line = b("arange.start_step", 0, count, 1, dtype=i64)
    starts = b.cast(op.arg("offsets"), i64)
    return b("sub.Scalar", b("searchsorted.Tensor", starts, line, right=True), 1)


@lowers("_embedding_bag_dense_backward", "_embedding_bag_backward")
def of_table(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Each bag's gradient added to the rows that it has, by mode; none to the padding row."""
    if op.schema.arg("sparse") is not None and op.arg("sparse"):
        raise b.refuse("sparse tensors have no type here", "sparse=False")
    grad, indices, mode = op.arg("grad"), b.cast(op.arg("indices"), i64), op.arg("mode")
    element, width = element_of(grad), shape_of(grad)[-1]
    made = b.full([op.arg("num_weights"), width], 0, element)
    zero = b.full([], 0, element)
    if mode == MAX:
        filled = b("unsqueeze", b("ne.Scalar", op.arg("bag_size"), 0), 1)
        place = b("where.self", filled, b.cast(op.arg("maximum_indices"), i64), b.full([], 0, i64))
        return b("scatter_add", made, 0, place, b("where.self", filled, grad, zero))
    (count,) = shape_of(indices)
    bag = _bags(op, b)
    rows = b("index.Tensor", grad, [bag])
    scale: SSAValue | None = op.arg("per_sample_weights")
    if mode == MEAN:
        size = b("index.Tensor", op.arg("bag_size"), [bag])
        share = b("reciprocal", b.cast(b("clamp", size, 1, None), element))
        scale = share if scale is None else b("mul.Tensor", scale, share)
    if op.arg("scale_grad_by_freq"):
        counts = b.full([op.arg("num_weights")], 0, i64)
        counts = b("scatter_add", counts, 0, indices, b.full([count], 1, i64))
        often = b("reciprocal", b.cast(b("index.Tensor", counts, [indices]), element))
        scale = often if scale is None else b("mul.Tensor", scale, often)
    if scale is not None:
        rows = b("mul.Tensor", rows, b("unsqueeze", scale, 1))
    if op.arg("padding_idx") >= 0:
        kept = b("unsqueeze", b("ne.Scalar", indices, op.arg("padding_idx")), 1)
        rows = b("where.self", kept, rows, zero)
    return b("scatter_add", made, 0, b.expand(b("unsqueeze", indices, 1), [count, width]), rows)


@lowers("_embedding_bag_per_sample_weights_backward")
def of_weights(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The product of the bag's gradient with the row that the weight scales."""
    grad, indices = op.arg("grad"), op.arg("indices")
    rows = b("index.Tensor", op.arg("weight"), [indices])
    made = b("mul.Tensor", b("index.Tensor", grad, [_bags(op, b)]), rows)
    summed = b("sum.dim_IntList", made, [1])
    if op.arg("padding_idx") < 0:
        return summed
    kept = b("ne.Scalar", indices, op.arg("padding_idx"))
    return b("where.self", kept, summed, b.full([], 0, element_of(grad)))
