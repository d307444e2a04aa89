"""Dropout in its forms: in training, draws of which elements stay."""

from __future__ import annotations

from math import sqrt

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_float, shape_of

SELU_LIMIT = 1.7580993408473766
"""-alpha * scale of selu, where it ends for very negative numbers: what alpha dropout drops to."""


@lowers("dropout")
def dropout(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """native_dropout in training; nothing in evaluation."""
    if not _draws(op, b):
        return op.arg("input")
    return b("native_dropout", op.arg("input"), op.arg("p"), True)


@lowers("feature_dropout")
def feature_dropout(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Whole channels (dimension 1) stay or go."""
    if not _draws(op, b):
        return op.arg("input")
    x, p = op.arg("input"), op.arg("p")
    scale = b("mul.Scalar", _kept(b, x, p, channels=True), 1 / (1 - p) if p < 1 else 0.0)
    return b("mul.Tensor", x, scale)


@lowers("alpha_dropout", "feature_alpha_dropout")
def alpha_dropout(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """What goes becomes selu's limit; then mean and variance are restored (Klambauer 2017)."""
    if not _draws(op, b):
        return op.arg("input")
    x, p = op.arg("input"), op.arg("p")
    if p == 1:
        return b("mul.Scalar", x, 0.0)
    scale = 1 / sqrt((SELU_LIMIT**2 * p + 1) * (1 - p))
    kept = _kept(b, x, p, channels=op.overload_name.startswith("feature"))
    gone = b("add.Scalar", b("mul.Scalar", kept, SELU_LIMIT), (p - 1) * SELU_LIMIT)
    stays = b("mul.Tensor", x, b("mul.Scalar", kept, scale))
    return b("add.Tensor", stays, b("mul.Scalar", gone, scale))


def _draws(op: SchemaOp, b: CoreBuilder) -> bool:
    if not op.arg("train") or op.arg("p") == 0:
        return False
    if not is_float(element_of(op.arg("input"))):
        raise b.refuse("dropout of other than floats in training", "a float input")
    return True


def _kept(b: CoreBuilder, x: SSAValue, p: float, channels: bool) -> SSAValue:
    """1 for what stays, with probability 1 - p, else 0."""
    shape, element = shape_of(x), element_of(x)
    if channels:
        shape = [*shape[:2], *(1 for _ in shape[2:])]
    drawn = b("rand", shape, dtype=f64 if element == f64 else f32)
    return b.cast(b("lt.Scalar", drawn, 1 - p), element)
