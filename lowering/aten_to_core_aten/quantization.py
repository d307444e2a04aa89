"""Numbers rounded to a grid of integers and back; products of small numbers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, is_float, rank_of, shape_of


def _on_grid(
    op: SchemaOp, b: CoreBuilder, scale: SSAValue | float, zero: SSAValue | float
) -> list[SSAValue]:
    """(clamp(round(x / scale) + zero) - zero) scale, and what was not clamped.

    As in torch's kernels, x is multiplied by 1 / scale and half goes to even; a zero point that is
    no integer is added before rounding.
    """
    x, low, high = op.arg("self"), op.arg("quant_min"), op.arg("quant_max")
    if isinstance(scale, SSAValue):
        wide = b("mul.Tensor", b.cast(x, f32), b("reciprocal", b.cast(scale, f32)))
    else:
        wide = b("mul.Scalar", b.cast(x, f32), 1.0 / scale)
    if isinstance(zero, SSAValue):
        early = is_float(element_of(zero))
        zero = b.cast(zero, f32)
        place = wide if early else b("round", wide)
        place = b("add.Tensor", place, zero)
        place = b("round", place) if early else place
    else:
        place = b("add.Scalar", b("round", wide), zero)
    inside = b("logical_and", b("ge.Scalar", place, low), b("le.Scalar", place, high))
    kept = b("clamp", place, low, high)
    steps = b("sub.Tensor" if isinstance(zero, SSAValue) else "sub.Scalar", kept, zero)
    made = b("mul.Tensor" if isinstance(scale, SSAValue) else "mul.Scalar", steps, scale)
    return [b.cast(made, element_of(op.results[0])), inside]


@lowers("fake_quantize_per_tensor_affine", "fake_quantize_per_tensor_affine_cachemask")
@lowers("fake_quantize_per_tensor_affine.tensor_qparams")
def per_tensor(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """One scale and zero point for all."""
    made = _on_grid(op, b, op.arg("scale"), op.arg("zero_point"))
    return made[: len(op.results)]


@lowers("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def per_tensor_if_enabled(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """As per_tensor, or the operand itself where fake_quant_enabled is 0."""
    made, inside = _on_grid(op, b, op.arg("scale"), op.arg("zero_point"))
    on = b("gt.Scalar", op.arg("fake_quant_enabled"), 0)
    return [b("where.self", on, made, op.arg("self")),
            b("logical_or", b("logical_not", on), inside)]  # fmt: skip


@lowers("fake_quantize_per_channel_affine", "fake_quantize_per_channel_affine_cachemask")
def per_channel(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """A scale and zero point for each index of `axis`."""
    x, axis = op.arg("self"), op.arg("axis")
    line = [1] * rank_of(x)
    line[axis] = shape_of(x)[axis]
    made = _on_grid(op, b, b.view(op.arg("scale"), line), b.view(op.arg("zero_point"), line))
    return made[: len(op.results)]


@lowers("fake_quantize_per_tensor_affine_cachemask_backward")
@lowers("fake_quantize_per_channel_affine_cachemask_backward")
def straight_through(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The gradient where nothing was clamped."""
    return b("mul.Tensor", op.arg("grad"), op.arg("mask"))


@lowers("_int_mm")
def product_of_bytes(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """A product of i8 added up in i32."""
    return b("mm", b.cast(op.arg("self"), i32), b.cast(op.arg("mat2"), i32))


@lowers("_trilinear")
def trilinear(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The sum over `sumdim` of three tensors with dimensions added at expand1 to expand3.

    What the third has none of is summed before it comes in, as in torch: the sum of an infinite
    number's products is then one, and not one of each sign.
    """
    one, two, three = (
        _expanded(b, op.arg(f"i{number}"), op.arg(f"expand{number}")) for number in (1, 2, 3)
    )
    dims, lacking = op.arg("sumdim"), set(op.arg("expand3"))
    early, late = ([d for d in dims if (d in lacking) is first] for first in (True, False))
    product = b("mul.Tensor", one, two)
    if early:
        product = b("sum.dim_IntList", product, early, True)
    product = b("mul.Tensor", product, three)
    if late:
        product = b("sum.dim_IntList", product, late, True)
    return b.view(product, shape_of(op.results[0]))


def _expanded(b: CoreBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    for dim in dims:
        x = b("unsqueeze", x, dim)
    return x


def _learned(op: SchemaOp, b: CoreBuilder, early: bool) -> tuple[SSAValue, SSAValue]:
    """Scale and zero point as they broadcast; the zero point rounded, and inside the grid.

    Of one zero point for all, torch rounds half up, and half to even in the gradient (`early`).
    """
    x, scale, zero = op.arg("self"), op.arg("scale"), op.arg("zero_point")
    per_channel = op.schema.arg("axis") is not None
    if per_channel:
        line = [1] * rank_of(x)
        line[op.arg("axis")] = shape_of(x)[op.arg("axis")]
        scale, zero = b.view(scale, line), b.view(zero, line)
    else:
        scale, zero = b.view(scale, []), b.view(zero, [])
    zero = b.cast(zero, f32)
    even = per_channel or early
    zero = b("round", zero) if even else b("floor", b("add.Scalar", zero, 0.5))
    return b.cast(scale, f32), b("clamp", zero, op.arg("quant_min"), op.arg("quant_max"))


@lowers("_fake_quantize_learnable_per_tensor_affine")
@lowers("_fake_quantize_learnable_per_channel_affine")
def learnable(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """As fake_quantize, with a zero point that is a float."""
    scale, zero = _learned(op, b, early=False)
    return _on_grid(op, b, scale, b.cast(zero, i32))[0]


@lowers("_fake_quantize_learnable_per_tensor_affine_backward")
@lowers("_fake_quantize_learnable_per_channel_affine_backward")
def learnable_backward(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Gradients for x, the scale and the zero point, the last two times grad_factor."""
    x, grad = op.arg("self"), op.arg("grad")
    low, high, factor = op.arg("quant_min"), op.arg("quant_max"), op.arg("grad_factor")
    scale, zero = _learned(op, b, early=True)
    inverse = b("reciprocal", scale)
    place = b("round", b("add.Tensor", b("mul.Tensor", x, inverse), zero))
    below, above = b("lt.Scalar", place, low), b("gt.Scalar", place, high)
    outside = b("logical_or", below, above)
    none = b.full([], 0.0, element_of(x))
    kept = b("sub.Tensor", b("clamp", place, low, high), zero)
    error = b("mul.Tensor", b("sub.Tensor", b("mul.Tensor", kept, scale), x), inverse)
    to_scale = b("mul.Tensor", grad, b("where.self", outside, kept, error))
    to_zero = b("where.self", outside, b("mul.Tensor", b("neg", grad), scale), none)
    dims = list(range(rank_of(x)))
    if op.schema.arg("axis") is not None:
        dims.remove(op.arg("axis"))
    results = [b("where.self", outside, none, grad)]
    for made, like in zip((to_scale, to_zero), op.results[1:], strict=True):
        total = b("sum.dim_IntList", b("mul.Scalar", made, factor), dims) if dims else made
        results.append(b.cast(b.view(total, shape_of(like)), element_of(like)))
    return results
