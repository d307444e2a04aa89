"""Arguments of example calls, where tensors of one shape and small numbers make no valid call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Like:
    """A tensor of this shape, of the dtype that is tried or of `element` (`i1`, `i64`)."""

    shape: tuple[int, ...]
    element: str | None = None


def t(*shape: int) -> Like:
    """A tensor of the dtype that is tried."""
    return Like(shape)


def i(*shape: int) -> Like:
    """A tensor of i64."""
    return Like(shape, "i64")


def mask(*shape: int) -> Like:
    """A tensor of bools."""
    return Like(shape, "i1")


Arguments = Mapping[str, Any]

_STATISTICS = {
    "weight": t(3),
    "bias": t(3),
    "running_mean": t(3),
    "running_var": t(3),
    "save_mean": t(3),
    "save_invstd": t(3),
    "save_var": t(3),
    "save_var_transform": t(3),
    "input": t(2, 3, 4),
    "grad_out": t(2, 3, 4),
    "grad_output": t(2, 3, 4),
}
_ROWS = {
    "input": t(2, 3),
    "grad_out": t(2, 3),
    "normalized_shape": [3],
    "mean": t(2, 1),
    "rstd": t(2, 1),
}
_GROUPS = {
    "input": t(2, 4, 3),
    "grad_out": t(2, 4, 3),
    "mean": t(2, 2),
    "rstd": t(2, 2),
    "N": 2,
    "C": 4,
    "HxW": 3,
    "group": 2,
}
_IMAGE = t(1, 2, 4, 4)
_VOLUME = t(1, 2, 4, 4, 4)
_GRID = {"interpolation_mode": 0, "padding_mode": 0}
_BAGS = {
    "weight": t(5, 3),
    "grad": t(2, 3),
    "indices": i(4),
    "offsets": i(2),
    "offset2bag": i(4),
    "bag_size": i(2),
    "maximum_indices": i(2),
    "num_weights": 5,
    "mode": 0,
}
_CELL = {
    "input": t(2, 3),
    "hx": t(2, 3),
    "w_hh": t(3, 3),
    "w_ih": t(3, 3),
}
_LAYERS = {
    "input": t(2, 1, 3),
    "hx": t(1, 1, 3),
    "params": [t(3, 3), t(3, 3)],
    "num_layers": 1,
    "dropout": 0.0,
}
_ATTENTION = {
    "query": t(1, 2, 3, 4),
    "key": t(1, 2, 3, 4),
    "value": t(1, 2, 3, 4),
    "grad_out": t(1, 2, 3, 4),
    "out": t(1, 2, 3, 4),
    "logsumexp": t(1, 2, 3),
    "dropout_p": 0.0,
}
_CONVOLUTIONS = {
    "input": _IMAGE,
    "self": _IMAGE,
    "weight": t(2, 2, 3, 3),
    "grad_output": t(1, 2, 2, 2),
    "kernel_size": [3, 3],
    "stride": [1, 1],
    "padding": [0, 0],
    "dilation": [1, 1],
    "output_padding": [0, 0],
    "groups": 1,
}
_CUBES = {
    "input": _VOLUME,
    "self": _VOLUME,
    "weight": t(2, 2, 3, 3, 3),
    "kernel_size": [3, 3, 3],
    "stride": [1, 1, 1],
    "padding": [0, 0, 0],
    "dilation": [1, 1, 1],
}


def _resampled(dims: int) -> Arguments:
    """Interpolation of 4 places to 8, or its gradient, along the last `dims` dimensions."""
    small, large = [1, 2, *[4] * dims], [1, 2, *[8] * dims]
    return {
        "self": t(*small),
        "input": t(*small),
        "grad_output": t(*large),
        "output_size": [8] * dims,
        "input_size": small,
    }


EXAMPLES: tuple[tuple[str, Arguments], ...] = (
    ("nll_loss2d_backward*", {"self": t(1, 2, 3, 3), "target": i(1, 3, 3), "grad_output": t(),
                              "total_weight": t()}),
    ("nll_loss2d*", {"self": t(1, 2, 3, 3), "target": i(1, 3, 3)}),
    ("kl_div*", {"self": t(2, 3), "target": t(2, 3)}),
    ("istft*", {"self": Like((3, 5), "complex<f32>"), "n_fft": 4}),
    ("arange.start_out", {"start": 0, "end": 4, "out": t(4)}),
    ("nll_loss*", {"self": t(2, 3), "target": i(2), "grad_output": t(), "total_weight": t()}),
    ("cross_entropy_loss*", {"self": t(2, 3), "target": i(2)}),
    ("multi_margin_loss*", {"self": t(2, 3), "target": i(2), "grad_output": t()}),
    ("cosine_embedding_loss*", {"input1": t(2, 3), "input2": t(2, 3), "target": t(2)}),
    ("_native_batch_norm_legit.no_stats", _STATISTICS | {"training": True}),
    ("*batch_norm*", _STATISTICS),
    ("instance_norm*", _STATISTICS | {"use_input_stats": True}),
    ("native_group_norm*", _GROUPS),
    ("*layer_norm*", _ROWS),
    ("*rms_norm*", _ROWS),
    ("*weight_norm*", {"v": t(3, 4), "g": t(3, 1), "saved_v": t(3, 4), "saved_g": t(3, 1),
                       "grad_w": t(3, 4), "saved_norms": t(3, 1)}),
    ("*grid_sampler_3d*", {"input": _VOLUME, "grid": t(1, 2, 2, 2, 3),
                           "grad_output": t(1, 2, 2, 2, 2), **_GRID}),
    ("*grid_sampler*", {"input": _IMAGE, "grid": t(1, 3, 3, 2), "grad_output": t(1, 2, 3, 3),
                        **_GRID}),
    ("affine_grid_generator*", {"theta": t(1, 2, 3), "size": [1, 2, 4, 4],
                                "grad": t(1, 4, 4, 2)}),
    ("*upsample_*1d*", _resampled(1)),
    ("*upsample_*2d*", _resampled(2)),
    ("*upsample_*3d*", _resampled(3)),
    ("*_pad1d_backward*", {"self": t(1, 2, 6), "padding": [1, 1], "grad_output": t(1, 2, 8)}),
    ("*_pad2d_backward*", {"self": _IMAGE, "padding": [1, 1, 1, 1],
                           "grad_output": t(1, 2, 6, 6)}),
    ("*_pad3d_backward*", {"self": _VOLUME, "padding": [1, 1, 1, 1, 1, 1],
                           "grad_output": t(1, 2, 6, 6, 6)}),
    ("*_pad1d*", {"self": t(1, 2, 6), "padding": [1, 1]}),
    ("*_pad2d*", {"self": _IMAGE, "padding": [1, 1, 1, 1]}),
    ("*_pad3d*", {"self": _VOLUME, "padding": [1, 1, 1, 1, 1, 1]}),
    ("*embedding_bag*", _BAGS),
    ("embedding*backward*", {"grad": t(4, 3), "grad_output": t(4, 3), "indices": i(4),
                             "num_weights": 5, "padding_idx": -1}),
    ("_thnn_differentiable_gru_cell_backward*", {
        "grad_hy": t(2, 3), "input_gates": t(2, 9), "hidden_gates": t(2, 9), "hx": t(2, 3)}),
    ("_thnn_differentiable_lstm_cell_backward*", {
        "grad_hy": t(2, 3), "grad_cy": t(2, 3), "input_gates": t(2, 12),
        "hidden_gates": t(2, 12), "cx": t(2, 3), "cy": t(2, 3)}),
    ("rnn_*_cell*", _CELL),
    ("gru_cell*", _CELL | {"w_ih": t(9, 3), "w_hh": t(9, 3)}),
    ("lstm_cell*", _CELL | {"w_ih": t(12, 3), "w_hh": t(12, 3), "hx": [t(2, 3), t(2, 3)]}),
    ("rnn_*.input", _LAYERS),
    ("gru.input", _LAYERS | {"params": [t(9, 3), t(9, 3)]}),
    ("lstm.input", _LAYERS | {"params": [t(12, 3), t(12, 3)], "hx": [t(1, 1, 3), t(1, 1, 3)]}),
    ("*scaled_dot_product_*", _ATTENTION),
    ("conv_tbc*", {"self": t(4, 1, 2), "input": t(4, 1, 2), "weight": t(1, 2, 2), "bias": t(2),
                   "pad": 0}),
    ("_convolution_mode*", _CONVOLUTIONS | {"padding": "same"}),
    ("*conv_depthwise2d*", _CONVOLUTIONS | {"weight": t(2, 1, 3, 3)}),
    ("conv_depthwise3d*", _CUBES | {"weight": t(2, 1, 3, 3, 3)}),
    ("slow_conv3d*", _CUBES),
    ("conv_transpose3d*", {"input": _VOLUME, "weight": t(2, 2, 3, 3, 3)}),
    ("slow_conv_transpose3d*", _CUBES),
    ("*conv_transpose2d*", _CONVOLUTIONS),
    ("*convolution*", _CONVOLUTIONS),
    ("_slow_conv2d*", _CONVOLUTIONS),
    ("col2im*", {"self": t(1, 8, 9), "output_size": [4, 4], "kernel_size": [2, 2],
                 "dilation": [1, 1], "padding": [0, 0], "stride": [1, 1]}),
    ("im2col*", {"self": _IMAGE, "kernel_size": [2, 2], "dilation": [1, 1], "padding": [0, 0],
                 "stride": [1, 1]}),
    ("avg_pool2d_backward*", {"self": _IMAGE, "grad_output": t(1, 2, 2, 2),
                              "padding": [0, 0]}),
    ("avg_pool3d_backward*", {"self": _VOLUME, "grad_output": t(1, 2, 2, 2, 2),
                              "padding": [0, 0, 0]}),
    ("fractional_max_pool2d_backward*", {"self": _IMAGE, "grad_output": t(1, 2, 2, 2),
                                         "indices": i(1, 2, 2, 2)}),
    ("fractional_max_pool3d_backward*", {"self": _VOLUME, "grad_output": t(1, 2, 2, 2, 2),
                                         "indices": i(1, 2, 2, 2, 2)}),
    ("fractional_max_pool2d*", {"self": _IMAGE, "random_samples": t(1, 2, 2)}),
    ("fractional_max_pool3d*", {"self": _VOLUME, "random_samples": t(1, 2, 3)}),
    ("*cdist_backward*", {"grad": t(2, 3), "x1": t(2, 4), "x2": t(3, 4), "p": 2.0,
                          "cdist": t(2, 3)}),
    ("_euclidean_dist*", {"x1": t(2, 4), "x2": t(3, 4)}),
    ("_pdist_backward*", {"grad": t(3), "self": t(3, 2), "p": 2.0, "pdist": t(3)}),
    ("_compute_linear_combination*", {"input": t(3, 2), "coefficients": t(2, 3)}),
    ("_foreach_mm*", {"self": [t(2, 3)], "mat2": [t(3, 2)]}),
    ("*addbmm*", {"self": t(3, 3), "batch1": t(2, 3, 3), "batch2": t(2, 3, 3)}),
    ("baddbmm*", {"self": t(2, 3, 3), "batch1": t(2, 3, 3), "batch2": t(2, 3, 3)}),
    ("bmm*", {"self": t(2, 3, 3), "mat2": t(2, 3, 3)}),
    ("addmv*", {"self": t(2), "mat": t(2, 3), "vec": t(3)}),
    ("mv*", {"self": t(2, 3), "vec": t(3)}),
    ("bilinear*", {"input1": t(2, 3), "input2": t(2, 4), "weight": t(2, 3, 4)}),
    ("_fake_quantize_learnable_per_channel*", {"scale": t(3), "zero_point": t(3), "axis": 1,
                                               "quant_max": 5}),
    ("_fake_quantize_learnable_per_tensor*", {"scale": t(1), "zero_point": t(1), "quant_max": 5}),
    ("fake_quantize_per_channel_affine*", {"scale": Like((3,), "f32"), "axis": 1,
                                           "zero_point": Like((3,), "i32"), "quant_max": 5}),
    ("*fake_quantize_per_tensor_affine*", {"scale": Like((1,), "f32"), "quant_max": 5,
                                           "zero_point": Like((1,), "i32"),
                                           "fake_quant_enabled": i(1)}),
    ("glu_backward.default", {"grad_output": t(2, 3), "self": t(2, 6), "dim": 1}),
    ("glu_*", {"glu": t(2, 3), "grad_glu": t(2, 3), "dgrad_glu": t(2, 3), "grad_x": t(2, 6),
               "x": t(2, 6), "dx": t(2, 6), "dim": 1}),
    ("gradient.tensorarray*", {"self": t(4), "spacing": [t(4)], "dim": [0]}),
    ("*histogramdd*", {"self": t(4, 1), "bins": [t(3)]}),
    ("diagonal_scatter*", {"self": t(3, 3), "src": t(3), "dim1": 0, "dim2": 1}),
    ("diagonal_backward*", {"grad_output": t(3), "input_sizes": [3, 3], "offset": 0,
                            "dim1": 0, "dim2": 1}),
    ("select_scatter*", {"self": t(2, 3), "src": t(3), "dim": 0, "index": 1}),
    ("select_backward*", {"grad_output": t(3), "input_sizes": [2, 3]}),
    ("slice_backward*", {"grad_output": t(1, 3), "input_sizes": [2, 3], "start": 0, "end": 1}),
    ("unfold_backward*", {"grad_in": t(2, 2), "input_sizes": [4], "size": 2, "step": 2}),
    ("index_select_backward*", {"grad": t(2, 3), "self_sizes": [4, 3], "index": i(2)}),
    ("index_reduce*", {"self": t(4, 3), "index": i(2), "source": t(2, 3), "reduce": "prod"}),
    ("gather_backward*", {"grad": t(2, 3), "self": t(2, 3), "index": i(2, 3)}),
    ("trace_backward*", {"grad": t(), "sizes": [3, 3]}),
    ("value_selecting_reduction_backward*", {"grad": t(3), "indices": i(3), "sizes": [2, 3]}),
    ("masked_scatter_backward*", {"mask": mask(2, 3), "sizes": [6]}),
    ("masked_fill.Tensor", {"self": t(2, 3), "mask": mask(2, 3), "value": t()}),
    ("as_strided_scatter*", {"self": t(2, 3), "src": t(2), "size": [2], "stride": [3]}),
    ("_reshape_alias*", {"self": t(2, 3), "size": [3, 2], "stride": [2, 1]}),
    ("*reshape*", {"self": t(2, 3), "size": [3, 2], "shape": [3, 2]}),
    ("*view.default", {"self": t(2, 3), "size": [3, 2]}),
    ("view_copy.default", {"self": t(2, 3), "size": [3, 2]}),
    ("view_as_complex*", {"self": t(3, 2)}),
    ("sum_to_size*", {"self": t(2, 3), "size": [1, 3]}),
    ("scatter_reduce*", {"index": i(2, 3), "reduce": "sum"}),
    ("scatter.*reduce", {"index": i(2, 3), "reduce": "add"}),
    ("segment_reduce*", {"data": t(4), "reduce": "sum", "lengths": i(2)}),
    ("_segment_reduce_backward*", {"grad": t(2), "output": t(2), "data": t(4), "reduce": "sum",
                                   "lengths": i(2)}),
    ("meshgrid*", {"tensors": [t(2), t(3)], "indexing": "ij"}),
    ("einsum*", {"equation": "ij,jk->ik", "tensors": [t(2, 3), t(3, 2)]}),
    ("linalg_norm.ord_str", {"self": t(3, 3), "ord": "fro"}),
    ("linalg_cond.p_str", {"self": t(3, 3), "p": "fro"}),
    ("linalg_tensorsolve*", {"self": t(3, 3), "other": t(3)}),
    ("nuclear_norm.dim", {"self": t(3, 3), "dim": [0, 1]}),
    ("stft*", {"self": t(16), "n_fft": 4, "return_complex": True, "pad_mode": "reflect"}),
    ("pad_sequence*", {"sequences": [t(2), t(3)], "padding_side": "right"}),
    ("one_hot*", {"self": i(4), "num_classes": 5}),
    ("bucketize.Scalar", {"boundaries": t(4)}),
    ("searchsorted.Scalar", {"sorted_sequence": t(4)}),
    ("narrow.Tensor", {"self": t(2, 3), "start": i(), "length": 1}),
    ("tensor_split.tensor*", {"self": t(4), "tensor_indices_or_sections": i(2)}),
    ("repeat_interleave.self_Tensor", {"self": t(4), "repeats": i(4), "output_size": 6}),
    ("rand*.low*", {"low": 0, "high": 5}),
    ("random.from", {"from": 0, "to": 5}),
    ("randint_like.Tensor*", {"high": i()}),
    ("_assert_async*", {"self": t(), "assert_msg": "failed"}),
    ("_batch_norm_impl_index_backward*", {"reservedSpace": Like((0,), "ui8")}),
)  # fmt: skip
"""Overload names (* stands for anything), and arguments by name; the first row that fits holds."""


@cache
def given_arguments(overload: str) -> Arguments:
    """What the table says of an overload's arguments; nothing if it has no row."""
    return next((row for pattern, row in EXAMPLES if fnmatchcase(overload, pattern)), {})


RESULTS: tuple[tuple[str, tuple[Like, ...]], ...] = (
    ("embedding_bag.*", (t(2, 3), i(0), i(2), i(2))),
    ("_embedding_bag.default", (t(2, 3), i(0), i(2), i(2))),
    ("_embedding_bag_forward_only.default", (t(2, 3), i(0), i(2), i(2))),
)
"""Results of examples where the result rule leaves a size open that an exported program knows."""


@cache
def given_results(overload: str) -> tuple[Like, ...] | None:
    """What the table says of the results of an overload's example."""
    return next((row for pattern, row in RESULTS if fnmatchcase(overload, pattern)), None)
