"""Gradients of softmax, batch normalization and rms normalization.

`native_layer_norm_backward` and `native_group_norm_backward` are core ops.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, numel, rank_of, shape_of


@lowers("_softmax_backward_data")
def softmax(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """y (g - sum(y g))."""
    g, y, dim = op.arg("grad_output"), op.arg("output"), op.arg("dim")
    dims = [dim] if rank_of(y) else []
    total = b("sum.dim_IntList", b("mul.Tensor", g, y), dims, True)
    value = b("mul.Tensor", b("sub.Tensor", g, total), y)
    return b.cast(value, op.arg("input_dtype"))


@lowers("_log_softmax_backward_data")
def log_softmax(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """g - exp(y) sum(g)."""
    g, y, dim = op.arg("grad_output"), op.arg("output"), op.arg("dim")
    total = b("sum.dim_IntList", g, [dim] if rank_of(y) else [], True)
    value = b("sub.Tensor", g, b("mul.Tensor", b("exp", y), total))
    return b.cast(value, op.arg("input_dtype"))


def _channelwise(b: CoreBuilder, x: SSAValue, rank: int) -> SSAValue:
    return b.view(x, [1, *shape_of(x), *[1] * (rank - 2)])


@lowers("native_batch_norm_backward")
def batch_norm(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """From the saved statistics in training, else from the running ones, which are constants.

    dx = (g - mean(g) - xhat mean(g xhat)) invstd weight, without the means outside training.
    """
    g, x, weight = op.arg("grad_out"), op.arg("input"), op.arg("weight")
    rank, training = rank_of(x), op.arg("train")
    mean = op.arg("save_mean" if training else "running_mean")
    invstd = op.arg("save_invstd") if training else _inverse_deviation(op, b)
    dims = [d for d in range(rank) if d != 1]
    count = max(numel(x) // max(shape_of(x)[1], 1), 1)
    centered = b("sub.Tensor", x, _channelwise(b, mean, rank))
    normal = b("mul.Tensor", centered, _channelwise(b, invstd, rank))
    bias_gradient = b("sum.dim_IntList", g, dims)
    weight_gradient = b("sum.dim_IntList", b("mul.Tensor", g, normal), dims)
    value = g
    if training:
        shift = _channelwise(b, b("div.Scalar", bias_gradient, count), rank)
        slope = _channelwise(b, b("div.Scalar", weight_gradient, count), rank)
        value = b("sub.Tensor", b("sub.Tensor", g, shift), b("mul.Tensor", normal, slope))
    scale = invstd if weight is None else b("mul.Tensor", invstd, weight)
    value = b("mul.Tensor", value, _channelwise(b, scale, rank))
    made = (value, weight_gradient, bias_gradient)
    return [b.cast(v, element_of(r)) for v, r in zip(made, op.results, strict=True)]


def _inverse_deviation(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    return b("rsqrt", b("add.Scalar", op.arg("running_var"), op.arg("eps")))


@lowers("_fused_rms_norm_backward")
def rms_norm(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """rstd (g weight - xhat mean(g weight xhat)), and the sum of g xhat over the rows."""
    g, x, rstd, weight = (op.arg(name) for name in ("grad_out", "input", "rstd", "weight"))
    rank, inner = rank_of(x), len(op.arg("normalized_shape"))
    normal = b("mul.Tensor", x, rstd)
    scaled = g if weight is None else b("mul.Tensor", g, weight)
    dims = list(range(rank - inner, rank))
    slope = b("mean.dim", b("mul.Tensor", scaled, normal), dims, True)
    value = b("sub.Tensor", scaled, b("mul.Tensor", normal, slope))
    value = b("mul.Tensor", value, rstd)
    rows = list(range(rank - inner))
    product = b("mul.Tensor", g, normal)
    made = (value, b("sum.dim_IntList", product, rows) if rows else product)
    return [b.cast(v, element_of(r)) for v, r in zip(made, op.results, strict=True)]
