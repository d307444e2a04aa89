"""Ops that are formulas of others."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import SSAValue

from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.stablehlo_to_prims.table import HloBuilder, lowers
from lamina.lowering.tensor_types import element_of, rank_of, shape_of


@lowers("digamma")
def digamma(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.digamma, but for its poles, which are NaN."""
    x = op.operands[0]
    shape, element = shape_of(x), element_of(x)
    whole = b("eq", x, b("floor", x))
    pole = b("bitwise_and", whole, b.with_number("le", x, 0))
    return b.where(pole, b.full(shape, float("nan"), element), b("digamma", x))


@lowers("polygamma")
def polygamma(op: HloOp, b: HloBuilder) -> SSAValue:
    """(-1)^(n + 1) n! zeta(n + 1, x); digamma for n = 0."""
    n, x = op.operands
    shape, element = shape_of(x), element_of(x)
    one = b.full(shape, 1, element)
    after = b("add", n, one)
    size = b("mul", b("exp", b("lgamma", after)), b("zeta", after, x))
    odd = b.with_number("eq", b("fmod", n, b.full(shape, 2, element)), 1)
    made = b.where(odd, size, b("neg", size))
    return b.where(b.with_number("eq", n, 0), b("digamma", x), made)


def _number(op: HloOp, name: str) -> float:
    given = op.attr(name)
    if not isinstance(given, FloatAttr):
        raise ValueError(f"attribute '{name}' is no number")
    return given.value.data


def _feature(op: HloOp) -> tuple[int, list[int]]:
    """The dimension of features, and the others."""
    dim = op.int("feature_index")
    rank = rank_of(op.operands[0])
    if not 0 <= dim < rank:
        raise ValueError(f"there is no dimension {dim} in {op.operands[0].type}")
    return dim, [other for other in range(rank) if other != dim]


@lowers("batch_norm_inference")
def batch_norm_inference(op: HloOp, b: HloBuilder) -> SSAValue:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset."""
    x, scale, offset, mean, variance = op.operands
    dim, _ = _feature(op)
    shape = shape_of(x)
    deviation = b("sqrt", b.with_number("add", variance, _number(op, "epsilon")))
    centred = b("sub", x, b.along(mean, shape, dim))
    scaled = b("mul", b("div", centred, b.along(deviation, shape, dim)), b.along(scale, shape, dim))
    return b("add", scaled, b.along(offset, shape, dim))


@lowers("batch_norm_training")
def batch_norm_training(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    """The same with the mean and the variance of the batch, which are results."""
    x, scale, offset = op.operands
    dim, others = _feature(op)
    shape = shape_of(x)
    count = prod(shape[other] for other in others)
    mean = b.with_number("div", b.reduce("sum", x, others), count)
    centred = b("sub", x, b.along(mean, shape, dim))
    variance = b.with_number("div", b.reduce("sum", b("mul", centred, centred), others), count)
    deviation = b("sqrt", b.with_number("add", variance, _number(op, "epsilon")))
    scaled = b("mul", b("div", centred, b.along(deviation, shape, dim)), b.along(scale, shape, dim))
    return [b("add", scaled, b.along(offset, shape, dim)), mean, variance]
