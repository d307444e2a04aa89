"""Which rule gives the result types of which overload.

Pointwise overloads that promote their operands are not listed (the fallback serves them); nor are
in-place, `out=` and `_copy` variants, which follow the overload they are variants of.
"""

from __future__ import annotations

_ATEN: dict[str, str] = {
    # Elementwise
    "pointwise:floating": """
        acos acosh asin asinh atan atan2 atanh cos cosh deg2rad digamma div.Scalar div.Tensor erf
        erfc erfinv exp exp2 expm1 i0 igamma igammac ldexp.Tensor lgamma log log10 log1p log2 logit
        mvlgamma polygamma rad2deg reciprocal rsqrt sigmoid sin sinc sinh special_airy_ai
        special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_digamma
        special_entr special_erf special_erfc special_erfcx special_erfinv special_exp2
        special_expit special_expm1 special_gammaln special_i0 special_i0e special_i1 special_i1e
        special_log1p special_log_ndtr special_logit special_modified_bessel_i0
        special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
        special_multigammaln special_ndtr special_ndtri special_polygamma special_psi
        special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_sinc
        special_spherical_bessel_j0 sqrt tan tanh true_divide.Scalar true_divide.Tensor
        divide.Scalar divide.Tensor arccos arccosh arcsin arcsinh arctan arctan2 arctanh
        xlogy.Tensor xlogy.Scalar_Self xlogy.Scalar_Other special_xlogy special_xlogy.self_scalar
        special_xlogy.other_scalar special_xlog1py special_xlog1py.self_scalar
        special_xlog1py.other_scalar special_zeta special_zeta.self_scalar special_zeta.other_scalar
        copysign.Tensor copysign.Scalar special_chebyshev_polynomial_t
        special_chebyshev_polynomial_t.n_scalar special_chebyshev_polynomial_t.x_scalar
        special_chebyshev_polynomial_u special_chebyshev_polynomial_u.n_scalar
        special_chebyshev_polynomial_u.x_scalar special_chebyshev_polynomial_v
        special_chebyshev_polynomial_v.n_scalar special_chebyshev_polynomial_v.x_scalar
        special_chebyshev_polynomial_w special_chebyshev_polynomial_w.n_scalar
        special_chebyshev_polynomial_w.x_scalar special_hermite_polynomial_h
        special_hermite_polynomial_h.n_scalar special_hermite_polynomial_h.x_scalar
        special_hermite_polynomial_he special_hermite_polynomial_he.n_scalar
        special_hermite_polynomial_he.x_scalar special_laguerre_polynomial_l
        special_laguerre_polynomial_l.n_scalar special_laguerre_polynomial_l.x_scalar
        special_legendre_polynomial_p special_legendre_polynomial_p.n_scalar
        special_legendre_polynomial_p.x_scalar special_shifted_chebyshev_polynomial_t
        special_shifted_chebyshev_polynomial_t.n_scalar
        special_shifted_chebyshev_polynomial_t.x_scalar special_shifted_chebyshev_polynomial_u
        special_shifted_chebyshev_polynomial_u.n_scalar
        special_shifted_chebyshev_polynomial_u.x_scalar special_shifted_chebyshev_polynomial_v
        special_shifted_chebyshev_polynomial_v.n_scalar
        special_shifted_chebyshev_polynomial_v.x_scalar special_shifted_chebyshev_polynomial_w
        special_shifted_chebyshev_polynomial_w.n_scalar
        special_shifted_chebyshev_polynomial_w.x_scalar""",
    "pointwise:boolean": """
        eq.Scalar eq.Tensor ne.Scalar ne.Tensor lt.Scalar lt.Tensor le.Scalar le.Tensor gt.Scalar
        gt.Tensor ge.Scalar ge.Tensor not_equal.Scalar not_equal.Tensor less.Scalar less.Tensor
        less_equal.Scalar less_equal.Tensor greater.Scalar greater.Tensor greater_equal.Scalar
        greater_equal.Tensor isfinite isinf isnan isneginf isposinf isreal isclose logical_and
        logical_not logical_or logical_xor signbit""",
    "pointwise:integral": """
        __and__.Scalar __and__.Tensor __or__.Scalar __or__.Tensor __xor__.Scalar __xor__.Tensor
        bitwise_and.Scalar bitwise_and.Scalar_Tensor bitwise_and.Tensor bitwise_not
        bitwise_or.Scalar bitwise_or.Scalar_Tensor bitwise_or.Tensor bitwise_xor.Scalar
        bitwise_xor.Scalar_Tensor bitwise_xor.Tensor gcd lcm""",
    "pointwise:promoting": """
        floor_divide floor_divide.Scalar multiply.Tensor multiply.Scalar hardswish fix clip.Tensor
        clip fmax fmin sgn arctan2""",
    "pointwise:number_like": "neg negative",
    "pointwise:subtraction": """
        sub.Tensor sub.Scalar subtract.Tensor subtract.Scalar rsub.Tensor rsub.Scalar""",
    "pointwise:real": "abs absolute",
    "pointwise:real_floating": "angle",
    "pointwise:division_with_mode": """
        div.Tensor_mode div.Scalar_mode divide.Tensor_mode divide.Scalar_mode""",
    "pointwise:double": "float_power.Scalar float_power.Tensor_Scalar float_power.Tensor_Tensor",
    "pointwise:square": "square",
    "pointwise:frexp": "frexp.Tensor",
    "pointwise:where": "where.self where.Scalar where.ScalarSelf where.ScalarOther",
    "pointwise:masked_fill": "masked_fill.Scalar masked_fill.Tensor",
    "pointwise:complex_from_parts": "complex polar",
    "pointwise:prelu": "prelu _prelu_kernel",
    "pointwise:condition_shape": """
        bucketize.Tensor bucketize.Scalar searchsorted.Tensor searchsorted.Scalar""",
    "pointwise:same": """
        alias alpha_dropout bernoulli bernoulli.p bernoulli.Tensor cauchy celu clone contiguous
        detach _conj conj conj_physical _neg_view resolve_conj resolve_neg elu exponential
        feature_alpha_dropout geometric hardshrink hardsigmoid hardtanh leaky_relu lift lift_fresh
        log_normal log_sigmoid matrix_exp linalg_matrix_exp linalg_matrix_power matrix_power mish
        normal_functional nan_to_num pin_memory positive random random.from random.to relu6 rrelu
        rrelu_with_noise selu silu softplus softshrink threshold uniform zero fill.Scalar
        fill.Tensor fft_fftshift fft_ifftshift fake_quantize_per_tensor_affine
        fake_quantize_per_channel_affine msort inverse linalg_inv cholesky linalg_cholesky
        cholesky_inverse gelu relu _fw_primal""",
    # Copies and conversions
    "conversions:to_dtype": "to.dtype to.device to.dtype_layout _to_copy",
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
    # Views
    "views:view": "view reshape _unsafe_view _reshape_alias",
    "views:view_as": "view_as reshape_as",
    "views:view_dtype": "view.dtype",
    "views:permute": "permute",
    "views:transpose": "transpose.int swapaxes swapdims",
    "views:transpose_2d": "t",
    "views:reversed_dims": "numpy_T ",
    "views:matrix_transpose": "mT mH adjoint matrix_H",
    "views:movedim": "movedim.int movedim.intlist moveaxis.int moveaxis.intlist",
    "views:unsqueeze": "unsqueeze",
    "views:squeeze": "squeeze squeeze.dim squeeze.dims",
    "views:expand": "expand broadcast_to",
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
    "views:unfold_backward": "unfold_backward",
    "views:atleast_1d": "atleast_1d atleast_1d.Sequence",
    "views:atleast_2d": "atleast_2d atleast_2d.Sequence",
    "views:atleast_3d": "atleast_3d atleast_3d.Sequence",
    "views:sum_to_size": "sum_to_size",
    # Cutting up and putting together
    "parts:split": "split.Tensor unsafe_split.Tensor",
    "parts:split_with_sizes": "split_with_sizes split.sizes unsafe_split_with_sizes",
    "parts:chunk": "chunk unsafe_chunk",
    "parts:unbind": "unbind.int",
    "parts:tensor_split": "tensor_split.sections tensor_split.indices",
    "parts:hsplit": "hsplit.int hsplit.array",
    "parts:vsplit": "vsplit.int vsplit.array",
    "parts:dsplit": "dsplit.int dsplit.array",
    "parts:cat": "cat concat concatenate",
    "parts:stack": "stack _stack",
    "parts:hstack": "hstack",
    "parts:vstack": "vstack row_stack",
    "parts:dstack": "dstack",
    "parts:column_stack": "column_stack",
    "parts:block_diag": "block_diag",
    "parts:meshgrid": "meshgrid meshgrid.indexing",
    "parts:cartesian_prod": "cartesian_prod",
    # Reductions
    "reductions:total": "sum sum.dim_IntList prod prod.dim_int nansum",
    "reductions:mean": "mean mean.dim nanmean",
    "reductions:extreme": "amax amin max min",
    "reductions:median_of_all": "median nanmedian",
    "reductions:extremes": "aminmax",
    "reductions:extreme_and_index": """
        max.dim min.dim median.dim nanmedian.dim mode kthvalue""",
    "reductions:index_of_extreme": "argmax argmin",
    "reductions:truth": "any any.dim any.dims all all.dim all.dims",
    "reductions:bool_of_all": "_is_all_true _is_any_true",
    "reductions:counted": "count_nonzero count_nonzero.dim_IntList",
    "reductions:spread": "var var.dim var.correction std std.dim std.correction",
    "reductions:spread_and_mean": """
        var_mean var_mean.dim var_mean.correction std_mean std_mean.dim std_mean.correction""",
    "reductions:norm": """
        norm.Scalar norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype norm.ScalarOpt_dtype
        linalg_vector_norm linalg_norm linalg_norm.ord_str frobenius_norm.dim nuclear_norm
        nuclear_norm.dim""",
    "reductions:matrix_norm": "linalg_matrix_norm linalg_matrix_norm.str_ord",
    "reductions:logsumexp": "logsumexp special_logsumexp",
    "reductions:scan": "cumsum cumprod",
    "reductions:scan_same": "logcumsumexp _logcumsumexp",
    "reductions:scan_and_index": "cummax cummin sort sort.stable",
    "reductions:order": "argsort argsort.stable",
    "reductions:top": "topk",
    "reductions:softmax": """
        softmax.int log_softmax.int special_softmax special_log_softmax _safe_softmax""",
    "reductions:softmax_to_float": "_softmax _log_softmax",
    "reductions:diff": "diff",
    "reductions:trapezoid": "trapezoid.dx trapezoid.x trapz.dx trapz.x",
    "reductions:cumulative_trapezoid": "cumulative_trapezoid.dx cumulative_trapezoid.x",
    "reductions:quantile": "quantile quantile.scalar nanquantile nanquantile.scalar",
    "reductions:trace": "trace",
    "reductions:number": "item _local_scalar_dense",
    "reductions:dist": "dist",
    # Products
    "matmul:matmul": "matmul linalg_matmul",
    "matmul:mm": "mm mm.dtype",
    "matmul:int_mm": "_int_mm",
    "matmul:bmm": "bmm bmm.dtype",
    "matmul:mv": "mv",
    "matmul:dot": "dot vdot",
    "matmul:addmm": "addmm addmm.dtype _addmm_activation",
    "matmul:addmv": "addmv",
    "matmul:baddbmm": "baddbmm baddbmm.dtype",
    "matmul:addbmm": "addbmm",
    "matmul:addr": "addr",
    "matmul:outer": "outer ger",
    "matmul:linear": "linear",
    "matmul:bilinear": "bilinear",
    "matmul:inner": "inner",
    "matmul:kron": "kron",
    "matmul:tensordot": "tensordot",
    "matmul:chain": "linalg_multi_dot chain_matmul",
    "matmul:vecdot": "linalg_vecdot",
    "matmul:einsum": "einsum",
    # Normalization
    "normalization:layer_norm": "layer_norm",
    "normalization:native_layer_norm": "native_layer_norm",
    "normalization:rms_norm": "rms_norm",
    "normalization:fused_rms_norm": "_fused_rms_norm",
    "normalization:batch_norm": "batch_norm",
    "normalization:instance_norm": "instance_norm",
    "normalization:batch_norm_inference": "_native_batch_norm_legit_no_training",
    "normalization:native_batch_norm": """
        native_batch_norm _native_batch_norm_legit _native_batch_norm_legit.no_stats""",
    "normalization:native_batch_norm_functional": "_native_batch_norm_legit_functional",
    "normalization:batch_norm_with_update": "_batch_norm_with_update",
    "normalization:batch_norm_with_update_functional": "_batch_norm_with_update_functional",
    "normalization:batch_norm_no_update": "_batch_norm_no_update",
    "normalization:group_norm": "group_norm",
    "normalization:native_group_norm": "native_group_norm",
    "normalization:dropout": "dropout feature_dropout",
    "normalization:native_dropout": "native_dropout",
    "normalization:weight_norm": "_weight_norm",
    "normalization:weight_norm_interface": "_weight_norm_interface",
    # Indexing
    "indexing:embedding": "embedding",
    "indexing:embedding_renorm": "embedding_renorm",
    "indexing:index_select": "index_select",
    "indexing:gather": "gather",
    "indexing:take_along_dim": "take_along_dim",
    "indexing:scatter": """
        scatter.src scatter.value scatter.reduce scatter.value_reduce scatter_add scatter_reduce.two""",
    "indexing:along_dim": """
        index_add index_copy index_fill.int_Scalar index_fill.int_Tensor index_reduce""",
    "indexing:index": "index.Tensor _unsafe_index.Tensor",
    "indexing:index_put": "index_put _unsafe_index_put _index_put_impl",
    "indexing:masked_index": "_unsafe_masked_index",
    "indexing:masked_select": "masked_select",
    "indexing:masked_scatter": "masked_scatter",
    "indexing:nonzero": "nonzero argwhere",
    "indexing:nonzero_static": "nonzero_static",
    "indexing:take": "take",
    "indexing:put": "put",
    "indexing:slice_scatter": "slice_scatter",
    "indexing:select_scatter": "select_scatter",
    "indexing:diagonal_scatter": "diagonal_scatter",
    "indexing:as_strided_scatter": "as_strided_scatter",
    "indexing:one_hot": "one_hot",
    "indexing:is_in": "isin.Tensor_Tensor isin.Tensor_Scalar isin.Scalar_Tensor",
    "indexing:renorm": "renorm",
    "indexing:bincount": "bincount",
    "pooling:like_self": "_unsafe_masked_index_put_accumulate",
    "arrangement:triangle": "tril triu",
    "arrangement:flip": "flip",
    "arrangement:roll": "roll",
    "arrangement:rot90": "rot90",
    "arrangement:diag": "diag",
    "arrangement:diagflat": "diagflat",
    "arrangement:diag_embed": "diag_embed",
    "arrangement:repeat_interleave": "repeat_interleave.self_int repeat_interleave.self_Tensor",
    "arrangement:repeat_indices": "repeat_interleave.Tensor",
    # Creation
    "creation:empty": """
        empty.memory_format empty_strided empty_permuted zeros ones rand rand.generator randn
        randn.generator normal.float_float""",
    "creation:integers": """
        randint randint.generator randint.low randint.low_generator randperm randperm.generator""",
    "creation:full": "full",
    "creation:scalar_tensor": "scalar_tensor",
    "creation:like": """
        zeros_like ones_like empty_like full_like rand_like rand_like.generator randn_like
        randn_like.generator randint_like randint_like.low_dtype""",
    "creation:new": "new_empty new_empty_strided new_zeros new_ones new_full",
    "creation:arange": "arange arange.start arange.start_step",
    "creation:linspace": """
        linspace linspace.Tensor_Tensor linspace.Tensor_Scalar linspace.Scalar_Tensor logspace
        logspace.Tensor_Tensor logspace.Tensor_Scalar logspace.Scalar_Tensor""",
    "creation:eye": "eye eye.m",
    "creation:triangle_indices": "tril_indices",
    "creation:upper_triangle_indices": "triu_indices",
    "creation:window": """
        hann_window hann_window.periodic hamming_window hamming_window.periodic
        hamming_window.periodic_alpha hamming_window.periodic_alpha_beta blackman_window
        blackman_window.periodic bartlett_window bartlett_window.periodic kaiser_window
        kaiser_window.periodic kaiser_window.beta""",
    "creation:normal": "normal.Tensor_float normal.float_Tensor normal.Tensor_Tensor",
    "creation:multinomial": "multinomial",
    "creation:vander": "linalg_vander",
    "creation:resize": "resize resize_as",
    # Convolution and padding
    "convolution:convolve": """
        conv1d conv2d conv3d conv1d.padding conv2d.padding conv3d.padding _convolution_mode
        _conv_depthwise2d conv_depthwise3d slow_conv3d thnn_conv2d slow_conv_dilated2d
        slow_conv_dilated3d _slow_conv2d_forward slow_conv3d_forward""",
    "convolution:convolve_transposed": """
        conv_transpose1d conv_transpose2d.input conv_transpose3d.input""",
    "convolution:convolution": """
        convolution _convolution _convolution.deprecated convolution_overrideable""",
    "convolution:convolve_time_first": "conv_tbc",
    "convolution:convolution_backward": "convolution_backward",
    "convolution:pad": "pad constant_pad_nd _pad_enum _pad_circular",
    "convolution:pad_border": """
        reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d
        replication_pad3d""",
    # Pooling and resampling
    "pooling:pool_1d": "max_pool1d avg_pool1d",
    "pooling:pool_2d": "max_pool2d avg_pool2d",
    "pooling:pool_3d": "max_pool3d avg_pool3d",
    "pooling:pool_1d_with_indices": "max_pool1d_with_indices",
    "pooling:pool_2d_with_indices": "max_pool2d_with_indices",
    "pooling:pool_3d_with_indices": "max_pool3d_with_indices",
    "pooling:adaptive_1d": "adaptive_avg_pool1d",
    "pooling:adaptive_2d": "adaptive_avg_pool2d _adaptive_avg_pool2d max_unpool2d",
    "pooling:adaptive_3d": "adaptive_avg_pool3d _adaptive_avg_pool3d max_unpool3d",
    "pooling:adaptive_1d_with_indices": "adaptive_max_pool1d",
    "pooling:adaptive_2d_with_indices": "adaptive_max_pool2d fractional_max_pool2d",
    "pooling:adaptive_3d_with_indices": "adaptive_max_pool3d fractional_max_pool3d",
    "pooling:upsample": """
        upsample_nearest1d upsample_nearest1d.vec upsample_nearest2d upsample_nearest2d.vec
        upsample_nearest3d upsample_nearest3d.vec _upsample_nearest_exact1d
        _upsample_nearest_exact1d.vec _upsample_nearest_exact2d _upsample_nearest_exact2d.vec
        _upsample_nearest_exact3d _upsample_nearest_exact3d.vec upsample_linear1d
        upsample_linear1d.vec upsample_bilinear2d upsample_bilinear2d.vec upsample_trilinear3d
        upsample_trilinear3d.vec upsample_bicubic2d upsample_bicubic2d.vec _upsample_bilinear2d_aa
        _upsample_bilinear2d_aa.vec _upsample_bicubic2d_aa _upsample_bicubic2d_aa.vec
        _upsample_lanczos2d_aa _upsample_lanczos2d_aa.vec""",
    "pooling:upsample_backward": """
        upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward
        upsample_linear1d_backward upsample_bilinear2d_backward upsample_trilinear3d_backward
        upsample_bicubic2d_backward""",
    "pooling:grid_sample": "grid_sampler grid_sampler_2d grid_sampler_3d",
    "pooling:pixel_shuffle": "pixel_shuffle",
    "pooling:pixel_unshuffle": "pixel_unshuffle",
    "pooling:channel_shuffle": "channel_shuffle native_channel_shuffle",
    "pooling:im2col": "im2col",
    "pooling:col2im": "col2im",
    # Attention
    "attention:attention": "scaled_dot_product_attention",
    "attention:attention_with_logsumexp": "_scaled_dot_product_flash_attention_for_cpu",
    "attention:attention_math": "_scaled_dot_product_attention_math",
    # Losses
    "losses:elementwise": "mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss",
    "losses:broadcasting": """
        kl_div binary_cross_entropy binary_cross_entropy_with_logits poisson_nll_loss
        hinge_embedding_loss margin_ranking_loss""",
    "losses:cross_entropy": "cross_entropy_loss",
    "losses:nll_loss": "nll_loss nll_loss2d nll_loss_nd",
    "losses:nll_loss_forward": "nll_loss_forward nll_loss2d_forward",
    "losses:margin": "multi_margin_loss multilabel_margin_loss",
    "losses:cosine_embedding": "cosine_embedding_loss",
    "losses:triplet_margin": "triplet_margin_loss",
    "losses:pairwise": "pairwise_distance",
    "losses:cosine_similarity": "cosine_similarity",
    "losses:cdist": "cdist _cdist_forward",
    "losses:pdist": "pdist _pdist_forward",
    "losses:like_input": """
        nll_loss_backward nll_loss2d_backward mse_loss_backward smooth_l1_loss_backward
        max_pool2d_with_indices_backward max_pool3d_with_indices_backward avg_pool2d_backward
        avg_pool3d_backward _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward
        adaptive_max_pool2d_backward adaptive_max_pool3d_backward""",
    "pointwise:gradient": """
        elu_backward gelu_backward hardsigmoid_backward hardswish_backward hardtanh_backward
        leaky_relu_backward logit_backward mish_backward sigmoid_backward silu_backward
        softplus_backward tanh_backward threshold_backward hardshrink_backward softshrink_backward
        rrelu_with_noise_backward native_dropout_backward""",
}

_PRIMS: dict[str, str] = {
    "prims:elementwise": """
        acos acosh add asin asinh atan atan2 atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e
        bessel_j0 bessel_j1 bitwise_and bitwise_not bitwise_or bitwise_xor cbrt ceil conj_physical
        cos cosh digamma div erf erf_inv erfc erfcx exp exp2 expm1 floor fmax fmin fmod gcd hypot
        igamma igammac lgamma log log10 log1p log2 maximum minimum mul ndtri neg nextafter pow
        reciprocal remainder round rsqrt shift_left shift_right_arithmetic shift_right_logical sign
        sin sinh spherical_bessel_j0 sqrt sub tan tanh trunc zeta""",
    "prims:comparison": "eq ge gt isfinite le lt ne signbit",
    "prims:real_elementwise": "abs",
    "prims:frexp": "frexp",
    "prims:where": "where",
    "prims:same": "clone conj device_put fft_c2c fill view_of",
    "prims:convert": "convert_element_type",
    "prims:view_of_dtype": "view_of_dtype",
    "prims:complex_part": "real imag",
    "prims:broadcast_in_dim": "broadcast_in_dim",
    "prims:transpose": "transpose",
    "prims:reshape": "reshape",
    "prims:slice_dims": "slice",
    "prims:squeeze": "squeeze",
    "prims:split_dim": "split_dim",
    "prims:collapse": "collapse collapse_view",
    "prims:reverse": "rev",
    "prims:as_strided": "as_strided",
    "prims:as_strided_scatter": "as_strided_scatter",
    "prims:concatenate": "cat",
    "prims:reduce": "sum prod amax amin xor_sum",
    "prims:reduce_real": "var",
    "prims:made": "full empty empty_strided empty_permuted normal uniform",
    "prims:made_like": "full_like",
    "prims:scalar_tensor": "scalar_tensor",
    "prims:iota": "iota",
    "prims:item": "item",
    "prims:extreme_value": "maximum_value minimum_value",
    "prims:resize": "resize",
    "prims:copy_strided": "copy_strided",
    "prims:copy_to": "copy_to",
    "prims:svd": "svd",
    "prims:fft_r2c": "fft_r2c",
    "prims:fft_c2r": "fft_c2r",
    "prims:token": "_make_token",
    "prims:nothing": "_sink_tokens",
    "prims_extensions:contract": "contract",
    "prims_extensions:convolution": "convolution",
    "prims_extensions:reduce_window": "reduce_window",
    "prims_extensions:take": "take",
    "prims_extensions:gather": "gather",
    "prims_extensions:pad": "pad",
    "prims_extensions:index_of_extreme": "argmax argmin",
    "prims_extensions:scan": "scan",
}


def _inverted(families: dict[str, str], suffix: str) -> dict[str, str]:
    rules: dict[str, str] = {}
    for rule, names in families.items():
        for name in names.split():
            rules[name if "." in name else name + suffix] = rule
    return rules


RULES: dict[str, str] = _inverted(_ATEN, ".default")
"""`aten` and `core_aten`: overload name to `module:function` of its rule."""

PRIMS_RULES: dict[str, str] = _inverted(_PRIMS, "")
"""`prims`: name to `module:function` of its rule."""
