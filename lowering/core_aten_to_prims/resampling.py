"""Upsampling: neighbours taken along each axis, at places computed like torch's."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers
from lamina.lowering.tensor_types import element_of, shape_of


def _ratio(op: SchemaOp, position: int, extent: int, out: int) -> float:
    """input / output: by the scale factor if one is given."""
    factors = op.arg("scale_factors")
    return 1 / factors[position] if factors else extent / out


@lowers("upsample_nearest2d.vec")
def upsample_nearest(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """floor(i * ratio); repetition if the ratio is the reciprocal of a whole number."""
    x: SSAValue = op.arg("input")
    for position, dim in enumerate((2, 3)):
        extent, out = shape_of(x)[dim], shape_of(op.results[0])[dim]
        ratio = _ratio(op, position, extent, out)
        if out % extent == 0 and ratio == extent / out:
            x = _repeated(b, x, dim, out // extent)
            continue
        place = b.with_number("mul", b.convert(b.iota(out, i64), f32), ratio)
        place = b.convert(b("floor", place), i64)
        x = b("take", x, b.with_number("minimum", place, extent - 1), dim)
    return x


def _repeated(b: PrimsBuilder, x: SSAValue, dim: int, times: int) -> SSAValue:
    shape = shape_of(x)
    wide = [*shape[: dim + 1], times, *shape[dim + 1 :]]
    kept = [d for d in range(len(wide)) if d != dim + 1]
    x = b("broadcast_in_dim", x, wide, kept)
    return b.reshape(x, [*shape[:dim], shape[dim] * times, *shape[dim + 1 :]])


@lowers("upsample_bilinear2d.vec")
def upsample_bilinear(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Along each axis the weighted sum of two neighbours."""
    result: Attribute = element_of(op.results[0])
    x = b.convert(op.arg("input"), accumulation_type(result))
    for position, dim in enumerate((3, 2)):
        extent, out = shape_of(x)[dim], shape_of(op.results[0])[dim]
        if extent == out:
            continue
        ratio = _ratio(op, 1 - position, extent, out)
        x = _interpolated(b, x, dim, out, ratio, op.arg("align_corners"))
    return b.convert(x, result)


def _interpolated(
    b: PrimsBuilder, x: SSAValue, dim: int, out: int, ratio: float, corners: bool
) -> SSAValue:
    extent, compute = shape_of(x)[dim], element_of(x)
    index = b.convert(b.iota(out, i64), compute)
    if corners:
        place = b.with_number("mul", index, (extent - 1) / (out - 1) if out > 1 else 0.0)
    else:
        middle = b.with_number("mul", b.with_number("add", index, 0.5), ratio)
        place = b.with_number("maximum", b.with_number("sub", middle, 0.5), 0.0)
    low = b.with_number("minimum", b.convert(b("floor", place), i64), extent - 1)
    high = b.with_number("minimum", b.with_number("add", low, 1), extent - 1)
    weight = b("sub", place, b.convert(low, compute))
    shape = [*shape_of(x)[:dim], out, *shape_of(x)[dim + 1 :]]
    upper = b.along(weight, shape, dim)
    lower = b.with_number("add", b("neg", upper), 1)
    return b(
        "add", b("mul", b("take", x, low, dim), lower), b("mul", b("take", x, high, dim), upper)
    )
