"""Gradients of losses, softmax, layer norms and lookups: rows of padding add nothing to sums."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.numbers import shape_of_numbers
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned, aligned_at, common_sizes
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded
from lamina.lowering.bound_dynamic_shapes.writing import writable
from lamina.lowering.tensor_types import element_of, normalized, rank_of

_NONE = 0


@bounds("nll_loss_backward")
def class_loss(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Padding has the class that the loss ignores."""
    values = op.args()
    scores, target = b.tensor(values["self"]), b.tensor(values["target"])
    if element_of(target.value) != i64 or scores.rank != 2 or scores.dynamic_dims not in ([], [0]):
        raise b.refuse(
            "takes class numbers for samples of unknown number, in the first dimension, here"
        )
    tensors = [scores, target]
    if values["reduction"] == _NONE:
        tensors.append(b.tensor(values["grad_output"]))
    scores, target, *gradient = aligned_at(0, tensors, b)
    ready = {"self": scores.value, "target": b.filled(target, values["ignore_index"])}
    if gradient:
        ready["grad_output"] = gradient[0].value
    return Bounded(b(op.overload_name, **{**values, **ready}), scores.sizes)


@bounds("_softmax_backward_data", "_log_softmax_backward_data")
def softmax(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Sums along a dimension take zeros of its padding."""
    values = op.args()
    names = ("grad_output", "output")
    pair = aligned([b.tensor(values[name]) for name in names], b)
    sizes = common_sizes(pair)
    along = [normalized(values["dim"], len(sizes))] if sizes else []
    ready = {name: b.filled(t, 0, along) for name, t in zip(names, pair, strict=True)}
    return Bounded(b(op.overload_name, **{**values, **ready}), sizes)


@bounds("native_layer_norm_backward")
def layer_norm(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """Rows of padding are zeros, whose gradients add nothing to those of weights."""
    values = op.args()
    names = ("grad_out", "input", "mean", "rstd")
    tensors = aligned([b.tensor(values[name]) for name in names], b)
    sizes, inner = tensors[1].sizes, len(values["normalized_shape"])
    if any(size is not None for size in sizes[len(sizes) - inner :]):
        raise b.refuse("norms of rows whose size depends on data")
    ready = {name: b.filled(t, 0) for name, t in zip(names, tensors, strict=True)}
    made: Any = b.op(op.overload_name, **{**values, **ready}).results
    others = [Bounded(value, (None,) * rank_of(value)) for value in made[1:]]
    return [Bounded(made[0], sizes), *others]


@bounds("embedding_dense_backward")
def embedding(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Padding is added to a row of its own, which is cut off behind those of the table."""
    values = op.args()
    gradient, indices = b.tensor(values["grad_output"]), b.tensor(values["indices"])
    if values["scale_grad_by_freq"]:
        raise b.refuse("gradients of rows by how often they are read")
    raised = Bounded(b("unsqueeze.default", indices.value, -1), (*indices.sizes, None))
    gradient, raised = aligned([gradient, raised], b)
    place = Bounded(b("squeeze.dim", raised.value, -1), raised.sizes[:-1])
    left_out = b.number(values["padding_idx"]).constant
    if left_out is None:
        raise b.refuse("leaves out a row whose number depends on data")
    ((most,), (rows,)) = shape_of_numbers([values["num_weights"]], b)
    count = rows.value if isinstance(rows.value, SSAValue) else None
    ready = {
        "grad_output": gradient.value,
        "indices": writable(place, most, count, b),
        "num_weights": most + 1,
        "padding_idx": left_out,
    }
    made = b(op.overload_name, **{**values, **ready})
    return Bounded(b.slice(made, 0, 0, most), (count, gradient.sizes[-1]))
