"""Result types of normalization layers and dropout."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, bf16, f16, f32, i1
from xdsl.ir import Attribute

from lamina.dialects.schema.promotion import FLOAT, category, ui8
from lamina.dialects.schema.result_rules.shapes import (
    Args,
    Shape,
    Types,
    first_tensor,
    same_shape,
    same_size,
    show,
    tensor,
)


def _need_float(value: TensorType) -> None:
    if category(value.element_type) < FLOAT:
        raise ValueError(f"needs float elements, got {value}")


def _trailing(value: TensorType, sizes: Sequence[int], *scales: TensorType | None) -> Shape:
    """The dims before the normalized ones."""
    shape = value.get_shape()
    place = len(shape) - len(sizes)
    if not sizes or place < 0 or not same_shape(shape[place:], tuple(sizes)):
        raise ValueError(f"normalized_shape {show(sizes)} is not the end of {value}")
    for scale in scales:
        if scale is not None and not same_shape(scale.get_shape(), tuple(sizes)):
            raise ValueError(f"weight or bias {scale} must have the shape {show(sizes)}")
    return shape[:place]


def layer_norm(args: Args) -> Types:
    """The input's type."""
    value: TensorType = args["input"]
    _need_float(value)
    _trailing(value, args["normalized_shape"], args["weight"], args["bias"])
    return [value]


def native_layer_norm(args: Args) -> Types:
    """The result, then mean and 1/std with ones for the normalized dims."""
    value: TensorType = args["input"]
    _need_float(value)
    sizes = args["normalized_shape"]
    outer = _trailing(value, sizes, args["weight"], args["bias"])
    statistic = tensor((*outer, *(1,) * len(sizes)), _statistics_dtype(value, args))
    return [value, statistic, statistic]


_PARAMETERS = ("weight", "bias", "running_mean", "running_var")


def _statistics_dtype(value: TensorType, args: Args) -> Attribute:
    """As torch's CPU kernels: half inputs with f32 parameters or statistics have f32 statistics."""
    given = [args.get(name) for name in _PARAMETERS]
    mixed = any(p is not None and p.element_type != value.element_type for p in given)
    return f32 if mixed else value.element_type


def rms_norm(args: Args) -> Types:
    """The input's type."""
    value: TensorType = args["input"]
    _trailing(value, args["normalized_shape"], args["weight"])
    return [value]


def fused_rms_norm(args: Args) -> Types:
    """The result, and 1/rms with ones for the normalized dims."""
    value: TensorType = args["input"]
    sizes = args["normalized_shape"]
    outer = _trailing(value, sizes, args["weight"])
    dtype = f32 if value.element_type in (f16, bf16) else value.element_type
    return [value, tensor((*outer, *(1,) * len(sizes)), dtype)]


def _channels(value: TensorType, names: Sequence[str], args: Args) -> int:
    shape = value.get_shape()
    if len(shape) == 1 and shape[0] == 0:
        return 0
    if len(shape) < 2:
        raise ValueError(f"the input must have at least 2 dims, got {value}")
    for name in names:
        scale = args.get(name)
        if scale is None:
            continue
        sizes = scale.get_shape()
        if len(sizes) != 1 or not same_size(sizes[0], shape[1]):
            raise ValueError(f"'{name}' is {scale}; the input has {shape[1]} channels")
    return shape[1]


def batch_norm(args: Args) -> Types:
    """`batch_norm`: the input's type; weights and statistics have one entry for each channel."""
    value: TensorType = args["input"]
    _need_float(value)
    _channels(value, _PARAMETERS, args)
    return [value]


def instance_norm(args: Args) -> Types:
    """As `batch_norm`."""
    return batch_norm(args)


def batch_norm_inference(args: Args) -> Types:
    """`_native_batch_norm_legit_no_training`: the result and two empty statistics."""
    value: TensorType = args["input"]
    _channels(value, _PARAMETERS, args)
    empty = tensor((0,), _statistics_dtype(value, args))
    return [value, empty, empty]


def native_batch_norm(args: Args) -> Types:
    """The result, then mean and 1/std of each channel: empty without training."""
    value: TensorType = args["input"]
    _need_float(value)
    channels = _channels(value, _PARAMETERS, args)
    size = channels if args.get("training", True) else 0
    statistic = tensor((size,), _statistics_dtype(value, args))
    return [value, statistic, statistic]


def native_batch_norm_functional(args: Args) -> Types:
    """As `native_batch_norm`, with the new running statistics."""
    return [*native_batch_norm(args), args["running_mean"], args["running_var"]]


def batch_norm_with_update(args: Args) -> Types:
    """As training `native_batch_norm`, with a reserved buffer (empty on a CPU)."""
    return [*native_batch_norm(args), tensor((0,), ui8)]


def batch_norm_with_update_functional(args: Args) -> Types:
    """As `batch_norm_with_update`, with the new running statistics."""
    return [*batch_norm_with_update(args), args["running_mean"], args["running_var"]]


def batch_norm_no_update(args: Args) -> Types:
    """As inference, with a reserved buffer."""
    return [*native_batch_norm({**args, "training": False}), tensor((0,), ui8)]


def group_norm(args: Args) -> Types:
    """The input's type; channels are a multiple of the groups."""
    value: TensorType = args["input"]
    _need_float(value)
    channels = _channels(value, ("weight", "bias"), args)
    groups = args["num_groups"]
    if groups <= 0 or (channels >= 0 and channels % groups):
        raise ValueError(f"{channels} channels do not make {groups} groups")
    return [value]


def native_group_norm(args: Args) -> Types:
    """The result, then mean and 1/std for each sample and group."""
    value: TensorType = args["input"]
    channels, groups = _channels(value, ("weight", "bias"), args), args["group"]
    if groups <= 0 or (channels >= 0 and channels % groups):
        raise ValueError(f"{channels} channels do not make {groups} groups")
    samples = args["N"] if args["N"] >= 0 else value.get_shape()[0]
    statistic = tensor((samples, groups), _statistics_dtype(value, args))
    return [value, statistic, statistic]


def dropout(args: Args) -> Types:
    """The input's type; p lies in 0 to 1."""
    if not 0 <= args["p"] <= 1:
        raise ValueError(f"p must lie between 0 and 1, got {args['p']}")
    return [first_tensor(args)]


def native_dropout(args: Args) -> Types:
    """The result and the bool mask."""
    value: TensorType = args["input"]
    return [value, tensor(value.get_shape(), i1)]


def weight_norm(args: Args) -> Types:
    """v's type."""
    return [args["v"]]


def weight_norm_interface(args: Args) -> Types:
    """v's type, and the norms of g's type."""
    return [args["v"], args["g"]]


def with_noise(args: Args) -> Types:
    """`rrelu_with_noise_functional`: the result and the noise."""
    return [args["self"], args["noise"]]


def log_sigmoid_forward(args: Args) -> Types:
    """The result, and a buffer of self's shape (on a CPU)."""
    return [args["self"], args["self"]]
