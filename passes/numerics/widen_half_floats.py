"""`widen-half-floats`: ops on f16 and bf16 compute in f32 and round their result once.

That is what torch's kernels do. Every op that computes gets its half operands converted to f32,
gives f32, and is followed by a conversion back; both conversions are marked `lamina.implicit`. What
the op is decomposed into later therefore does not round in between. Ops that only move elements
stay as they are, and so do those whose meaning depends on the type itself.

The pass runs twice. On `aten` it takes the ops that torch computes in one step (`COMPUTING` and
two of torch's tags). What is left of half floats is made of several steps in torch too; the pass
takes these steps on `core_aten`, after the decomposition, so that the Python numbers in them are
numbers of f32, as in torch's kernels, and not rounded to the half float.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, bf16, f32, f64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects import aten, core_aten
from lamina.dialects.elementwise import SECOND_NAMES
from lamina.dialects.loop.rounding import is_half, mark_implicit
from lamina.dialects.records import record
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.values import encode

LAYERS = ("aten.", "core_aten.")
"""What the names of ops of either layer begin with."""

COMPUTING_TAGS = frozenset({"pointwise", "reduction"})
"""Torch's tags of ops that compute."""

COMPUTING = frozenset(
    {
        "_adaptive_avg_pool2d",
        "_adaptive_avg_pool3d",
        "_batch_norm_no_update",
        "_batch_norm_with_update",
        "_batch_norm_with_update_functional",
        "_cdist_forward",
        "_convolution",
        "_euclidean_dist",
        "_fused_rms_norm",
        "_fused_rms_norm_backward",
        "_grouped_mm",
        "_log_softmax",
        "_log_softmax_backward_data",
        "_native_batch_norm_legit",
        "_native_batch_norm_legit_functional",
        "_native_batch_norm_legit_no_training",
        "_pdist_forward",
        "_prelu_kernel",
        "_prelu_kernel_backward",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "_softmax",
        "_softmax_backward_data",
        "_trilinear",
        "_upsample_bicubic2d_aa",
        "_upsample_bilinear2d_aa",
        "_upsample_nearest_exact1d",
        "adaptive_avg_pool1d",
        "adaptive_avg_pool2d",
        "adaptive_avg_pool3d",
        "addbmm",
        "addmm",
        "addmv",
        "addr",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "baddbmm",
        "batch_norm",
        "bilinear",
        "bmm",
        "cdist",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "convolution",
        "convolution_backward",
        "cosine_similarity",
        "cumprod",
        "cumsum",
        "cumulative_trapezoid",
        "dist",
        "dot",
        "elu_backward",
        "fake_quantize_per_tensor_affine",
        "gelu_backward",
        "glu",
        "glu_backward",
        "grid_sampler",
        "grid_sampler_2d",
        "grid_sampler_3d",
        "group_norm",
        "hardsigmoid",
        "hardsigmoid_backward",
        "hardswish",
        "hardswish_backward",
        "hardtanh",
        "hardtanh_backward",
        "index_add",
        "inner",
        "instance_norm",
        "layer_norm",
        "leaky_relu_backward",
        "linalg_norm",
        "linalg_vector_norm",
        "linear",
        "log_sigmoid",
        "log_sigmoid_forward",
        "log_softmax",
        "logcumsumexp",
        "logsumexp",
        "matmul",
        "mish_backward",
        "mm",
        "mv",
        "native_batch_norm",
        "native_batch_norm_backward",
        "native_group_norm",
        "native_group_norm_backward",
        "native_layer_norm",
        "native_layer_norm_backward",
        "norm",
        "pairwise_distance",
        "prelu",
        "renorm",
        "rms_norm",
        "rrelu_with_noise_backward",
        "rsub",
        "scaled_dot_product_attention",
        "scatter.reduce",
        "scatter.value_reduce",
        "scatter_add",
        "scatter_reduce",
        "smooth_l1_loss_backward",
        "softmax",
        "softplus_backward",
        "trapezoid",
        "upsample_bicubic2d",
        "upsample_bilinear2d",
        "upsample_linear1d",
        "upsample_trilinear3d",
        "vdot",
    }
)
"""Ops that compute and have no such tag; where only some overloads do, with the overload."""

EXACT = frozenset(
    {
        "abs",
        "amax",
        "amin",
        "aminmax",
        "ceil",
        "clone",
        "copysign",
        "floor",
        "fmax",
        "fmin",
        "max",
        "maximum",
        "min",
        "minimum",
        "neg",
        "positive",
        "relu",
        "round",
        "sign",
        "trunc",
        "where",
    }
)
"""Ops whose result is exact in any float type, so that nothing is to be rounded."""

OF_THE_TYPE = frozenset({"frexp", "nan_to_num", "nextafter", "signbit"})
"""Ops whose meaning depends on the float type itself."""

STEPWISE = frozenset({"logit", "soft_margin_loss", "xlogy"})
"""Ops that torch computes in several steps, each rounded to the half float."""

ROUNDED_NUMBERS = frozenset({"add", "fmod", "hardshrink", "pow", "remainder", "rsub", "sub"})
"""Ops for which eager mode rounds their numbers, and 0-d operands of another type, as well."""


@record
class WidenHalfFloatsPass(ModulePass):
    """Compute `aten` and `core_aten` ops on f16 and bf16 in f32; see the module's description.

    With `rounding="eager"` numbers are rounded to the half float where torch's eager mode does so.
    """

    name = "widen-half-floats"

    rounding: str = "kernel"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if not isinstance(inner, SchemaOp) or not inner.name.startswith(LAYERS):
                continue
            if _computes(inner, self.rounding):
                if self.rounding == "eager" and _stem(inner) in ROUNDED_NUMBERS:
                    _round_numbers(inner)
                _widen(inner)


def _stem(op: SchemaOp) -> str:
    """An op's first name, without its overload."""
    return SECOND_NAMES.get(op.overload_name, op.overload_name).partition(".")[0]


def _element(value: SSAValue) -> Attribute | None:
    return value.type.element_type if isinstance(value.type, TensorType) else None


def _halves(values: object) -> list[SSAValue]:
    return [v for v in values if (e := _element(v)) is not None and is_half(e)]  # pyright: ignore


def _computes(op: SchemaOp, rounding: str) -> bool:
    """Whether an op's result is a half float that is rounded from something more exact."""
    if not _halves(op.results) or not _halves(op.operands):
        return False
    schema = op.schema
    name = _stem(op)
    if name in EXACT and "decimals" not in op.overload_name:
        return False
    if name in OF_THE_TYPE or (name in STEPWISE and not _has_fine_bounds(op, rounding)):
        return False
    if _is_stepwise(op):
        return False
    if any(a.alias is not None and a.alias.is_write for a in schema.args):
        return False
    if any(is_half(p) for p in op.properties.values()) and any(
        str(_element(v)) in ("f32", "f64") for v in op.operands
    ):
        # A dtype asked for, of wider operands: they are rounded before the op.
        return False
    if not COMPUTING.isdisjoint((name, op.overload_name)):
        return True
    return not COMPUTING_TAGS.isdisjoint(schema.tags)


def _has_fine_bounds(op: SchemaOp, rounding: str) -> bool:
    """Whether a call is the better for bounds that are no half floats: 1 - eps of logit loses
    half of its digits as f16, which later rounding makes good in eager mode only."""
    return rounding != "eager" and _stem(op) == "logit" and op.arg("eps") is not None


def _is_stepwise(op: SchemaOp) -> bool:
    """Whether torch computes this call in several steps, each rounded to the half float."""
    if op.overload_name == "pow.Tensor_Scalar":
        # Powers of f16 go through f32, those of bf16 are products of bf16.
        return _element(op.results[0]) == bf16 and op.arg("exponent") in (3, -2)
    if _stem(op) != "div" or op.schema.arg("rounding_mode") is None:
        return False
    # Kernels that are given one divisor divide by it in f32, and round what they have floored.
    return isinstance(divisor := op.arg("other"), SSAValue) and not _is_single(divisor)


def _is_single(value: SSAValue) -> bool:
    """Whether a tensor has one element, whatever its rank."""
    return isinstance(value.type, TensorType) and all(n == 1 for n in value.type.get_shape())


def _round_numbers(op: SchemaOp) -> None:
    """Numbers, and 0-d operands of another float type, in the half float of the result."""
    kind = _element(op.results[0])
    dtype = ml_dtypes.bfloat16 if kind == bf16 else np.float16
    for slot in op.slots.all:
        value = op.arg(slot.name)
        if isinstance(value, float):
            op.properties[slot.name] = encode(float(dtype(value)), slot.type)
    block = op.parent
    assert block is not None
    for place, value in enumerate(op.operands):
        if _element(value) in (f32, f64):
            assert isinstance(value.type, TensorType)
            given = TensorType(kind, value.type.get_shape())  # pyright: ignore
            rounded = _conversion(value, given, op)
            block.insert_op_before(rounded, op)
            op.operands[place] = rounded.results[0]


def _widen(op: SchemaOp) -> None:
    block = op.parent
    assert block is not None
    operands = [_converted(op, v, block) if _halves([v]) else v for v in op.operands]
    properties = {n: f32 if is_half(p) else p for n, p in op.properties.items()}
    types = [_wide_type(r.type) for r in op.results]
    wide = type(op).create(
        operands=operands,
        result_types=types,
        properties=properties,
        attributes=dict(op.attributes),
        location=op.location,
    )
    block.insert_op_before(wide, op)
    for old, new in zip(op.results, wide.results, strict=True):
        new.name_hint = old.name_hint
        if old.type == new.type:
            old.replace_all_uses_with(new)
        elif old.uses:  # gradients that an output mask leaves out have none
            rounded = _conversion(new, old.type, op)
            mark_implicit(rounded)
            block.insert_op_before(rounded, op)
            old.replace_all_uses_with(rounded.results[0])
    block.erase_op(op)


def _wide_type(kind: Attribute) -> Attribute:
    if isinstance(kind, TensorType) and is_half(kind.element_type):
        return TensorType(f32, kind.get_shape(), kind.encoding)
    return kind


def _converted(op: Operation, value: SSAValue, block: Block) -> SSAValue:
    conversion = _conversion(value, _wide_type(value.type), op)
    mark_implicit(conversion)
    block.insert_op_before(conversion, op)
    return conversion.results[0]


def _conversion(value: SSAValue, kind: Attribute, op: Operation) -> Operation:
    assert isinstance(kind, TensorType)
    dialect = aten if op.name.startswith("aten.") else core_aten
    return dialect.op("_to_copy.default")(
        value, dtype=kind.element_type, result_types=[kind], location=op.location
    )
