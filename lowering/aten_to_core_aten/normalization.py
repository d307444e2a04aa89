"""Layer, group, batch, instance and rms normalization; softmax and its relatives."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.complex import real_part
from lamina.lowering.aten_to_core_aten.reduction import vector_norm
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import (
    broadcast_shapes,
    element_of,
    is_complex,
    part_type,
    rank_of,
    shape_of,
)

_EPSILON = {"f16": 2.0**-23, "bf16": 2.0**-23, "f32": 2.0**-23, "f64": 2.0**-52}


@lowers("layer_norm")
def layer_norm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The first result of native_layer_norm."""
    names = ("input", "normalized_shape", "weight", "bias", "eps")
    return b("native_layer_norm", *(op.arg(name) for name in names))


@lowers("rms_norm", "_fused_rms_norm")
def rms_norm(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """x * rsqrt(mean(x^2) + eps) * weight over the trailing dimensions."""
    x, weight, eps = op.arg("input"), op.arg("weight"), op.arg("eps")
    dims = [-1 - i for i in reversed(range(len(op.arg("normalized_shape"))))]
    if eps is None:
        eps = _EPSILON[str(part_type(element_of(x)))]
    mean = b("mean.dim", b("mul.Tensor", x, x), dims, True)
    scale = b("rsqrt", b("add.Scalar", mean, eps))
    result = b("mul.Tensor", x, scale)
    result = result if weight is None else b("mul.Tensor", result, weight)
    result = b.cast(result, element_of(op.results[0]))
    return [result, b.cast(scale, element_of(op.results[1]))] if len(op.results) == 2 else result


@lowers("group_norm")
def group_norm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The first result of native_group_norm."""
    x = op.arg("input")
    batch, channels, *rest = shape_of(x)
    spatial = prod(rest)
    weight, bias = op.arg("weight"), op.arg("bias")
    groups, eps = op.arg("num_groups"), op.arg("eps")
    return b("native_group_norm", x, weight, bias, batch, channels, spatial, groups, eps)


@lowers("batch_norm", "native_batch_norm", "_batch_norm_no_update", "_batch_norm_impl_index")
def batch_norm(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """With running statistics, or those of the batch if there are no running ones."""
    x, weight, bias = op.arg("input"), op.arg("weight"), op.arg("bias")
    mean, var = op.arg("running_mean"), op.arg("running_var")
    momentum, eps = op.arg("momentum"), op.arg("eps")
    training = op.arg("training") if "training" in _names(op) else False
    if rank_of(x) < 2:  # torch takes one without elements
        return [x, *(_nothing(b, result) for result in op.results[1:])]
    if not training:
        name = "_native_batch_norm_legit_no_training"
        made = b.op(name, x, weight, bias, mean, var, momentum, eps)
    elif mean is None and var is None:
        made = b.op("_native_batch_norm_legit.no_stats", x, weight, bias, True, momentum, eps)
    else:
        raise b.refuse("updates running statistics", "run functionalize first")
    results = list(made.results)[: len(op.results)]
    return [*results, *(_nothing(b, result) for result in op.results[len(results) :])]


def _nothing(b: CoreBuilder, result: SSAValue) -> SSAValue | None:
    """What cuDNN keeps for its backward pass: an empty tensor."""
    return b.full(shape_of(result), 0, element_of(result)) if result.uses else None


@lowers("_native_batch_norm_legit_functional", "_batch_norm_with_update_functional")
def batch_norm_with_statistics(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """By the batch's statistics, which move the running ones: old (1 - momentum) + new momentum.

    The running variance takes the unbiased one.
    """
    x, weight, bias = op.arg("input"), op.arg("weight"), op.arg("bias")
    mean, var = op.arg("running_mean"), op.arg("running_var")
    momentum, eps = op.arg("momentum"), op.arg("eps")
    own = len(op.results) - 2
    if rank_of(x) < 2:  # torch takes one without elements
        return [x, *(_nothing(b, result) for result in op.results[1:own]), mean, var]
    if op.schema.arg("training") is not None and not op.arg("training"):
        name = "_native_batch_norm_legit_no_training"
        made = b.op(name, x, weight, bias, mean, var, momentum, eps)
        moved = [mean, var]
    else:
        made = b.op("_native_batch_norm_legit.no_stats", x, weight, bias, True, momentum, eps)
        dims = [d for d in range(rank_of(x)) if d != 1]
        wide = b.cast(x, element_of(mean))
        batch = b("mean.dim", wide, dims), b("var.correction", wide, dims, correction=1)
        moved = [
            b("add.Tensor", b("mul.Scalar", new, momentum), b("mul.Scalar", old, 1 - momentum))
            for new, old in zip(batch, (mean, var), strict=True)
        ]
    results = list(made.results)[:own]
    return [*results, *(_nothing(b, r) for r in op.results[len(results) : own]), *moved]


def _names(op: SchemaOp) -> list[str]:
    return [argument.name for argument in op.schema.args]


@lowers("instance_norm")
def instance_norm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """group_norm with one group for each channel, or batch_norm by the running statistics."""
    x = op.arg("input")
    weight, bias, eps = op.arg("weight"), op.arg("bias"), op.arg("eps")
    mean, var = op.arg("running_mean"), op.arg("running_var")
    if not op.arg("use_input_stats"):
        name = "_native_batch_norm_legit_no_training"
        return b(name, x, weight, bias, mean, var, op.arg("momentum"), eps)
    if mean is not None:
        raise b.refuse("updates running statistics", "run functionalize first")
    batch, channels, *rest = shape_of(x)
    spatial = prod(rest)
    return b("native_group_norm", x, weight, bias, batch, channels, spatial, channels, eps)


@lowers("softmax.int", "log_softmax.int", "special_softmax", "special_log_softmax")
def softmax(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Over one dimension, in the result's dtype."""
    name = "_log_softmax" if "log_softmax" in op.overload_name else "_softmax"
    x = b.cast(op.arg("self"), element_of(op.results[0]))
    return b(name, x, op.arg("dim"), False)


@lowers("_safe_softmax")
def safe_softmax(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """softmax, but 0 for rows that are -inf throughout."""
    x, dim = b.cast(op.arg("self"), element_of(op.results[0])), op.arg("dim")
    masked = b("eq.Scalar", b("amax", x, [dim], True), float("-inf"))
    return b("where.self", masked, b.full([], 0.0, element_of(x)), b("_softmax", x, dim, False))


@lowers("logsumexp", "special_logsumexp")
def logsumexp(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """max + log(sum(exp(x - max))), an infinite max replaced by 0."""
    x, dim = op.arg("self"), op.arg("dim")
    x = b.cast(x, element_of(op.results[0]))
    if 0 in shape_of(x):
        return b.full(shape_of(op.results[0]), float("-inf"), element_of(x))
    if rank_of(x) == 0 and not is_complex(element_of(x)):
        return b("add.Scalar", x, 0)
    if rank_of(x) == 0:
        x, dim = b.view(x, [1]), [0]
    # Complex numbers are as large as their real parts are: |exp(z)| = exp(re z).
    best = b("amax", real_part(b, x), dim, True)
    best = b("where.self", b("isinf", best), b.full([], 0.0, element_of(best)), best)
    total = b("sum.dim_IntList", b("exp", b("sub.Tensor", x, best)), dim, True)
    result = b("add.Tensor", b("log", total), best)
    return b.view(result, shape_of(op.results[0]))


@lowers("cosine_similarity")
def cosine_similarity(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """sum(x/|x| * y/|y|), the norms not below eps (aten/src/ATen/native/Distance.cpp)."""
    x, y, dim, eps = op.arg("x1"), op.arg("x2"), op.arg("dim"), op.arg("eps")
    common = broadcast_shapes(shape_of(x), shape_of(y))
    x, y = b.expand(x, common), b.expand(y, common)

    def unit(v: SSAValue) -> SSAValue:
        return b("div.Tensor", v, b("clamp", vector_norm(b, v, 2, [dim], True), eps, None))

    return b("sum.dim_IntList", b("mul.Tensor", unit(x), unit(y)), [dim])
