"""Rules of pointwise ops, views, reductions and products: what `rule_table` puts together.

Each `module:function`, and the overloads whose results it gives.
"""

from __future__ import annotations

TENSORS: dict[str, str] = {
    "pointwise:floating": """
        deg2rad ldexp.Tensor mvlgamma polygamma rad2deg special_chebyshev_polynomial_t.n_scalar
        special_chebyshev_polynomial_t.x_scalar special_chebyshev_polynomial_u.n_scalar
        special_chebyshev_polynomial_u.x_scalar special_chebyshev_polynomial_v.n_scalar
        special_chebyshev_polynomial_v.x_scalar special_chebyshev_polynomial_w.n_scalar
        special_chebyshev_polynomial_w.x_scalar special_entr special_hermite_polynomial_h.n_scalar
        special_hermite_polynomial_h.x_scalar special_hermite_polynomial_he.n_scalar
        special_hermite_polynomial_he.x_scalar special_laguerre_polynomial_l.n_scalar
        special_laguerre_polynomial_l.x_scalar special_legendre_polynomial_p.n_scalar
        special_legendre_polynomial_p.x_scalar special_log_ndtr special_multigammaln special_ndtr
        special_polygamma special_shifted_chebyshev_polynomial_t
        special_shifted_chebyshev_polynomial_t.n_scalar
        special_shifted_chebyshev_polynomial_t.x_scalar special_shifted_chebyshev_polynomial_u
        special_shifted_chebyshev_polynomial_u.n_scalar
        special_shifted_chebyshev_polynomial_u.x_scalar special_shifted_chebyshev_polynomial_v
        special_shifted_chebyshev_polynomial_v.n_scalar
        special_shifted_chebyshev_polynomial_v.x_scalar special_shifted_chebyshev_polynomial_w
        special_shifted_chebyshev_polynomial_w.n_scalar
        special_shifted_chebyshev_polynomial_w.x_scalar special_xlog1py special_xlog1py.other_scalar
        special_xlog1py.self_scalar special_xlogy special_xlogy.other_scalar
        special_xlogy.self_scalar special_zeta.other_scalar special_zeta.self_scalar
        xlogy.Scalar_Other xlogy.Scalar_Self xlogy.Tensor""",
    "pointwise:boolean": "isclose isreal",
    "pointwise:integral": """
        bitwise_and.Scalar_Tensor bitwise_or.Scalar_Tensor bitwise_xor.Scalar_Tensor lcm""",
    "pointwise:promoting": """
        _add_relu.Scalar _add_relu.Tensor floor_divide floor_divide.Scalar hardswish sgn
        special_round""",
    "pointwise:subtraction": "rsub.Scalar rsub.Tensor",
    "pointwise:real_floating": "angle",
    "pointwise:double": "float_power.Scalar float_power.Tensor_Scalar float_power.Tensor_Tensor",
    "pointwise:square": "square",
    "pointwise:frexp": "frexp.Tensor",
    "pointwise:where": "where.Scalar where.ScalarOther where.ScalarSelf where.self",
    "pointwise:masked_fill": "masked_fill.Scalar masked_fill.Tensor",
    "pointwise:complex_from_parts": "complex polar",
    "pointwise:prelu": "_prelu_kernel prelu",
    "pointwise:condition_shape": """
        bucketize.Scalar bucketize.Tensor searchsorted.Scalar searchsorted.Tensor""",
    "pointwise:same": """
        _conj _fw_primal _lazy_clone _neg_view _standard_gamma alias alpha_dropout bernoulli
        bernoulli.Tensor bernoulli.p binomial cauchy celu clone conj conj_physical contiguous
        detach elu exponential fake_quantize_per_channel_affine fake_quantize_per_tensor_affine
        feature_alpha_dropout fft_fftshift fft_ifftshift fill.Scalar fill.Tensor gelu geometric
        hardshrink hardsigmoid hardtanh leaky_relu lift lift_fresh log_normal log_sigmoid mish
        msort nan_to_num normal_functional pin_memory poisson positive random random.from
        random.to relu relu6 resolve_conj resolve_neg rrelu rrelu_with_noise selu silu softplus
        softshrink threshold uniform zero""",
    "conversions:to_dtype": "_to_copy to.device to.dtype to.dtype_layout",
    "conversions:to_other": "to.other type_as",
    "conversions:copy": "copy",
    "conversions:cast_byte": "_cast_Byte",
    "conversions:cast_char": "_cast_Char",
    "conversions:cast_double": "_cast_Double",
    "conversions:cast_float": "_cast_Float",
    "conversions:cast_half": "_cast_Half",
    "conversions:cast_int": "_cast_Int",
    "conversions:cast_long": "_cast_Long",
    "conversions:cast_short": "_cast_Short",
    "conversions:chalf": "chalf",
    "conversions:view_as_real": "view_as_real",
    "conversions:view_as_complex": "view_as_complex",
    "conversions:real_part": "real",
    "conversions:imaginary_part": "imag",
    "views:view": "_reshape_alias _reshape_copy _unsafe_view reshape view",
    "views:view_as": "reshape_as view_as",
    "views:view_dtype": "view.dtype",
    "views:permute": "permute",
    "views:transpose": "swapaxes swapdims transpose.int",
    "views:transpose_2d": "t",
    "views:reversed_dims": "numpy_T",
    "views:matrix_transpose": "adjoint mH mT matrix_H",
    "views:movedim": "moveaxis.int moveaxis.intlist movedim.int movedim.intlist",
    "views:unsqueeze": "unsqueeze",
    "views:squeeze": "squeeze squeeze.dim squeeze.dims",
    "views:expand": "broadcast_to expand",
    "views:expand_as": "expand_as",
    "views:broadcast_tensors": "broadcast_tensors",
    "views:repeat": "repeat",
    "views:tile": "tile",
    "views:slice_dim": "slice.Tensor",
    "views:narrow": "narrow narrow.Tensor",
    "views:select": "select.int",
    "views:flatten": "flatten.using_ints",
    "views:ravel": "ravel",
    "views:unflatten": "unflatten.int",
    "views:as_strided": "as_strided",
    "views:diagonal": "diagonal",
    "views:linalg_diagonal": "linalg_diagonal",
    "views:unfold": "unfold",
    "views:atleast_1d": "atleast_1d atleast_1d.Sequence",
    "views:atleast_2d": "atleast_2d atleast_2d.Sequence",
    "views:atleast_3d": "atleast_3d atleast_3d.Sequence",
    "views:sum_to_size": "sum_to_size",
    "parts:split": "split.Tensor unsafe_split.Tensor",
    "parts:split_with_sizes": "split.sizes split_with_sizes unsafe_split_with_sizes",
    "parts:chunk": "chunk unsafe_chunk",
    "parts:unbind": "unbind.int",
    "parts:tensor_split": "tensor_split.indices tensor_split.sections",
    "parts:hsplit": "hsplit.array hsplit.int",
    "parts:vsplit": "vsplit.array vsplit.int",
    "parts:dsplit": "dsplit.array dsplit.int",
    "parts:cat": "cat concat concatenate",
    "parts:stack": "_stack stack",
    "parts:hstack": "hstack",
    "parts:vstack": "row_stack vstack",
    "parts:dstack": "dstack",
    "parts:column_stack": "column_stack",
    "parts:block_diag": "block_diag",
    "parts:meshgrid": "meshgrid meshgrid.indexing",
    "parts:cartesian_prod": "cartesian_prod",
    "arrangement:triangle": "tril triu",
    "arrangement:flip": "flip",
    "arrangement:roll": "roll",
    "arrangement:rot90": "rot90",
    "arrangement:diag": "diag",
    "arrangement:diagflat": "diagflat",
    "arrangement:diag_embed": "diag_embed",
    "arrangement:repeat_interleave": "repeat_interleave.self_Tensor repeat_interleave.self_int",
    "arrangement:repeat_indices": "repeat_interleave.Tensor",
    "arrangement:left_right": "fliplr",
    "arrangement:up_down": "flipud",
    "reductions:total": "nansum prod prod.dim_int sum sum.dim_IntList",
    "reductions:mean": "mean mean.dim nanmean",
    "reductions:extreme": "amax amin max min",
    "reductions:median_of_all": "median nanmedian",
    "reductions:extremes": "aminmax",
    "reductions:extreme_and_index": "kthvalue max.dim median.dim min.dim mode nanmedian.dim",
    "reductions:index_of_extreme": "argmax argmin",
    "reductions:truth": "all all.dim all.dims any any.dim any.dims",
    "reductions:bool_of_all": "_is_all_true _is_any_true",
    "reductions:counted": "count_nonzero count_nonzero.dim_IntList",
    "reductions:spread": "std std.correction std.dim var var.correction var.dim",
    "reductions:spread_and_mean": """
        std_mean std_mean.correction std_mean.dim var_mean var_mean.correction var_mean.dim""",
    "reductions:norm": """
        frobenius_norm.dim linalg__powsum linalg_norm linalg_norm.ord_str linalg_vector_norm
        norm.Scalar
        norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype norm.ScalarOpt_dtype nuclear_norm
        nuclear_norm.dim""",
    "reductions:matrix_norm": "linalg_matrix_norm linalg_matrix_norm.str_ord",
    "reductions:logsumexp": "logsumexp special_logsumexp",
    "reductions:scan": "cumprod cumsum",
    "reductions:scan_same": "_logcumsumexp logcumsumexp",
    "reductions:scan_and_index": "cummax cummin sort sort.stable",
    "reductions:order": "argsort argsort.stable",
    "reductions:top": "topk",
    "reductions:softmax": """
        _safe_softmax log_softmax.int softmax.int special_log_softmax special_softmax""",
    "reductions:softmax_to_float": "_log_softmax _softmax",
    "reductions:diff": "diff",
    "reductions:trapezoid": "trapezoid.dx trapezoid.x trapz.dx trapz.x",
    "reductions:cumulative_trapezoid": "cumulative_trapezoid.dx cumulative_trapezoid.x",
    "reductions:quantile": "nanquantile nanquantile.scalar quantile quantile.scalar",
    "reductions:trace": "trace",
    "reductions:number": "_local_scalar_dense item",
    "reductions:dist": "dist",
    "reductions:norm_of_all": "native_norm",
    "statistics:histc": "histc",
    "statistics:histogram_counts": """
        _histogramdd_from_bin_cts _histogramdd_from_bin_tensors""",
    "statistics:histogram_edges": "_histogramdd_bin_edges",
    "statistics:histogram_of_rows": """
        histogramdd histogramdd.TensorList_bins histogramdd.int_bins""",
    "statistics:histogram": "histogram.bin_ct histogram.bins_tensor",
    "statistics:unique": "_unique2",
    "statistics:unique_consecutive": "unique_consecutive",
    "statistics:unique_dim": "unique_dim",
    "statistics:row_starts": "_convert_indices_from_coo_to_csr",
    "statistics:segment_reduce": "segment_reduce",
    "statistics:gradient": """
        gradient.array gradient.scalararray gradient.scalarint gradient.scalarrayarray
        gradient.scalarrayint gradient.tensorarray gradient.tensorarrayint""",
    "statistics:combinations": "combinations",
    "statistics:hash_of_elements": "hash_tensor",
    "statistics:embedding_bag": """
        _embedding_bag _embedding_bag_forward_only embedding_bag""",
    "statistics:embedding_bag_counted": "embedding_bag.padding_idx",
    "statistics:fake_quantize_mask": """
        fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine_cachemask""",
    "statistics:chunk_cat": "_chunk_cat",
    "statistics:half_of_dim": "glu",
    "matmul:matmul": "linalg_matmul matmul",
    "matmul:mm": "mm mm.dtype",
    "matmul:grouped": "_grouped_mm",
    "matmul:int_mm": "_int_mm",
    "matmul:bmm": "bmm bmm.dtype",
    "matmul:mv": "mv",
    "matmul:dot": "dot vdot",
    "matmul:addmm": "_addmm_activation addmm addmm.dtype",
    "matmul:addmv": "addmv",
    "matmul:baddbmm": "baddbmm baddbmm.dtype",
    "matmul:addbmm": "addbmm",
    "matmul:addr": "addr",
    "matmul:outer": "ger outer",
    "matmul:linear": "linear",
    "matmul:bilinear": "bilinear",
    "matmul:inner": "inner",
    "matmul:kron": "kron",
    "matmul:tensordot": "tensordot",
    "matmul:chain": "chain_matmul linalg_multi_dot",
    "matmul:vecdot": "linalg_vecdot",
    "matmul:einsum": "einsum",
}
