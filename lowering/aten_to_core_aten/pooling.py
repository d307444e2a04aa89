"""Max and average pooling; adaptive pooling where the windows are equal."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import rank_of, shape_of


@lowers("max_pool2d", "max_pool3d")
def max_pool(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The values of the op that also gives indices."""
    name = op.overload_name.partition(".")[0] + "_with_indices"
    return b(name, *(op.arg(argument.name) for argument in op.schema.args))


@lowers("max_pool1d", "max_pool1d_with_indices")
def max_pool1d(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Two-dimensional pooling with a height of 1."""
    names = ("kernel_size", "stride", "padding", "dilation")
    kernel, stride, padding, dilation = (_first(op.arg(name)) for name in names)
    made = b.op(
        "max_pool2d_with_indices",
        b("unsqueeze", op.arg("self"), -2),
        [1, kernel],
        [1, kernel if stride is None else stride],
        [0, padding],
        [1, dilation],
        op.arg("ceil_mode"),
    )
    values = made.results[: len(op.results)]
    return [b.view(value, shape_of(r)) for value, r in zip(values, op.results, strict=True)]


def _first(value: list[int] | int) -> int | None:
    if isinstance(value, int):
        return value
    return value[0] if value else None


@lowers("adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool3d")
@lowers("_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def adaptive_avg_pool(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """A mean if one output is left, avg_pool if the windows are equal, else the core op."""
    x, name = op.arg("self"), op.overload_name.partition(".")[0].lstrip("_")
    dims = int(name[-2])
    inputs, outputs = shape_of(x)[-dims:], shape_of(op.results[0])[-dims:]
    if outputs == [1] * dims:
        return b("mean.dim", x, list(range(-dims, 0)), True)
    if all(o and i % o == 0 for i, o in zip(inputs, outputs, strict=True)):
        windows = [i // o for i, o in zip(inputs, outputs, strict=True)]
        return b(f"avg_pool{dims}d", x, windows, windows)
    return b(name if dims == 1 else f"_{name}", x, outputs)


@lowers("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """max_pool with indices if the windows are equal, else the core op."""
    x = op.arg("self")
    dims = int(op.overload_name.partition(".")[0][-2])
    inputs, outputs = shape_of(x)[-dims:], shape_of(op.results[0])[-dims:]
    if dims == 1:
        x, inputs, outputs, dims = b("unsqueeze", x, -2), [1, *inputs], [1, *outputs], 2
    if all(o and i % o == 0 for i, o in zip(inputs, outputs, strict=True)):
        windows = [i // o for i, o in zip(inputs, outputs, strict=True)]
        made = b.op(f"max_pool{dims}d_with_indices", x, windows, windows)
    else:
        made = b.op(f"adaptive_max_pool{dims}d", x, outputs)
    return [b.view(value, shape_of(r)) for value, r in zip(made.results, op.results, strict=True)]


@lowers("im2col")
def im2col(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Sliding blocks as columns: of each place in a window, what stands there in all windows."""
    x = op.arg("self")
    if rank_of(x) == 3:
        x = b("unsqueeze", x, 0)
    up, left = op.arg("padding")
    if up or left:
        x = b("constant_pad_nd", x, [left, left, up, up], 0)
    windows = zip(
        shape_of(x)[2:], op.arg("kernel_size"), op.arg("dilation"), op.arg("stride"), strict=True
    )
    lines, columns = (_places_in_windows(*window, b) for window in windows)
    x = b("index.Tensor", b("index.Tensor", x, [None, None, None, columns]), [None, None, lines])
    return b.view(b.permute(x, [0, 1, 2, 4, 3, 5]), shape_of(op.results[0]))


def _places_in_windows(
    extent: int, window: int, dilation: int, stride: int, b: CoreBuilder
) -> SSAValue:
    """Where each place in a window is, of all windows along a dimension: [window, windows]."""
    count = (extent - dilation * (window - 1) - 1) // stride + 1
    starts = b("arange.start_step", 0, count * stride, stride, dtype=i64)
    inside = b("arange.start_step", 0, window * dilation, dilation, dtype=i64)
    return b("add.Tensor", b("unsqueeze", inside, 1), starts)
