"""Tensors scaled by their norms: renorm, weight normalization."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.reduction import magnitude, vector_norm
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, normalized, rank_of

_APART = 1e-7
"""Added to a norm that is divided by, as in torch."""


def _shrunk(b: CoreBuilder, x: SSAValue, order: float, dims: list[int], largest: float) -> SSAValue:
    """Slices over `dims` with a norm above `largest`, scaled down to it."""
    norm = vector_norm(b, magnitude(b, x), order, dims, True)
    one = b.full([], 1.0, element_of(norm))
    factor = b("reciprocal", b("add.Scalar", norm, _APART))
    factor = b("mul.Scalar", factor, largest)
    return b("mul.Tensor", x, b("where.self", b("gt.Scalar", norm, largest), factor, one))


@lowers("renorm")
def renorm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Each slice of `dim` with a norm above maxnorm, scaled down to it."""
    x = op.arg("self")
    dim = normalized(op.arg("dim"), rank_of(x))
    dims = [d for d in range(rank_of(x)) if d != dim]
    return _shrunk(b, x, float(op.arg("p")), dims, float(op.arg("maxnorm")))


@lowers("_weight_norm", "_weight_norm_interface")
def weight_norm(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """g v / |v|, the norm over all dimensions but `dim` (over all for -1), and the norm."""
    v, g, dim = op.arg("v"), op.arg("g"), op.arg("dim")
    dims = [d for d in range(rank_of(v)) if dim == -1 or d != normalized(dim, rank_of(v))]
    norm = vector_norm(b, v, 2, dims, dim != -1)
    made = b("mul.Tensor", v, b("div.Tensor", g, norm))
    return [made, norm] if len(op.results) == 2 else made
