"""Softmax and normalizations over rows, groups and channels; half floats are computed in f32."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.tensor_types import element_of, normalized, rank_of, shape_of


@lowers("_softmax", "_log_softmax")
def softmax(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """exp(x - max) / sum, or x - max - log(sum).

    The sum is at least 1 (or NaN), so that its reciprocal is exact enough, and multiplies a whole
    row in a third of the time that a division takes.
    """
    result = element_of(op.results[0])
    x = b.convert(op.arg("self"), accumulation_type(result))
    shape = shape_of(x)
    dims = [normalized(op.arg("dim"), rank_of(x))] if shape else []
    x = b("sub", x, b.keep_dims(b.reduce("amax", x, dims), shape, dims))
    powers = b("exp", x)
    total = b.reduce("sum", powers, dims)
    if op.overload_name.startswith("_log"):
        value = b("sub", x, b.keep_dims(b("log", total), shape, dims))
    else:
        value = b("mul", powers, b.keep_dims(b("reciprocal", total), shape, dims))
    return b.convert(value, result)


def _centered(
    b: PrimsBuilder, x: SSAValue, dims: Sequence[int], eps: float
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """x - mean, the mean and 1 / sqrt(var + eps); the last two without `dims`.

    The walk that adds up squares adds up the differences, too: what they leave is what rounding has
    taken from the mean, by up to a unit of its last place, and many deviations of a flat row.
    """
    shape = shape_of(x)
    first = b.mean(x, dims)
    differences = b("sub", x, b.keep_dims(first, shape, dims))
    lost = b.mean(differences, dims)
    squares = b.mean(b("mul", differences, differences), dims)
    share = b("sub", squares, b("mul", lost, lost))
    # Squares that overflow may leave a share that does, too; 1 / sqrt(inf) is 0.
    variance = b.where(b.with_number("eq", squares, inf), squares, share)
    mean = b("add", first, lost)
    centered = b("sub", x, b.keep_dims(mean, shape, dims))
    return centered, mean, b("rsqrt", b.with_number("add", variance, eps))


def _statistic(op: SchemaOp, b: PrimsBuilder, value: SSAValue, result: int) -> SSAValue | None:
    """A saved mean or deviation, only if somebody reads it."""
    wanted = op.results[result]
    if not wanted.uses:
        return None
    return b.reshape(b.convert(value, element_of(wanted)), shape_of(wanted))


def _affine(op: SchemaOp, b: PrimsBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    """x * weight + bias, which lie along `dims` of x."""
    shape = shape_of(x)
    for name, combine in (("weight", "mul"), ("bias", "add")):
        if op.arg(name) is not None:
            factor = b.convert(op.arg(name), element_of(x))
            factor = b.reshape(factor, [shape[dim] for dim in dims])
            x = b(combine, x, b("broadcast_in_dim", factor, shape, list(dims)))
    return x


@lowers("native_layer_norm")
def layer_norm(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """(x - mean) * rstd * weight + bias over the trailing dimensions."""
    result = element_of(op.results[0])
    x = b.convert(op.arg("input"), accumulation_type(result))
    rank = rank_of(x)
    dims = list(range(rank - len(op.arg("normalized_shape")), rank))
    centered, mean, rstd = _centered(b, x, dims, op.arg("eps"))
    value = b("mul", centered, b.keep_dims(rstd, shape_of(x), dims))
    value = b.convert(_affine(op, b, value, dims), result)
    return [value, _statistic(op, b, mean, 1), _statistic(op, b, rstd, 2)]


@lowers("native_group_norm")
def group_norm(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """As layer_norm, over groups of channels; weight and bias are one for each channel."""
    result = element_of(op.results[0])
    x = b.convert(op.arg("input"), accumulation_type(result))
    groups = op.arg("group")
    split = [groups, op.arg("C") // groups]
    grouped = b.reshape(x, [op.arg("N"), *split, op.arg("HxW")])
    centered, mean, rstd = _centered(b, grouped, [2, 3], op.arg("eps"))
    value = b("mul", centered, b.keep_dims(rstd, shape_of(grouped), [2, 3]))
    value = b.reshape(_affine(op, b, value, [1, 2]), shape_of(x))
    value = b.convert(value, result)
    return [value, _statistic(op, b, mean, 1), _statistic(op, b, rstd, 2)]


@lowers("_native_batch_norm_legit_no_training")
def batch_norm(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """x * scale + shift, both computed once for each channel (as torch's CPU kernel does)."""
    result: Attribute = element_of(op.results[0])
    compute = accumulation_type(result)
    x = b.convert(op.arg("input"), compute)
    mean, var = (b.convert(op.arg(name), compute) for name in ("running_mean", "running_var"))
    scale = b("rsqrt", b.with_number("add", var, op.arg("eps")))
    value = _scale_and_shift(op, b, x, mean, scale)
    empty = [None if not r.uses else b.full(shape_of(r), 0, element_of(r)) for r in op.results[1:]]
    return [b.convert(value, result), *empty]


def _scale_and_shift(
    op: SchemaOp, b: PrimsBuilder, x: SSAValue, mean: SSAValue, scale: SSAValue
) -> SSAValue:
    weight, bias = op.arg("weight"), op.arg("bias")
    if weight is not None:
        scale = b("mul", scale, b.convert(weight, element_of(x)))
    shift = b("mul", mean, scale)
    shift = b("neg", shift) if bias is None else b("sub", b.convert(bias, element_of(x)), shift)
    shape = shape_of(x)
    return b("add", b("mul", x, b.along(scale, shape, 1)), b.along(shift, shape, 1))


@lowers("_native_batch_norm_legit.no_stats")
def batch_norm_no_stats(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """With the statistics of the batch, over all dimensions but the channels'."""
    result = element_of(op.results[0])
    x = b.convert(op.arg("input"), accumulation_type(result))
    dims = [d for d in range(rank_of(x)) if d != 1]
    centered, mean, rstd = _centered(b, x, dims, op.arg("eps"))
    value = b("mul", centered, b.keep_dims(rstd, shape_of(x), dims))
    value = b.convert(_affine(op, b, value, [1]), result)
    return [value, _statistic(op, b, mean, 1), _statistic(op, b, rstd, 2)]
