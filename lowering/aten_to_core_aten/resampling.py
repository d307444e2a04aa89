"""Upsampling with the output size in numbers: the core `.vec` overloads, or a gather."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import rank_of, shape_of


def _no_scales(op: SchemaOp, b: CoreBuilder) -> None:
    """A given scale that is not output / input changes which points are read."""
    spatial = rank_of(op.arg("self")) - 2
    inputs, outputs = shape_of(op.arg("self"))[2:], shape_of(op.results[0])[2:]
    names = [a.name for a in op.schema.args if a.name.startswith("scales")]
    for name, extent, out in zip(names, inputs, outputs[:spatial], strict=True):
        scale = op.arg(name)
        if scale is not None and scale * extent != out:
            raise b.refuse(f"{name} = {scale}, not output / input", f"{name} = {out / extent}")


@lowers("upsample_nearest2d")
def upsample_nearest2d(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The overload that takes the output size."""
    _no_scales(op, b)
    return b("upsample_nearest2d.vec", op.arg("self"), shape_of(op.results[0])[2:], None)


@lowers("upsample_bilinear2d")
def upsample_bilinear2d(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The overload that takes the output size."""
    _no_scales(op, b)
    size, corners = shape_of(op.results[0])[2:], op.arg("align_corners")
    return b("upsample_bilinear2d.vec", op.arg("self"), size, corners, None)


@lowers("upsample_nearest1d.vec", "upsample_nearest1d")
def upsample_nearest1d(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Two-dimensional, with a height of 1."""
    if op.overload_name == "upsample_nearest1d.vec":
        x, factors = op.arg("input"), op.arg("scale_factors")
        if factors is not None and factors[0] * shape_of(x)[2] != shape_of(op.results[0])[2]:
            raise b.refuse("a scale factor with a rounded output size", "output_size")
    else:
        _no_scales(op, b)
        x = op.arg("self")
    result = shape_of(op.results[0])
    wide = b("upsample_nearest2d.vec", b("unsqueeze", x, 2), [1, result[2]], None)
    return b.view(wide, result)
