"""Result types of backward overloads: the types of what the gradients are for.

Torch gives undefined tensors where an output mask is false; here those results keep their type.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import TensorType, f32

from lamina.dialects.schema.promotion import float_of, result_dtype
from lamina.dialects.schema.result_rules.pointwise import joint_shape
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Types,
    known_shape,
    need_rank,
    same_shape,
    tensor,
    wrap_dim,
)


def like_input(args: Args) -> Types:
    """Gradients for `self` or `input`."""
    return [args["self"] if "self" in args else args["input"]]


def _like_images(dims: int) -> Callable[[Args], Types]:
    """Gradients for images in `self`, of so many dims behind channels, and maybe batches."""

    def rule(args: Args) -> Types:
        shape = need_rank(args["self"], (dims + 1, dims + 2), "self")
        given = need_rank(args["grad_output"], len(shape), "grad_output")
        if not same_shape(given[:-dims], shape[:-dims]):
            raise ValueError(f"{args['grad_output']} is no gradient of {args['self']}'s images")
        return like_input(args)

    return rule


like_images_1d, like_images_2d, like_images_3d = map(_like_images, (1, 2, 3))


def softmax(args: Args) -> Types:
    """`_softmax_backward_data`: the input's dtype."""
    value: TensorType = args["grad_output"]
    wrap_dim(args["dim"], len(value.get_shape()))
    return [tensor(value.get_shape(), args["input_dtype"])]


def layer_norm(args: Args) -> Types:
    """Gradients for input, weight and bias."""
    value: TensorType = args["input"]
    sizes = tensor(known_shape(args["normalized_shape"]), value.element_type)
    weight, bias = args["weight"] or sizes, args["bias"] or sizes
    return [value, weight, bias]


def group_norm(args: Args) -> Types:
    """Gradients for input, weight and bias."""
    value: TensorType = args["input"]
    channels = args["C"] if args["C"] >= 0 else DYNAMIC
    weight = args["weight"] or tensor((channels,), value.element_type)
    return [value, weight, weight]


def batch_norm(args: Args) -> Types:
    """Gradients for input, weight and bias."""
    value: TensorType = args["input"]
    names = ("running_mean", "running_var", "save_mean", "save_invstd")
    given = [args[name] for name in names if args[name] is not None]
    mixed = any(statistic.element_type != value.element_type for statistic in given)
    dtype = f32 if mixed else value.element_type
    weight = args["weight"] or tensor(value.get_shape()[1:2], dtype)
    return [value, weight, weight]


def rms_norm(args: Args) -> Types:
    """Gradients for input and weight."""
    value: TensorType = args["input"]
    sizes = tensor(known_shape(args["normalized_shape"]), value.element_type)
    return [value, args["weight"] or sizes]


def embedding(args: Args) -> Types:
    """`embedding_dense_backward`: num_weights rows."""
    value: TensorType = args["grad_output"]
    rows = args["num_weights"]
    shape = (DYNAMIC if rows < 0 else rows, value.get_shape()[-1])
    return [tensor(shape, value.element_type)]


def _gradient(args: Args) -> TensorType:
    return args["grad_output"] if "grad_output" in args else args["grad"]


def select(args: Args) -> Types:
    """`select_backward`, `slice_backward`, `diagonal_backward`, ...: the input's sizes."""
    sizes = args["input_sizes"] if "input_sizes" in args else args["self_sizes"]
    return [tensor(known_shape(sizes), _gradient(args).element_type)]


def convolution(args: Args) -> Types:
    """Gradients for input, weight and bias."""
    value, weight = args["input"], args["weight"]
    kernel = weight.get_shape()
    channels = kernel[1] * args["groups"] if args["transposed"] else kernel[0]
    bias = tensor((channels,), weight.element_type)
    return [value, weight, bias]


def upsample(args: Args) -> Types:
    """The input's sizes."""
    return [tensor(known_shape(args["input_size"]), args["grad_output"].element_type)]


def sizes(args: Args) -> Types:
    """`trace_backward`, `masked_scatter_backward`: the sizes given."""
    return [tensor(known_shape(args["sizes"]), _gradient(args).element_type)]


def unfold(args: Args) -> Types:
    """The sizes of what was unfolded."""
    return [tensor(known_shape(args["input_sizes"]), args["grad_in"].element_type)]


def grid_sample(args: Args) -> Types:
    """Gradients for input and grid."""
    return [args["input"], args["grid"]]


def prelu(args: Args) -> Types:
    """Gradients for self and weight, both of self's shape."""
    value: TensorType = args["self"]
    return [value, tensor(value.get_shape(), args["weight"].element_type)]


def elementwise(args: Args) -> Types:
    """Gradients of elementwise functions: the tensors' common type."""
    values = [v for v in args.values() if isinstance(v, TensorType)]
    return [tensor(joint_shape(list(values)), result_dtype(values))]


def dropout(args: Args) -> Types:
    """The gradient where the mask is true, scaled."""
    shape = joint_shape([args["grad_output"], args["mask"]])
    return [tensor(shape, float_of(args["grad_output"].element_type))]


def of(*names: str) -> Callable[[Args], Types]:
    """The types of these arguments."""

    def rule(args: Args) -> Types:
        return [args[name] for name in names]

    return rule


query_key_value = of("query", "key", "value")
"""Gradients of attention."""
data = of("data")
of_x = of("x")
of_glu = of("glu")
output = of("grad_output")
learned_grid = of("self", "scale", "zero_point")
"""Gradients of fake quantization whose grid is learned."""
direction_and_length = of("saved_v", "saved_g")
"""Gradients of weight norm."""
time_batch_channels = of("input", "weight", "bias")
"""Gradients of conv_tbc."""


def slow_convolution(args: Args) -> Types:
    """Gradients for self, weight and bias."""
    weight: TensorType = args["weight"]
    return [args["self"], weight, tensor(weight.get_shape()[:1], weight.element_type)]


def bags(args: Args) -> Types:
    """Gradients of embedding bags for the table."""
    value: TensorType = args["grad"]
    return [tensor((args["num_weights"], value.get_shape()[-1]), value.element_type)]


def bag_weights(args: Args) -> Types:
    """Gradients of embedding bags for the weight of each index."""
    return [tensor(args["indices"].get_shape(), args["grad"].element_type)]


def lstm_cell(args: Args) -> Types:
    """Gradients for both gates, the cell, and both biases."""
    gates: TensorType = args["input_gates"]
    bias = tensor(gates.get_shape()[1:], gates.element_type)
    return [gates, gates, args["cx"], bias, bias]


def gru_cell(args: Args) -> Types:
    """Gradients for both gates, the state, and both biases."""
    gates: TensorType = args["input_gates"]
    bias = tensor(gates.get_shape()[1:], gates.element_type)
    return [gates, gates, args["hx"], bias, bias]


def linear_combination(args: Args) -> Types:
    """`_compute_linear_combination`: one tensor for each row of coefficients."""
    value, rows = args["input"], args["coefficients"].get_shape()[0]
    return [tensor((rows, *value.get_shape()[1:]), value.element_type)]
