"""Result types of convolutions and padding."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType

from lamina.dialects.schema.result_rules.matmul import common_dtype
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Shape,
    Types,
    need_rank,
    repeat_to,
    same_size,
    tensor,
)


def window_count(size: int, window: int, stride: int, padding: int, dilation: int) -> int:
    """How many windows fit a dim padded by `padding` in all (both sides together)."""
    if size < 0 or window < 0 or padding < 0:  # `min` of sizes may not be known
        return DYNAMIC
    if stride <= 0 or dilation <= 0:
        raise ValueError(f"stride {stride} and dilation {dilation} must be positive")
    return (size + padding - dilation * (window - 1) - 1) // stride + 1


def _need_fit(count: int, size: int, window: int) -> int:
    if (count < 0 and count != DYNAMIC) or (count == 0 and size > 0):
        raise ValueError(f"a window of {window} does not fit a padded dim of size {size}")
    return count


def _times(size: int, number: int) -> int:
    return DYNAMIC if min(size, number) < 0 else size * number


def _geometry(args: Args, *, transposed: bool = False) -> tuple[TensorType, Shape, Shape, int]:
    value = args["input"] if "input" in args else args["self"]
    weight: TensorType = args["weight"]
    kernel = weight.get_shape()
    rank = len(kernel) - 2
    if rank < 1:
        raise ValueError(f"the weight must have at least 3 dims, got {weight}")
    shape = need_rank(value, (rank + 1, rank + 2), "input")
    channels, groups = shape[-rank - 1], args.get("groups", 1)
    if groups <= 0 and groups != DYNAMIC:
        raise ValueError(f"groups must be positive, got {groups}")
    wanted = kernel[0] if transposed else _times(kernel[1], groups)
    if not same_size(channels, wanted):
        raise ValueError(
            f"input {value} has {channels} channels, weight {weight} with {groups} groups "
            f"takes {wanted}"
        )
    if not transposed and min(kernel[0], groups) >= 0 and kernel[0] % groups:
        raise ValueError(f"{kernel[0]} output channels do not make {groups} groups")
    return value, shape, kernel, groups


def _need_bias(bias: TensorType | None, channels: int) -> None:
    if bias is None:
        return
    sizes = bias.get_shape()
    if len(sizes) != 1 or not same_size(sizes[0], channels):
        raise ValueError(f"bias {bias} for {channels} output channels")


def _finish(args: Args, value: TensorType, shape: Shape, channels: int, out: list[int]) -> Types:
    _need_bias(args.get("bias"), channels)
    *batch, given = shape[: len(shape) - len(out)]
    dtype = common_dtype(value, args["weight"], args.get("bias"))
    if given == 0:
        channels = 0  # torch: of no channels none are made, whatever the weight has
    return [tensor((*batch, channels, *out), dtype)]


def convolve(args: Args) -> Types:
    """`conv1d`, `conv2d`, `conv3d` and others: channels before the spatial dims."""
    value, shape, kernel, _ = _geometry(args)
    rank = len(kernel) - 2
    strides = repeat_to(args["stride"], rank, "stride")
    dilations = repeat_to(args.get("dilation", [1]), rank, "dilation")
    sizes = shape[-rank:]
    totals = both_paddings(args["padding"], kernel[2:], dilations, strides)
    out = [
        _need_fit(window_count(size, window, stride, padding, dilation), size, window)
        for size, window, stride, padding, dilation in zip(
            sizes, kernel[2:], strides, totals, dilations, strict=True
        )
    ]
    return _finish(args, value, shape, kernel[0], out)


def both_paddings(
    padding: Sequence[int] | str, windows: Shape, dilations: Sequence[int], strides: Sequence[int]
) -> list[int]:
    """Padding of both sides of each dim together."""
    if padding == "valid":
        return [0] * len(windows)
    if padding == "same":
        if any(stride != 1 for stride in strides):
            raise ValueError("padding 'same' needs strides of 1")
        return [dilation * (w - 1) for dilation, w in zip(dilations, windows, strict=True)]
    if isinstance(padding, str):
        raise ValueError(f"padding must be 'same' or 'valid', not '{padding}'")
    amounts = repeat_to(padding, len(windows), "padding")
    if min(amounts) < 0 and DYNAMIC not in amounts:
        raise ValueError(f"negative padding {amounts}")
    return [DYNAMIC if amount < 0 else 2 * amount for amount in amounts]


def convolve_transposed(args: Args) -> Types:
    """`conv_transpose1d` to 3d: the gradient of a convolution to its input."""
    value, shape, kernel, groups = _geometry(args, transposed=True)
    rank = len(kernel) - 2
    columns = [
        shape[-rank:],
        kernel[2:],
        repeat_to(args["stride"], rank, "stride"),
        repeat_to(args["padding"], rank, "padding"),
        repeat_to(args["output_padding"], rank, "output_padding"),
        repeat_to(args["dilation"], rank, "dilation"),
    ]
    out: list[int] = []
    for size, window, stride, padding, extra, dilation in zip(*columns, strict=True):
        if size < 0 or window < 0:
            out.append(DYNAMIC)
            continue
        if extra >= max(stride, dilation):
            raise ValueError(f"output padding {extra} must be below stride or dilation")
        length = (size - 1) * stride - 2 * padding + dilation * (window - 1) + extra + 1
        if length < 0:
            raise ValueError(f"padding {padding} leaves nothing of {length + 2 * padding}")
        out.append(length)
    channels = _times(kernel[1], groups)
    return _finish(args, value, shape, channels, out)


def convolution(args: Args) -> Types:
    """`convolution`: either kind."""
    return convolve_transposed(args) if args["transposed"] else convolve(args)


def convolve_time_first(args: Args) -> Types:
    """`conv_tbc`: time, batch, channels."""
    time, batch, channels = need_rank(args["self"], 3, "self")
    window, inner, outer = need_rank(args["weight"], 3, "weight")
    if not same_size(channels, inner):
        raise ValueError(f"{channels} channels for weight {args['weight']}")
    length = window_count(time, window, 1, 2 * args["pad"], 1)
    return [tensor((length, batch, outer), args["self"].element_type)]


def padded(value: TensorType, pad: Sequence[int]) -> TensorType:
    """`pad` gives amounts before and behind, last dim first; negative ones crop."""
    shape = list(value.get_shape())
    if len(pad) % 2 or len(pad) > 2 * len(shape):
        raise ValueError(f"padding {list(pad)} does not fit {value}")
    for place in range(len(pad) // 2):
        before, behind = pad[2 * place : 2 * place + 2]
        size = shape[-1 - place]
        known = size >= 0 and DYNAMIC not in (before, behind)
        new = size + before + behind if known else DYNAMIC
        if known and new < 0:
            raise ValueError(f"padding {list(pad)} crops more than {value} has")
        shape[-1 - place] = new
    return tensor(shape, value.element_type)


def pad(args: Args) -> Types:
    """`pad`, `constant_pad_nd`."""
    return [padded(args["self"], args["pad"])]


def pad_border(args: Args) -> Types:
    """`reflection_pad1d`, `replication_pad2d` and others: all spatial dims."""
    value: TensorType = args["self"]
    rank = len(args["padding"]) // 2
    need_rank(value, (rank + 1, rank + 2), "self")
    return [padded(value, args["padding"])]
