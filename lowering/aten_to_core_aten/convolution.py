"""conv1d to conv3d and their transposes, with string padding and without a batch: convolution."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import rank_of, shape_of


def _each(value: list[int] | int, dims: int) -> list[int]:
    """A parameter for each spatial dimension, one number standing for all."""
    values = [value] if isinstance(value, int) else list(value)
    return values * dims if len(values) == 1 else values


def _convolve(
    op: SchemaOp,
    b: CoreBuilder,
    x: SSAValue,
    padding: list[int],
    transposed: bool = False,
    output_padding: list[int] | None = None,
) -> SSAValue:
    weight = op.arg("weight")
    dims = rank_of(weight) - 2
    batched = rank_of(x) == dims + 2
    result = b(
        "convolution",
        x if batched else b("unsqueeze", x, 0),
        weight,
        op.arg("bias"),
        _each(op.arg("stride"), dims),
        padding,
        _each(op.arg("dilation"), dims),
        transposed,
        output_padding or [0] * dims,
        op.arg("groups"),
    )
    return result if batched else b.view(result, shape_of(op.results[0]))


@lowers("conv1d", "conv2d", "conv3d")
def conv(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Numbers for padding."""
    dims = rank_of(op.arg("weight")) - 2
    return _convolve(op, b, op.arg("input"), _each(op.arg("padding"), dims))


@lowers("conv1d.padding", "conv2d.padding", "conv3d.padding", "_convolution_mode")
def conv_named_padding(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """`valid`: none. `same`: dilation * (kernel - 1), the odd one at the end."""
    x, kernel = op.arg("input"), shape_of(op.arg("weight"))[2:]
    dims = len(kernel)
    if op.arg("padding") == "valid":
        return _convolve(op, b, x, [0] * dims)
    if op.arg("padding") != "same":
        raise b.refuse(f"padding {op.arg('padding')!r}", '"valid", "same"')
    totals = [d * (k - 1) for d, k in zip(_each(op.arg("dilation"), dims), kernel, strict=True)]
    if any(total % 2 for total in totals):
        extra = [amount for total in reversed(totals) for amount in (0, total % 2)]
        x = b("constant_pad_nd", x, extra, 0)
    return _convolve(op, b, x, [total // 2 for total in totals])


@lowers("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The transposed form."""
    dims = rank_of(op.arg("weight")) - 2
    padding, extra = _each(op.arg("padding"), dims), _each(op.arg("output_padding"), dims)
    return _convolve(op, b, op.arg("input"), padding, True, extra)


@lowers("_convolution", "_convolution.deprecated")
def internal_convolution(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """convolution with hints for libraries that are of no interest here."""
    dims = rank_of(op.arg("weight")) - 2
    padding, extra = _each(op.arg("padding"), dims), _each(op.arg("output_padding"), dims)
    return _convolve(op, b, op.arg("input"), padding, op.arg("transposed"), extra)


@lowers("_slow_conv2d_forward", "slow_conv3d", "slow_conv3d_forward", "thnn_conv2d")
@lowers("slow_conv_dilated2d", "slow_conv_dilated3d", "conv_depthwise3d", "_conv_depthwise2d")
@lowers("slow_conv_transpose2d", "slow_conv_transpose3d")
def convolution_kernel(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Kernels that torch picks: of one group, or one for each channel."""
    x, weight = op.arg("self"), op.arg("weight")
    dims = rank_of(weight) - 2
    values = [
        _each(op.arg(name) if op.schema.arg(name) is not None else default, dims)
        for name, default in (("stride", 1), ("padding", 0), ("dilation", 1), ("output_padding", 0))
    ]
    groups = shape_of(x)[-dims - 1] if "depthwise" in op.overload_name else 1
    batched = rank_of(x) == dims + 2
    given = x if batched else b("unsqueeze", x, 0)
    transposed = "transpose" in op.overload_name
    made = b(
        "convolution", given, weight, op.arg("bias"), *values[:3], transposed, values[3], groups
    )
    return made if batched else b.view(made, shape_of(op.results[0]))


@lowers("conv_tbc")
def conv_tbc(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """conv1d of time, batch, channels."""
    x = b.permute(op.arg("self"), [1, 2, 0])
    weight = b.permute(op.arg("weight"), [2, 1, 0])
    pad = [op.arg("pad")]
    made = b("convolution", x, weight, op.arg("bias"), [1], pad, [1], False, [0], 1)
    return b.permute(made, [2, 0, 1])


@lowers("_slow_conv2d_backward.output_mask")
def slow_conv2d_backward(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """convolution_backward of one group."""
    given = [op.arg(name) for name in ("grad_output", "self", "weight")]
    channels = shape_of(given[2])[:1]
    made = b.op(
        "convolution_backward",
        *given,
        channels,
        op.arg("stride"),
        op.arg("padding"),
        [1, 1],
        False,
        [0, 0],
        1,
        op.arg("output_mask"),
    )
    return list(made.results)


@lowers("conv_tbc_backward")
def conv_tbc_backward(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """convolution_backward with time last."""
    grad, x = (b.permute(op.arg(name), [1, 2, 0]) for name in ("self", "input"))
    weight = b.permute(op.arg("weight"), [2, 1, 0])
    channels, pad = shape_of(op.arg("bias")), [op.arg("pad")]
    made = b.op(
        "convolution_backward",
        grad,
        x,
        weight,
        channels,
        [1],
        pad,
        [1],
        False,
        [0],
        1,
        [True, True, True],
    ).results
    return [b.permute(made[0], [2, 0, 1]), b.permute(made[1], [2, 1, 0]), made[2]]
