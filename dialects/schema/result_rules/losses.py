"""Result types of loss functions."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32

from lamina.dialects.schema.promotion import float_of, real_of, result_dtype
from lamina.dialects.schema.result_rules.indexing import need_index
from lamina.dialects.schema.result_rules.pointwise import joint_shape
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Shape,
    Types,
    first_tensor,
    tensor,
)

NONE = 0
"""The reduction argument: 0 none, 1 mean, 2 sum."""


def _reduced(shape: Shape, args: Args) -> Shape:
    return shape if args["reduction"] == NONE else ()


def elementwise(args: Args) -> Types:
    """`mse_loss` and others of equal shapes: 0-d unless reduction is none."""
    values = [v for v in args.values() if isinstance(v, TensorType)]
    shape = _reduced(joint_shape(list(values[:2])), args)
    return [tensor(shape, real_of(result_dtype(values[:2])))]


def broadcasting(args: Args) -> Types:
    """As `elementwise`, all tensors broadcasting."""
    values = [v for v in args.values() if isinstance(v, TensorType)]
    return [tensor(_reduced(joint_shape(list(values)), args), float_of(result_dtype(values)))]


def _class_shape(value: TensorType) -> Shape:
    """Without the class dim: 0 of vectors, else 1."""
    shape = value.get_shape()
    if not shape:
        raise ValueError("the input must have at least 1 dim")
    return () if len(shape) == 1 else (shape[0], *shape[2:])


def cross_entropy(args: Args) -> Types:
    """`cross_entropy_loss`, `nll_loss_nd`: class dim gone if not reduced."""
    value = first_tensor(args)
    return [tensor(_reduced(_class_shape(value), args), value.element_type)]


def nll_loss(args: Args) -> Types:
    """`nll_loss`, `nll_loss2d`."""
    need_index(args["target"], "target")
    return cross_entropy(args)


def nll_loss_forward(args: Args) -> Types:
    """The loss and the total weight."""
    value = first_tensor(args)
    return [*nll_loss(args), tensor((), value.element_type)]


def margin(args: Args) -> Types:
    """`multi_margin_loss`, `multilabel_margin_loss`: one entry for each sample."""
    value = first_tensor(args)
    shape = value.get_shape()
    return [tensor(_reduced(shape[:1] if len(shape) > 1 else (), args), value.element_type)]


def cosine_embedding(args: Args) -> Types:
    """One entry for each pair of vectors."""
    shape = joint_shape([args["input1"], args["input2"]])[:-1]
    shape = joint_shape([tensor(shape, f32), args["target"]])
    dtype = float_of(result_dtype([args["input1"], args["input2"]]))
    return [tensor(_reduced(shape, args), dtype)]


def triplet_margin(args: Args) -> Types:
    """One entry for each triple of vectors."""
    values = [args["anchor"], args["positive"], args["negative"]]
    shape = _reduced(joint_shape(list(values))[:-1], args)
    return [tensor(shape, real_of(float_of(result_dtype(values))))]


def pairwise(args: Args) -> Types:
    """`pairwise_distance`: the last dim goes unless kept."""
    values = [args["x1"], args["x2"]]
    shape = joint_shape(list(values))
    shape = (*shape[:-1], 1) if args["keepdim"] else shape[:-1]
    return [tensor(shape, real_of(float_of(result_dtype(values))))]


def cosine_similarity(args: Args) -> Types:
    """Dim gone, the rest broadcast."""
    from lamina.dialects.schema.result_rules.reductions import reduced

    values = [args["x1"], args["x2"]]
    shape = reduced(joint_shape(list(values)), args["dim"], False)
    return [tensor(shape, float_of(result_dtype(values)))]


def cdist(args: Args) -> Types:
    """Distances of all pairs of rows."""
    from lamina.dialects.schema.result_rules.shapes import broadcast

    a, b = args["x1"].get_shape(), args["x2"].get_shape()
    if min(len(a), len(b)) < 2:
        raise ValueError(f"needs at least 2 dims, got {args['x1']} and {args['x2']}")
    return [
        tensor((*broadcast(a[:-2], b[:-2]), a[-2], b[-2]), result_dtype([args["x1"], args["x2"]]))
    ]


def pdist(args: Args) -> Types:
    """Distances of all pairs of rows of one matrix, each once."""
    value: TensorType = args["self"]
    rows = value.get_shape()[0]
    return [tensor((rows if rows < 0 else rows * (rows - 1) // 2,), value.element_type)]


def ctc(args: Args) -> Types:
    """One entry for each sequence."""
    value: TensorType = args["log_probs"]
    shape = value.get_shape()
    return [tensor(_reduced(shape[1:2] if len(shape) == 3 else (), args), value.element_type)]


def ctc_forward(args: Args) -> Types:
    """The losses, and the forward variables, as many as the longest target asks for."""
    value: TensorType = args["log_probs"]
    shape = value.get_shape()
    batch = shape[1:2] if len(shape) == 3 else ()
    lengths = args["target_lengths"]
    states = DYNAMIC if isinstance(lengths, TensorType) else 2 * max(lengths, default=0) + 1
    return [
        tensor(batch, value.element_type),
        tensor((*batch, shape[0], states), value.element_type),
    ]


def multilabel_margin_forward(args: Args) -> Types:
    """The loss, and which classes are targets."""
    return [*margin(args), tensor(args["target"].get_shape(), first_tensor(args).element_type)]
