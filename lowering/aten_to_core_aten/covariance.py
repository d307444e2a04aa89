"""Covariances and correlations of rows (aten/src/ATen/native/Correlation.cpp)."""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.complex import conjugate
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_complex, rank_of, shape_of


@lowers("cov")
def cov(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Covariances, with counts and weights of observations."""
    made = _covariance(op, b, op.arg("correction"), op.arg("fweights"), op.arg("aweights"))
    return b.view(made, shape_of(op.results[0]))


@lowers("corrcoef")
def corrcoef(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Covariances over the deviations of row and column, cut to [-1, 1]."""
    made = _covariance(op, b, 1, None, None)
    rows = shape_of(made)[0]
    if rank_of(op.results[0]) == 0:
        value = b.view(made, [])
        return b("div.Tensor", value, value)
    variance = b("diagonal", made)
    if is_complex(element_of(variance)):
        raise b.refuse("correlations of complex numbers", "real tensors")
    deviation = b("sqrt", variance)
    made = b("div.Tensor", made, b.view(deviation, [rows, 1]))
    return b("clamp", b("div.Tensor", made, deviation), -1.0, 1.0)


def _covariance(
    op: SchemaOp, b: CoreBuilder, correction: int, counts: SSAValue | None, weights: SSAValue | None
) -> SSAValue:
    x = op.arg("self")
    x = b.view(x, [1, shape_of(x)[0] if rank_of(x) else 1]) if rank_of(x) < 2 else x
    element = element_of(op.results[0])
    observations = shape_of(x)[1]
    weight = _product(b, counts, weights)
    wide = b.cast(x, element)
    if weight is None:
        mean = b("mean.dim", wide, [1], True)
        norm: SSAValue = b.full([], max(observations - correction, 0), _real(element))
    else:
        total = b("sum.dim_IntList", weight, [0])
        real = b.cast(weight, _real(element))
        sums = b("sum.dim_IntList", b("mul.Tensor", wide, real), [1], True)
        mean = b("div.Tensor", sums, b.cast(total, _real(element)))
        norm = _freedom(b, b.cast(total, _real(element)), weights, weight, correction)
    centered = b("sub.Tensor", wide, mean)
    scaled = (
        centered if weight is None else b("mul.Tensor", centered, b.cast(weight, _real(element)))
    )
    turned = b.permute(conjugate(b, scaled) if is_complex(element) else scaled, [1, 0])
    return b("div.Tensor", b("mm", centered, turned), norm)


def _real(element: Attribute) -> Attribute:
    return getattr(element, "element_type", element)


def _product(b: CoreBuilder, counts: SSAValue | None, weights: SSAValue | None) -> SSAValue | None:
    if counts is None or weights is None:
        return weights if counts is None else counts
    return b("mul.Tensor", counts, weights)


def _freedom(
    b: CoreBuilder, total: SSAValue, weights: SSAValue | None, weight: SSAValue, correction: int
) -> SSAValue:
    """What is divided by: the total, less the correction by the mean weight; at least 0."""
    element = element_of(total)
    lost: SSAValue = b.full([], float(correction), element)
    if weights is not None and correction:
        both = b("sum.dim_IntList", b("mul.Tensor", weight, weights), [0])
        lost = b("mul.Tensor", lost, b("div.Tensor", b.cast(both, element), total))
    return b("clamp", b("sub.Tensor", total, lost), 0.0)
