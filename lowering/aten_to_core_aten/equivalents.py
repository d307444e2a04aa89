"""Ops that are others in one or two steps: kernels that torch picks, older names, fused pairs."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects import aten
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.reduction import vector_norm
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, composed, lowers
from lamina.lowering.conversion import Replacement
from lamina.lowering.tensor_types import element_of, normalized, numel, rank_of, shape_of

SAME = {
    "_aminmax": "aminmax.default",
    "_grid_sampler_2d_cpu_fallback": "grid_sampler_2d.default",
    "_logcumsumexp": "logcumsumexp.default",
    "_neg_view": "neg.default",
    "_neg_view_copy": "neg.default",
    "_stack": "stack.default",
    "native_channel_shuffle": "channel_shuffle.default",
    "native_norm": "norm.Scalar",
    "native_norm.ScalarOpt_dim_dtype": "norm.ScalarOpt_dim_dtype",
    "special_round": "round.decimals",
    "view_as_complex_copy": "view_as_complex.default",
    "view_as_real_copy": "view_as_real.default",
    "view_copy.dtype": "view.dtype",
    "embedding_backward": "embedding_dense_backward.default",
}
"""The same op under its usual name; arguments that it lacks are dropped."""


@lowers(*SAME)
def same(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """The other op with the same arguments."""
    return _as(op, b, SAME[op.overload_name.removesuffix(".default")])


def _as(op: SchemaOp, b: CoreBuilder, name: str, **more: Any) -> list[SSAValue]:
    wanted = aten.op(name).schema
    values = {a.name: op.arg(a.name) for a in op.schema.args} | more
    if wanted.args[0].name != op.schema.args[0].name:
        values[wanted.args[0].name] = op.arg(op.schema.args[0].name)
    if "grad" in values and wanted.arg("grad_output") is not None:
        values["grad_output"] = values["grad"]
    return composed(b, name, **{a.name: values[a.name] for a in wanted.args if a.name in values})


@lowers("_aminmax.dim")
def aminmax_along(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """aminmax along one dimension."""
    x, dim, keep = op.arg("self"), op.arg("dim"), op.arg("keepdim")
    return composed(b, "aminmax.default", x, dim=dim, keepdim=keep)


@lowers("mm.dtype", "bmm.dtype", "addmm.dtype", "baddbmm.dtype")
def product_in_dtype(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """The product of operands in the result's dtype."""
    element = element_of(op.results[0])
    values = {a.name: op.arg(a.name) for a in op.schema.args if a.name != "out_dtype"}
    wide = {k: b.cast(v, element) if isinstance(v, SSAValue) else v for k, v in values.items()}
    return composed(b, op.overload_name.replace(".dtype", ".default"), **wide)


@lowers("_addmm_activation")
def product_and_activation(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """relu or gelu of addmm."""
    (made,) = _as(op, b, "addmm.default")
    return b("gelu" if op.arg("use_gelu") else "relu", made)


@lowers("_add_relu.Tensor", "_add_relu.Scalar")
def sum_and_relu(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """relu of the sum."""
    name = op.overload_name.replace("_add_relu", "add")
    return b("relu", b(name, op.arg("self"), op.arg("other"), alpha=op.arg("alpha")))


@lowers("bitwise_and.Scalar_Tensor", "bitwise_or.Scalar_Tensor", "bitwise_xor.Scalar_Tensor")
@lowers("remainder.Scalar_Tensor")
def number_first(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """With the number as a tensor of the result's type."""
    number = b.full([], op.arg("self"), element_of(op.results[0]))
    return b(op.overload_name.replace("Scalar_Tensor", "Tensor"), number, op.arg("other"))


@lowers("log_sigmoid_forward")
def log_sigmoid(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """log_sigmoid, and exp(-|x|) for the backward pass."""
    buffer = b("exp", b("neg", b("abs", op.arg("self"))))
    return [*_as(op, b, "log_sigmoid.default"), buffer]


@lowers("vander")
def vander(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Powers from 0 up by running products, or in falling order."""
    element, count = element_of(op.results[0]), shape_of(op.results[0])[-1]
    x = b("unsqueeze", b.cast(op.arg("x"), element), -1)
    if not count:
        return b.full(shape_of(op.results[0]), 0, element)
    ones = b.full(shape_of(x), 1, element)
    repeated = b.expand(x, [*shape_of(x)[:-1], count - 1])
    powers = b("cumprod", b("cat", [ones, repeated], -1), -1)
    return powers if op.arg("increasing") else b("flip", powers, [-1])


@lowers("range", "range.step")
def inclusive_range(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """start, start + step, ... with the end, if it is met."""
    step = op.arg("step") if op.schema.arg("step") is not None else 1
    count, element = shape_of(op.results[0])[0], element_of(op.results[0])
    line = b.cast(b("arange.start_step", 0, count, 1, dtype=i64), element)
    return b("add.Scalar", b("mul.Scalar", line, step), op.arg("start"))


@lowers("pad_sequence")
def pad_sequence(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Tensors filled up to the longest one, side by side."""
    tensors = op.arg("sequences")
    length = max(shape_of(x)[0] for x in tensors)
    left = op.arg("padding_side") == "left"
    padded: list[SSAValue] = []
    for x in tensors:
        missing = length - shape_of(x)[0]
        edges = [0] * (2 * (rank_of(x) - 1)) + ([missing, 0] if left else [0, missing])
        made = b("constant_pad_nd", x, edges, op.arg("padding_value")) if missing else x
        padded.append(b("unsqueeze", made, 0 if op.arg("batch_first") else 1))
    return b("cat", padded, 0 if op.arg("batch_first") else 1)


@lowers("_saturate_weight_to_fp16")
def saturated(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Inside what f16 holds."""
    return b("clamp", op.arg("weight"), -65504.0, 65504.0)


@lowers("_dim_arange")
def places_along(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """0, 1, ... along one dimension."""
    like = op.arg("like")
    extent = shape_of(like)[normalized(op.arg("dim"), rank_of(like))]
    return b("arange.start_step", 0, extent, 1, dtype=i64)


@lowers("_shape_as_tensor")
def shape_as_tensor(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The sizes as a vector."""
    sizes = [b.full([1], extent, i64) for extent in shape_of(op.arg("self"))]
    return b("cat", sizes, 0) if sizes else b.full([0], 0, i64)


@lowers("batch_norm_backward", "_batch_norm_impl_index_backward")
def batch_norm_backward(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """native_batch_norm_backward, which keeps nothing for itself."""
    plain = op.overload_name.startswith("batch_norm")
    grad, saved = ("grad_out", "save_var") if plain else ("grad_output", "save_var_transform")
    names = (grad, "input", "weight", "running_mean", "running_var", "save_mean", saved)
    training = op.arg("update" if plain else "train")
    values = [op.arg(name) for name in names]
    name, eps, mask = "native_batch_norm_backward.default", op.arg("eps"), op.arg("output_mask")
    return composed(b, name, *values, training, eps, mask)


@lowers("_pad_enum")
def pad_by_number(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """pad; the mode is a number."""
    modes = ("reflect", "replicate", "circular", "constant")
    return composed(
        b, "pad.default", op.arg("self"), op.arg("pad"), modes[op.arg("mode")], op.arg("value")
    )


@lowers("flatten_dense_tensors")
def flattened(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """All elements one after the other."""
    return b("cat", [b.view(x, [numel(x)]) for x in op.arg("tensors")], 0)


@lowers("unflatten_dense_tensors")
def unflattened(op: SchemaOp, b: CoreBuilder) -> list[SSAValue]:
    """Pieces of a vector in the shapes of the tensors."""
    pieces: list[SSAValue] = []
    start = 0
    for x in op.arg("tensors"):
        end = start + numel(x)
        pieces.append(b.view(b("slice.Tensor", op.arg("flat"), 0, start, end), shape_of(x)))
        start = end
    return pieces


@lowers("norm_except_dim")
def norm_except_dim(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The norm over all dimensions but one, which stay with extent 1; over all for dim -1."""
    v, dim = op.arg("v"), op.arg("dim")
    dims = [d for d in range(rank_of(v)) if dim == -1 or d != dim]
    return vector_norm(b, v, float(op.arg("pow")), dims, dim != -1)


@lowers("infinitely_differentiable_gelu_backward")
def gelu_backward(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """The gradient of gelu."""
    return composed(b, "gelu_backward.default", op.arg("grad"), op.arg("self"))


@lowers("_grid_sampler_2d_cpu_fallback_backward")
def grid_sampler_backward(op: SchemaOp, b: CoreBuilder) -> Replacement:
    """Both gradients of grid_sampler_2d."""
    values = [op.arg(argument.name) for argument in op.schema.args]
    return list(b.op("grid_sampler_2d_backward", *values, [True, True]).results)


@lowers("_cholesky_solve_helper")
def cholesky_solve(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """cholesky_solve."""
    return b("cholesky_solve", op.arg("self"), op.arg("A"), op.arg("upper"))
