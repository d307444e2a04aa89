"""Gradients of layer and group normalization; half floats are computed in f32."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.tensor_types import element_of, rank_of, shape_of


def _gradients(
    b: PrimsBuilder,
    tensors: tuple[SSAValue, SSAValue, SSAValue, SSAValue, SSAValue | None],
    dims: Sequence[int],
    own: Sequence[int],
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """For input, weight and bias, from (grad, input, mean, rstd, weight).

    The statistics lie along what is not in `dims`, the weight along `own`:
    dx = rstd (g w - mean(g w) - xhat mean(g w xhat)) over `dims`, dw = sum(g xhat), db = sum(g).
    """
    g, x, mean, rstd, weight = tensors
    shape = shape_of(x)
    scale = b.keep_dims(rstd, shape, dims)
    normal = b("mul", b("sub", x, b.keep_dims(mean, shape, dims)), scale)
    scaled = g
    if weight is not None:
        scaled = b("mul", g, b("broadcast_in_dim", weight, shape, list(own)))
    shift = b.keep_dims(b.mean(scaled, dims), shape, dims)
    slope = b.keep_dims(b.mean(b("mul", scaled, normal), dims), shape, dims)
    value = b("sub", b("sub", scaled, shift), b("mul", normal, slope))
    others = [d for d in range(len(shape)) if d not in own]
    weight_gradient = b.reduce("sum", b("mul", g, normal), others)
    return b("mul", value, scale), weight_gradient, b.reduce("sum", g, others)


def _results(op: SchemaOp, b: PrimsBuilder, made: Sequence[SSAValue]) -> Replacement:
    pairs = zip(made, op.results, strict=True)
    return [b.reshape(b.convert(v, element_of(r)), shape_of(r)) for v, r in pairs]


def _operand(op: SchemaOp, b: PrimsBuilder, name: str, shape: Sequence[int]) -> SSAValue:
    compute = accumulation_type(element_of(op.arg("input")))
    return b.reshape(b.convert(op.arg(name), compute), shape)


def _weight(op: SchemaOp, b: PrimsBuilder, shape: Sequence[int]) -> SSAValue | None:
    return None if op.arg("weight") is None else _operand(op, b, "weight", shape)


@lowers("native_layer_norm_backward")
def layer_norm(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """Over the trailing dimensions; weight and bias lie along them."""
    shape = shape_of(op.arg("input"))
    rows = rank_of(op.arg("input")) - len(op.arg("normalized_shape"))
    dims, sizes = list(range(rows, len(shape))), shape[rows:]
    names = (("grad_out", shape), ("input", shape), ("mean", shape[:rows]), ("rstd", shape[:rows]))
    g, x, mean, rstd = (_operand(op, b, name, size) for name, size in names)
    return _results(op, b, _gradients(b, (g, x, mean, rstd, _weight(op, b, sizes)), dims, dims))


@lowers("native_group_norm_backward")
def group_norm(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """Over the channels of a group and their pixels; weight and bias are one for each channel."""
    batch, channels, groups = op.arg("N"), op.arg("C"), op.arg("group")
    split = [groups, channels // groups]
    shape = [batch, *split, op.arg("HxW")]
    names = (("grad_out", shape), ("input", shape), ("mean", shape[:2]), ("rstd", shape[:2]))
    g, x, mean, rstd = (_operand(op, b, name, size) for name, size in names)
    return _results(op, b, _gradients(b, (g, x, mean, rstd, _weight(op, b, split)), [2, 3], [1, 2]))
