"""Sums of areas and differences along a dimension: trapezoid, cumulative_trapezoid, gradient."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, normalized, rank_of, shape_of


def _between(b: CoreBuilder, x: SSAValue, dim: int, start: int, end: int) -> SSAValue:
    """Places `start` to `shape + end` of one dimension."""
    return b("slice.Tensor", x, dim, start, shape_of(x)[dim] + end)


def _areas(op: SchemaOp, b: CoreBuilder) -> tuple[SSAValue, int]:
    """Twice the area between neighbours along `dim`, and that dimension."""
    y = op.arg("y")
    dim = normalized(op.arg("dim"), rank_of(y))
    sums = b("add.Tensor", _between(b, y, dim, 1, 0), _between(b, y, dim, 0, -1))
    if not op.overload_name.endswith(".x"):
        return b("mul.Scalar", sums, op.arg("dx")), dim
    x = op.arg("x")
    if rank_of(x) == 1 and rank_of(y) > 1:
        x = b.view(x, [*shape_of(x), *[1] * (rank_of(y) - dim - 1)])
        at = 0
    else:
        at = dim - rank_of(y) + rank_of(x)
    if at < 0 or shape_of(x)[at] == 1:
        raise b.refuse("sample points that broadcast along the dimension itself")
    steps = b("sub.Tensor", _between(b, x, at, 1, 0), _between(b, x, at, 0, -1))
    return b("mul.Tensor", sums, steps), dim


@lowers("trapezoid.x", "trapezoid.dx", "trapz.x", "trapz.dx")
def trapezoid(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The sum of (y[i] + y[i + 1]) / 2 times the step."""
    result = op.results[0]
    if shape_of(op.arg("y"))[normalized(op.arg("dim"), rank_of(op.arg("y")))] == 0:
        return b.full(shape_of(result), 0, element_of(result))
    areas, dim = _areas(op, b)
    total = b("sum.dim_IntList", areas, [dim - rank_of(op.arg("y")) + rank_of(areas)])
    return b.cast(b("div.Scalar", total, 2), element_of(result))


@lowers("cumulative_trapezoid.x", "cumulative_trapezoid.dx")
def cumulative_trapezoid(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Running sums of the same."""
    areas, dim = _areas(op, b)
    along = dim - rank_of(op.arg("y")) + rank_of(areas)
    return b("div.Scalar", b("cumsum", areas, along), 2)


def _spacings(op: SchemaOp, dims: list[int]) -> list[object]:
    names = {argument.name for argument in op.schema.args}
    spacing = op.arg("spacing") if "spacing" in names else None
    if isinstance(spacing, list):
        return list(spacing) * (len(dims) if len(spacing) == 1 else 1)
    return [1 if spacing is None else spacing] * len(dims)


@lowers(
    "gradient.scalarint",
    "gradient.scalararray",
    "gradient.array",
    "gradient.scalarrayint",
    "gradient.scalarrayarray",
    "gradient.tensorarrayint",
    "gradient.tensorarray",
)
def gradient(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Central differences inside, one-sided ones of first or second order at the ends."""
    x = op.arg("self")
    dims = op.arg("dim")
    dims = list(range(rank_of(x))) if dims is None else dims if isinstance(dims, list) else [dims]
    dims = [normalized(dim, rank_of(x)) for dim in dims]
    order = op.arg("edge_order")
    return [
        _uneven(b, x, dim, spacing, order)
        if isinstance(spacing, SSAValue)
        else _even(b, x, dim, spacing, order)
        for dim, spacing in zip(dims, _spacings(op, dims), strict=True)
    ]


def _place(b: CoreBuilder, x: SSAValue, dim: int, place: int) -> SSAValue:
    place %= shape_of(x)[dim]
    return b("slice.Tensor", x, dim, place, place + 1)


def _even(b: CoreBuilder, x: SSAValue, dim: int, step: object, order: int) -> SSAValue:
    inner = b("sub.Tensor", _between(b, x, dim, 2, 0), _between(b, x, dim, 0, -2))
    inner = b("div.Scalar", b("div.Scalar", inner, step), 2)
    ends: list[SSAValue] = []
    for end, sign in ((0, 1), (-1, -1)):
        near, far = _place(b, x, dim, end), _place(b, x, dim, end + sign)
        if order == 1:
            rise = b("sub.Tensor", far, near) if sign > 0 else b("sub.Tensor", near, far)
        else:
            third = _place(b, x, dim, end + 2 * sign)
            rise = b(
                "sub.Tensor",
                b("sub.Tensor", b("mul.Scalar", far, 2), b("mul.Scalar", near, 1.5)),
                b("mul.Scalar", third, 0.5),
            )
            rise = rise if sign > 0 else b("neg", rise)
        ends.append(b("div.Scalar", rise, step))
    return b("cat", [ends[0], inner, ends[1]], dim)


def _uneven(b: CoreBuilder, x: SSAValue, dim: int, points: SSAValue, order: int) -> SSAValue:
    """The slope of the parabola through three neighbours."""
    points = b.view(points, [shape_of(points)[0], *[1] * (rank_of(x) - dim - 1)])
    steps = b("sub.Tensor", _between(b, points, 0, 1, 0), _between(b, points, 0, 0, -1))
    rises = b("sub.Tensor", _between(b, x, dim, 1, 0), _between(b, x, dim, 0, -1))
    slopes = b("div.Tensor", rises, steps)
    before, after = _between(b, steps, 0, 0, -1), _between(b, steps, 0, 1, 0)
    low, high = _between(b, slopes, dim, 0, -1), _between(b, slopes, dim, 1, 0)
    both = b("add.Tensor", before, after)
    weighted = b("add.Tensor", b("mul.Tensor", low, after), b("mul.Tensor", high, before))
    inner = b("div.Tensor", weighted, both)
    ends: list[SSAValue] = []
    for end, sign in ((0, 1), (-1, -1)):
        slope = _place(b, slopes, dim, end)
        if order == 2:
            step, wide = _place(b, steps, 0, end), _place(b, both, 0, end)
            bend = b("sub.Tensor", _place(b, slopes, dim, end + sign), slope)
            slope = b("sub.Tensor", slope, b("div.Tensor", b("mul.Tensor", bend, step), wide))
        ends.append(slope)
    return b("cat", [ends[0], inner, ends[1]], dim)
