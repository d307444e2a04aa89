"""The named ops of MLIR's `linalg`: their names, by how their text differs."""

from __future__ import annotations

from lamina.dialects.records import record

UNARY = (
    "abs",
    "ceil",
    "erf",
    "exp",
    "floor",
    "log",
    "negf",
    "reciprocal",
    "round",
    "rsqrt",
    "sqrt",
    "square",
    "tanh",
)
"""Functions of one element."""

BINARY = ("add", "div", "div_unsigned", "max", "min", "mul", "powf", "sub")
"""Functions of two elements."""

CONTRACTIONS = (
    "batch_matmul",
    "batch_matmul_transpose_a",
    "batch_matmul_transpose_b",
    "batch_matvec",
    "batch_mmt4d",
    "batch_reduce_matmul",
    "batch_vecmat",
    "contract",
    "dot",
    "matmul",
    "matmul_transpose_a",
    "matmul_transpose_b",
    "matvec",
    "mmt4d",
    "quantized_batch_matmul",
    "quantized_matmul",
    "vecmat",
)
"""Sums of products."""

CONVOLUTIONS = (
    "conv_1d",
    "conv_1d_ncw_fcw",
    "conv_1d_nwc_wcf",
    "conv_2d",
    "conv_2d_nchw_fchw",
    "conv_2d_nchw_fchw_q",
    "conv_2d_ngchw_fgchw",
    "conv_2d_ngchw_gfchw",
    "conv_2d_ngchw_gfchw_q",
    "conv_2d_nhwc_fhwc",
    "conv_2d_nhwc_fhwc_q",
    "conv_2d_nhwc_hwcf",
    "conv_2d_nhwc_hwcf_q",
    "conv_2d_nhwgc_gfhwc",
    "conv_2d_nhwgc_gfhwc_q",
    "conv_3d",
    "conv_3d_ncdhw_fcdhw",
    "conv_3d_ndhwc_dhwcf",
    "conv_3d_ndhwc_dhwcf_q",
    "depthwise_conv_1d_ncw_cw",
    "depthwise_conv_1d_nwc_wc",
    "depthwise_conv_1d_nwc_wcm",
    "depthwise_conv_2d_nchw_chw",
    "depthwise_conv_2d_nhwc_hwc",
    "depthwise_conv_2d_nhwc_hwc_q",
    "depthwise_conv_2d_nhwc_hwcm",
    "depthwise_conv_2d_nhwc_hwcm_q",
    "depthwise_conv_3d_ncdhw_cdhw",
    "depthwise_conv_3d_ndhwc_dhwc",
    "depthwise_conv_3d_ndhwc_dhwcm",
)
"""Sums of products of windows and weights; `_q` with zero points."""

POOLINGS = tuple(
    f"pooling_{layout}_{kind}"
    for layout, kinds in (
        ("nhwc", ("sum", "max", "max_unsigned", "min", "min_unsigned")),
        ("nchw", ("sum", "max")),
        ("nwc", ("sum", "max", "max_unsigned", "min", "min_unsigned")),
        ("ncw", ("sum", "max")),
        ("ndhwc", ("sum", "max", "min")),
    )
    for kind in kinds
)
"""Sums and extremes of windows."""

OTHERS = ("copy", "elementwise", "fill", "fill_rng_2d", "select", "softmax")
"""What is of no family."""

NAMED = (
    *UNARY,
    *BINARY,
    *CONTRACTIONS,
    *CONVOLUTIONS,
    *POOLINGS,
    *OTHERS,
    "broadcast",
    "map",
    "reduce",
    "transpose",
)
"""All that are known."""


@record
class Form:
    """How the text of an op differs from the common form."""

    payload: str | None = None
    """How a body that is one op takes its operands: `inputs`, or `init first`."""
    behind: str | None = None
    """The list that stands behind `outs`, as `permutation = [1, 0]`."""
    arrow: bool = True
    """Whether the types of the results stand in the text."""
    is_generic: bool = False


FORMS: dict[str, Form] = {
    "linalg.generic": Form(is_generic=True),
    "linalg.map": Form(payload="inputs", arrow=False),
    "linalg.reduce": Form(payload="init first", behind="dimensions", arrow=False),
    "linalg.broadcast": Form(behind="dimensions", arrow=False),
    "linalg.transpose": Form(behind="permutation", arrow=False),
}
"""Ops whose text differs."""
