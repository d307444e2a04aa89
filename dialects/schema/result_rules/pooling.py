"""Result types of pooling and resampling."""

from __future__ import annotations

from math import floor

from xdsl.dialects.builtin import TensorType, i64

from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Shape,
    Types,
    need_rank,
    repeat_to,
    same_shape,
    size_or_dynamic,
    tensor,
)


def pooled_size(
    size: int, window: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """Windows in one dim; with ceil_mode the last may hang over, but starts inside."""
    if size < 0:
        return DYNAMIC
    if stride <= 0 or dilation <= 0 or window <= 0:
        raise ValueError(f"window {window}, stride {stride}, dilation {dilation}: must be positive")
    if not 0 <= 2 * padding <= dilation * (window - 1) + 1:
        raise ValueError(f"padding {padding} must be at most half the window of {window}")
    room = size + 2 * padding - dilation * (window - 1) - 1
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    if count <= 0:
        raise ValueError(f"a window of {window} does not fit a dim of size {size}")
    return count


def _pooled(args: Args, rank: int) -> TensorType:
    value: TensorType = args["self"]
    shape = need_rank(value, (rank + 1, rank + 2), "self")
    windows = repeat_to(args["kernel_size"], rank, "kernel_size")
    strides = repeat_to(args["stride"] or windows, rank, "stride")
    paddings = repeat_to(args["padding"], rank, "padding")
    dilations = repeat_to(args.get("dilation", [1]), rank, "dilation")
    if args.get("divisor_override") == 0:
        raise ValueError("the divisor must not be 0")
    rows = zip(shape[-rank:], windows, strides, paddings, dilations, strict=True)
    out = [pooled_size(*row, args["ceil_mode"]) for row in rows]
    return tensor((*shape[:-rank], *out), value.element_type)


def pool_1d(args: Args) -> Types:
    """Windows of the last dim."""
    return [_pooled(args, 1)]


def pool_2d(args: Args) -> Types:
    """Windows of the last 2 dims."""
    return [_pooled(args, 2)]


def pool_3d(args: Args) -> Types:
    """Windows of the last 3 dims."""
    return [_pooled(args, 3)]


def _with_indices(value: TensorType) -> Types:
    return [value, tensor(value.get_shape(), i64)]


def pool_1d_with_indices(args: Args) -> Types:
    """Maxima and their i64 places."""
    return _with_indices(_pooled(args, 1))


def pool_2d_with_indices(args: Args) -> Types:
    """Maxima and their i64 places."""
    return _with_indices(_pooled(args, 2))


def pool_3d_with_indices(args: Args) -> Types:
    """Maxima and their i64 places."""
    return _with_indices(_pooled(args, 3))


def _to_output_size(args: Args, rank: int) -> TensorType:
    value: TensorType = args["self"]
    shape = need_rank(value, (rank + 1, rank + 2), "self")
    sizes = repeat_to(args["output_size"], rank, "output_size")
    return tensor((*shape[:-rank], *map(size_or_dynamic, sizes)), value.element_type)


def _unpooled(args: Args, rank: int) -> Types:
    if not same_shape(args["self"].get_shape(), args["indices"].get_shape()):
        raise ValueError(f"indices {args['indices']} must have the shape of {args['self']}")
    return [_to_output_size(args, rank)]


def unpool_2d(args: Args) -> Types:
    """`max_unpool2d`."""
    return _unpooled(args, 2)


def unpool_3d(args: Args) -> Types:
    """`max_unpool3d`."""
    return _unpooled(args, 3)


def adaptive_1d(args: Args) -> Types:
    """output_size windows of the last dim."""
    return [_to_output_size(args, 1)]


def adaptive_2d(args: Args) -> Types:
    """output_size windows of the last 2 dims."""
    return [_to_output_size(args, 2)]


def adaptive_3d(args: Args) -> Types:
    """output_size windows of the last 3 dims."""
    return [_to_output_size(args, 3)]


def adaptive_1d_with_indices(args: Args) -> Types:
    """Maxima and their i64 places."""
    return _with_indices(_to_output_size(args, 1))


def adaptive_2d_with_indices(args: Args) -> Types:
    """Maxima and their i64 places."""
    return _with_indices(_to_output_size(args, 2))


def adaptive_3d_with_indices(args: Args) -> Types:
    """Maxima and their i64 places."""
    return _with_indices(_to_output_size(args, 3))


def upsample(args: Args) -> Types:
    """`upsample_*`: batch and channels, then output_size or the sizes times scale_factors."""
    value: TensorType = args["self"] if "self" in args else args["input"]
    shape = value.get_shape()
    sizes, scales = args["output_size"], args.get("scale_factors")
    spatial: Shape = shape[2:]
    if len(shape) < 3:
        raise ValueError(f"needs batch, channels and spatial dims, got {value}")
    if sizes is not None:
        new = [size_or_dynamic(size) for size in repeat_to(sizes, len(spatial), "output_size")]
    elif scales is not None:
        if len(scales) != len(spatial):
            raise ValueError(f"{len(scales)} scale factors for {len(spatial)} spatial dims")
        pairs = zip(spatial, scales, strict=True)
        new = [DYNAMIC if size < 0 else floor(size * scale) for size, scale in pairs]
    else:
        raise ValueError("needs output_size or scale_factors")
    return [tensor((*shape[:2], *new), value.element_type)]


def grid_sample(args: Args) -> Types:
    """Batch and channels of the input, spatial dims of the grid."""
    value, grid = args["input"], args["grid"]
    shape = need_rank(value, (4, 5), "input")
    places = need_rank(grid, len(shape), "grid")
    return [tensor((*shape[:2], *places[1:-1]), value.element_type)]


def pixel_shuffle(args: Args) -> Types:
    """Channels of r*r become blocks of r by r pixels."""
    value: TensorType = args["self"]
    shape, r = value.get_shape(), args["upscale_factor"]
    if len(shape) < 3 or r <= 0 or (shape[-3] >= 0 and shape[-3] % (r * r)):
        raise ValueError(f"the channels of {value} are no multiple of {r} * {r}")
    channels, height, width = shape[-3:]
    new = (channels // (r * r), height * r, width * r)
    marked = [DYNAMIC if old < 0 else size for old, size in zip(shape[-3:], new, strict=True)]
    return [tensor((*shape[:-3], *marked), value.element_type)]


def pixel_unshuffle(args: Args) -> Types:
    """Blocks of r by r pixels become channels."""
    value: TensorType = args["self"]
    shape, r = value.get_shape(), args["downscale_factor"]
    if len(shape) < 3 or r <= 0 or any(size >= 0 and size % r for size in shape[-2:]):
        raise ValueError(f"height and width of {value} are no multiples of {r}")
    channels, height, width = shape[-3:]
    new = (channels * r * r, height // r, width // r)
    marked = [DYNAMIC if old < 0 else size for old, size in zip(shape[-3:], new, strict=True)]
    return [tensor((*shape[:-3], *marked), value.element_type)]


def channel_shuffle(args: Args) -> Types:
    """Self's type; channels are a multiple of the groups."""
    value: TensorType = args["self"]
    shape, groups = value.get_shape(), args["groups"]
    if len(shape) < 3 or groups <= 0 or (shape[1] >= 0 and shape[1] % groups):
        raise ValueError(f"the channels of {value} do not make {groups} groups")
    return [value]


def im2col(args: Args) -> Types:
    """Windows as columns: channels * window size rows."""
    value: TensorType = args["self"]
    shape = need_rank(value, (3, 4), "self")
    windows = repeat_to(args["kernel_size"], 2, "kernel_size")
    blocks = _blocks(shape[-2], shape[-1], args)
    rows = DYNAMIC if shape[-3] < 0 else shape[-3] * windows[0] * windows[1]
    return [tensor((*shape[:-3], rows, blocks), value.element_type)]


def _blocks(height: int, width: int, args: Args) -> int:
    total = 1
    for place, size in enumerate((height, width)):
        window = repeat_to(args["kernel_size"], 2, "kernel_size")[place]
        dilation = repeat_to(args["dilation"], 2, "dilation")[place]
        padding = repeat_to(args["padding"], 2, "padding")[place]
        stride = repeat_to(args["stride"], 2, "stride")[place]
        if size < 0:
            return DYNAMIC
        total *= (size + 2 * padding - dilation * (window - 1) - 1) // stride + 1
    return total


def col2im(args: Args) -> Types:
    """Columns summed up to an image of output_size."""
    value: TensorType = args["self"]
    shape = need_rank(value, (2, 3), "self")
    windows = repeat_to(args["kernel_size"], 2, "kernel_size")
    channels = DYNAMIC if shape[-2] < 0 else shape[-2] // (windows[0] * windows[1])
    sizes = map(size_or_dynamic, args["output_size"])
    return [tensor((*shape[:-2], channels, *sizes), value.element_type)]
