"""Which rule gives the result types of which overload.

Pointwise overloads that promote their operands are not listed (the fallback serves them); nor are
in-place, `out=` and `_copy` variants, which follow the overload they are variants of.
"""

from __future__ import annotations

_ATEN: dict[str, str] = {
    "pointwise:floating": """
        acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2
        atanh copysign.Scalar copysign.Tensor cos cosh deg2rad digamma div.Scalar div.Tensor
        divide.Scalar divide.Tensor erf erfc erfinv exp exp2 expm1 i0 igamma igammac
        ldexp.Tensor lgamma log log10 log1p log2 logit mvlgamma polygamma rad2deg reciprocal
        rsqrt sigmoid sin sinc sinh special_airy_ai special_bessel_j0 special_bessel_j1
        special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t
        special_chebyshev_polynomial_t.n_scalar special_chebyshev_polynomial_t.x_scalar
        special_chebyshev_polynomial_u special_chebyshev_polynomial_u.n_scalar
        special_chebyshev_polynomial_u.x_scalar special_chebyshev_polynomial_v
        special_chebyshev_polynomial_v.n_scalar special_chebyshev_polynomial_v.x_scalar
        special_chebyshev_polynomial_w special_chebyshev_polynomial_w.n_scalar
        special_chebyshev_polynomial_w.x_scalar special_digamma special_entr special_erf
        special_erfc special_erfcx special_erfinv special_exp2 special_expit special_expm1
        special_gammainc special_gammaincc special_gammaln special_hermite_polynomial_h
        special_hermite_polynomial_h.n_scalar special_hermite_polynomial_h.x_scalar
        special_hermite_polynomial_he special_hermite_polynomial_he.n_scalar
        special_hermite_polynomial_he.x_scalar special_i0 special_i0e special_i1 special_i1e
        special_laguerre_polynomial_l special_laguerre_polynomial_l.n_scalar
        special_laguerre_polynomial_l.x_scalar special_legendre_polynomial_p
        special_legendre_polynomial_p.n_scalar special_legendre_polynomial_p.x_scalar
        special_log1p special_log_ndtr special_logit special_modified_bessel_i0
        special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
        special_multigammaln special_ndtr special_ndtri special_polygamma special_psi
        special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
        special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_t.n_scalar
        special_shifted_chebyshev_polynomial_t.x_scalar special_shifted_chebyshev_polynomial_u
        special_shifted_chebyshev_polynomial_u.n_scalar
        special_shifted_chebyshev_polynomial_u.x_scalar special_shifted_chebyshev_polynomial_v
        special_shifted_chebyshev_polynomial_v.n_scalar
        special_shifted_chebyshev_polynomial_v.x_scalar special_shifted_chebyshev_polynomial_w
        special_shifted_chebyshev_polynomial_w.n_scalar
        special_shifted_chebyshev_polynomial_w.x_scalar special_sinc special_spherical_bessel_j0
        special_xlog1py special_xlog1py.other_scalar special_xlog1py.self_scalar special_xlogy
        special_xlogy.other_scalar special_xlogy.self_scalar special_zeta
        special_zeta.other_scalar special_zeta.self_scalar sqrt tan tanh true_divide.Scalar
        true_divide.Tensor xlogy.Scalar_Other xlogy.Scalar_Self xlogy.Tensor""",
    "pointwise:boolean": """
        eq.Scalar eq.Tensor ge.Scalar ge.Tensor greater.Scalar greater.Tensor
        greater_equal.Scalar greater_equal.Tensor gt.Scalar gt.Tensor isclose isfinite isinf
        isnan isneginf isposinf isreal le.Scalar le.Tensor less.Scalar less.Tensor
        less_equal.Scalar less_equal.Tensor logical_and logical_not logical_or logical_xor
        lt.Scalar lt.Tensor ne.Scalar ne.Tensor not_equal.Scalar not_equal.Tensor signbit""",
    "pointwise:integral": """
        __and__.Scalar __and__.Tensor __or__.Scalar __or__.Tensor __xor__.Scalar __xor__.Tensor
        bitwise_and.Scalar bitwise_and.Scalar_Tensor bitwise_and.Tensor bitwise_not
        bitwise_or.Scalar bitwise_or.Scalar_Tensor bitwise_or.Tensor bitwise_xor.Scalar
        bitwise_xor.Scalar_Tensor bitwise_xor.Tensor gcd lcm""",
    "pointwise:promoting": """
        _add_relu.Scalar _add_relu.Tensor arctan2 clip clip.Tensor fix floor_divide
        floor_divide.Scalar fmax fmin hardswish multiply.Scalar multiply.Tensor sgn
        special_round""",
    "pointwise:number_like": "neg negative",
    "pointwise:subtraction": """
        rsub.Scalar rsub.Tensor sub.Scalar sub.Tensor subtract.Scalar subtract.Tensor""",
    "pointwise:real": "abs absolute",
    "pointwise:real_floating": "angle",
    "pointwise:division_with_mode": """
        div.Scalar_mode div.Tensor_mode divide.Scalar_mode divide.Tensor_mode""",
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
    "statistics:segment_reduce": "segment_reduce",
    "statistics:gradient": """
        gradient.array gradient.scalararray gradient.scalarint gradient.scalarrayarray
        gradient.scalarrayint gradient.tensorarray gradient.tensorarrayint""",
    "statistics:combinations": "combinations",
    "statistics:hash_of_elements": "hash_tensor",
    "statistics:embedding_bag": """
        _embedding_bag _embedding_bag_forward_only embedding_bag embedding_bag.padding_idx""",
    "statistics:fake_quantize_mask": """
        fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine_cachemask""",
    "statistics:chunk_cat": "_chunk_cat",
    "statistics:half_of_dim": "glu",
    "matmul:matmul": "linalg_matmul matmul",
    "matmul:mm": "mm mm.dtype",
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
    "linalg:square_same": """
        cholesky cholesky_inverse inverse linalg_cholesky linalg_inv linalg_matrix_exp
        linalg_matrix_power matrix_exp matrix_power""",
    "linalg:determinant": "det linalg_det logdet",
    "linalg:determinant_factors": "_linalg_det",
    "linalg:sign_and_log": "linalg_slogdet slogdet",
    "linalg:sign_and_log_factors": "_linalg_slogdet",
    "linalg:svd": "_linalg_svd linalg_svd",
    "linalg:svd_untransposed": "svd",
    "linalg:singular_values": "linalg_svdvals",
    "linalg:qr": "linalg_qr qr",
    "linalg:householder": "geqrf",
    "linalg:householder_product": "linalg_householder_product orgqr",
    "linalg:pseudo_inverse": """
        linalg_pinv linalg_pinv.atol_rtol_float linalg_pinv.atol_rtol_tensor
        linalg_pinv.rcond_tensor pinverse""",
    "linalg:rank": """
        linalg_matrix_rank linalg_matrix_rank.atol_rtol_float
        linalg_matrix_rank.atol_rtol_tensor linalg_matrix_rank.tol_tensor""",
    "linalg:symmetric_eigen": "_linalg_eigh linalg_eigh",
    "linalg:symmetric_eigenvalues": "linalg_eigvalsh",
    "linalg:eigen": "linalg_eig",
    "linalg:eigenvalues": "_linalg_eigvals linalg_eigvals",
    "linalg:with_info": "linalg_cholesky_ex linalg_inv_ex",
    "linalg:solve": "linalg_solve",
    "linalg:solve_with_info": "linalg_solve_ex",
    "linalg:solve_with_factors": "_linalg_solve_ex",
    "linalg:lu_factor": "linalg_lu_factor",
    "linalg:lu_factor_with_info": "_lu_with_info linalg_lu_factor_ex",
    "linalg:lu": "linalg_lu",
    "linalg:lu_unpack": "lu_unpack",
    "linalg:lu_solve": "linalg_lu_solve lu_solve",
    "linalg:ldl_factor": "linalg_ldl_factor",
    "linalg:ldl_factor_with_info": "linalg_ldl_factor_ex",
    "linalg:ldl_solve": "linalg_ldl_solve",
    "linalg:cholesky_solve": "_cholesky_solve_helper cholesky_solve",
    "linalg:triangular_solve": "triangular_solve",
    "linalg:solve_triangular": "linalg_solve_triangular",
    "linalg:reflect": "ormqr",
    "linalg:cross": "cross linalg_cross",
    "linalg:condition_number": "linalg_cond linalg_cond.p_str",
    "linalg:tensor_inverse": "linalg_tensorinv",
    "linalg:tensor_solve": "linalg_tensorsolve",
    "linalg:covariance": "corrcoef cov",
    "linalg:trilinear": "_trilinear",
    "linalg:scaled_product": "_scaled_mm",
    "spectral:complex_to_complex": "fft_fft fft_fft2 fft_fftn fft_ifft fft_ifft2 fft_ifftn",
    "spectral:real_to_complex": "fft_ihfft fft_ihfft2 fft_ihfftn fft_rfft fft_rfft2 fft_rfftn",
    "spectral:complex_to_real": "fft_hfft fft_hfft2 fft_hfftn fft_irfft fft_irfft2 fft_irfftn",
    "spectral:r2c": "_fft_r2c",
    "spectral:c2c": "_fft_c2c",
    "spectral:c2r": "_fft_c2r",
    "spectral:frequencies": "fft_fftfreq",
    "spectral:half_frequencies": "fft_rfftfreq",
    "spectral:stft": "stft stft.center",
    "spectral:istft": "istft",
    "normalization:layer_norm": "layer_norm",
    "normalization:native_layer_norm": "native_layer_norm",
    "normalization:rms_norm": "rms_norm",
    "normalization:fused_rms_norm": "_fused_rms_norm",
    "normalization:batch_norm": "batch_norm",
    "normalization:instance_norm": "instance_norm",
    "normalization:batch_norm_inference": "_native_batch_norm_legit_no_training",
    "normalization:native_batch_norm": """
        _native_batch_norm_legit _native_batch_norm_legit.no_stats native_batch_norm""",
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
    "normalization:with_noise": "rrelu_with_noise_functional",
    "normalization:log_sigmoid_forward": "log_sigmoid_forward",
    "recurrent:lstm": "lstm.data lstm.input",
    "recurrent:gru": "gru.data gru.input rnn_relu.data rnn_relu.input rnn_tanh.data rnn_tanh.input",
    "recurrent:lstm_cell": "lstm_cell",
    "recurrent:cell": "gru_cell rnn_relu_cell rnn_tanh_cell",
    "attention:attention": "scaled_dot_product_attention",
    "attention:attention_with_logsumexp": "_scaled_dot_product_flash_attention_for_cpu",
    "attention:attention_math": "_scaled_dot_product_attention_math",
    "indexing:embedding": "embedding",
    "indexing:embedding_renorm": "embedding_renorm",
    "indexing:index_select": "index_select",
    "indexing:gather": "gather",
    "indexing:take_along_dim": "take_along_dim",
    "indexing:scatter": """
        scatter.reduce scatter.src scatter.value scatter.value_reduce scatter_add
        scatter_reduce.two""",
    "indexing:along_dim": """
        index_add index_copy index_fill.int_Scalar index_fill.int_Tensor index_reduce""",
    "indexing:index": "_unsafe_index.Tensor index.Tensor",
    "indexing:index_put": "_index_put_impl _unsafe_index_put index_put",
    "indexing:masked_index": "_unsafe_masked_index",
    "indexing:masked_select": "masked_select",
    "indexing:masked_scatter": "masked_scatter",
    "indexing:nonzero": "argwhere nonzero",
    "indexing:nonzero_static": "nonzero_static",
    "indexing:take": "take",
    "indexing:put": "put",
    "indexing:slice_scatter": "slice_scatter",
    "indexing:select_scatter": "select_scatter",
    "indexing:diagonal_scatter": "diagonal_scatter",
    "indexing:as_strided_scatter": "as_strided_scatter",
    "indexing:one_hot": "one_hot",
    "indexing:is_in": "isin.Scalar_Tensor isin.Tensor_Scalar isin.Tensor_Tensor",
    "indexing:renorm": "renorm",
    "indexing:bincount": "bincount",
    "indexing:nonzero_numpy": "nonzero_numpy",
    "creation:empty": """
        empty.memory_format empty_permuted empty_strided normal.float_float ones rand
        rand.generator randn randn.generator zeros""",
    "creation:integers": """
        randint randint.generator randint.low randint.low_generator randperm randperm.generator""",
    "creation:full": "full",
    "creation:scalar_tensor": "scalar_tensor",
    "creation:like": """
        empty_like full_like ones_like rand_like rand_like.generator randint_like
        randint_like.low_dtype randn_like randn_like.generator zeros_like""",
    "creation:new": "new_empty new_empty_strided new_full new_ones new_zeros",
    "creation:arange": "arange arange.start arange.start_step",
    "creation:linspace": """
        linspace linspace.Scalar_Tensor linspace.Tensor_Scalar linspace.Tensor_Tensor logspace
        logspace.Scalar_Tensor logspace.Tensor_Scalar logspace.Tensor_Tensor""",
    "creation:eye": "eye eye.m",
    "creation:triangle_indices": "tril_indices",
    "creation:upper_triangle_indices": "triu_indices",
    "creation:window": """
        bartlett_window bartlett_window.periodic blackman_window blackman_window.periodic
        hamming_window hamming_window.periodic hamming_window.periodic_alpha
        hamming_window.periodic_alpha_beta hann_window hann_window.periodic kaiser_window
        kaiser_window.beta kaiser_window.periodic""",
    "creation:normal": "normal.Tensor_Tensor normal.Tensor_float normal.float_Tensor",
    "creation:multinomial": "multinomial",
    "creation:vander": "linalg_vander",
    "creation:resize": "resize resize_as",
    "creation:vander_flat": "vander",
    "creation:range_inclusive": "range range.step",
    "convolution:convolve": """
        _conv_depthwise2d _convolution_mode _slow_conv2d_forward conv1d conv1d.padding conv2d
        conv2d.padding conv3d conv3d.padding conv_depthwise3d slow_conv3d slow_conv3d_forward
        slow_conv_dilated2d slow_conv_dilated3d thnn_conv2d""",
    "convolution:convolve_transposed": """
        conv_transpose1d conv_transpose2d.input conv_transpose3d.input""",
    "convolution:convolution": """
        _convolution _convolution.deprecated convolution convolution_overrideable""",
    "convolution:convolve_time_first": "conv_tbc",
    "convolution:pad": "_pad_circular _pad_enum constant_pad_nd pad",
    "convolution:pad_border": """
        reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d
        replication_pad3d""",
    "indexing:masked_index_put": "_unsafe_masked_index_put_accumulate",
    "pooling:pool_1d": "avg_pool1d max_pool1d",
    "pooling:pool_2d": "avg_pool2d max_pool2d",
    "pooling:pool_3d": "avg_pool3d max_pool3d",
    "pooling:pool_1d_with_indices": "max_pool1d_with_indices",
    "pooling:pool_2d_with_indices": "max_pool2d_with_indices",
    "pooling:pool_3d_with_indices": "max_pool3d_with_indices",
    "pooling:adaptive_1d": "adaptive_avg_pool1d",
    "pooling:adaptive_2d": "_adaptive_avg_pool2d adaptive_avg_pool2d ",
    "pooling:adaptive_3d": "_adaptive_avg_pool3d adaptive_avg_pool3d ",
    "pooling:adaptive_1d_with_indices": "adaptive_max_pool1d",
    "pooling:adaptive_2d_with_indices": "adaptive_max_pool2d fractional_max_pool2d",
    "pooling:adaptive_3d_with_indices": "adaptive_max_pool3d fractional_max_pool3d",
    "pooling:unpool_2d": "max_unpool2d",
    "pooling:unpool_3d": "max_unpool3d",
    "pooling:upsample": """
        _upsample_bicubic2d_aa _upsample_bicubic2d_aa.vec _upsample_bilinear2d_aa
        _upsample_bilinear2d_aa.vec _upsample_lanczos2d_aa _upsample_lanczos2d_aa.vec
        _upsample_nearest_exact1d _upsample_nearest_exact1d.vec _upsample_nearest_exact2d
        _upsample_nearest_exact2d.vec _upsample_nearest_exact3d _upsample_nearest_exact3d.vec
        upsample_bicubic2d upsample_bicubic2d.vec upsample_bilinear2d upsample_bilinear2d.vec
        upsample_linear1d upsample_linear1d.vec upsample_nearest1d upsample_nearest1d.vec
        upsample_nearest2d upsample_nearest2d.vec upsample_nearest3d upsample_nearest3d.vec
        upsample_trilinear3d upsample_trilinear3d.vec""",
    "pooling:grid_sample": "grid_sampler grid_sampler_2d grid_sampler_3d",
    "pooling:pixel_shuffle": "pixel_shuffle",
    "pooling:pixel_unshuffle": "pixel_unshuffle",
    "pooling:channel_shuffle": "channel_shuffle native_channel_shuffle",
    "pooling:im2col": "im2col",
    "pooling:col2im": "col2im",
    "losses:elementwise": "huber_loss l1_loss mse_loss smooth_l1_loss soft_margin_loss",
    "losses:broadcasting": """
        binary_cross_entropy binary_cross_entropy_with_logits hinge_embedding_loss kl_div
        margin_ranking_loss poisson_nll_loss""",
    "losses:cross_entropy": "cross_entropy_loss",
    "losses:nll_loss": "nll_loss nll_loss2d nll_loss_nd",
    "losses:nll_loss_forward": "nll_loss2d_forward nll_loss_forward",
    "losses:margin": "multi_margin_loss multilabel_margin_loss",
    "losses:cosine_embedding": "cosine_embedding_loss",
    "losses:triplet_margin": "triplet_margin_loss",
    "losses:pairwise": "pairwise_distance",
    "losses:cosine_similarity": "cosine_similarity",
    "losses:cdist": "_cdist_forward cdist",
    "losses:pdist": "_pdist_forward pdist",
    "losses:ctc": "ctc_loss.IntList ctc_loss.Tensor",
    "losses:ctc_forward": "_ctc_loss _ctc_loss.Tensor",
    "losses:multilabel_margin_forward": "multilabel_margin_loss_forward",
    "gradients:like_input": """
        _fake_quantize_learnable_per_channel_affine _fake_quantize_learnable_per_tensor_affine
        _masked_softmax
        _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward _pdist_backward
        adaptive_max_pool2d_backward adaptive_max_pool3d_backward avg_pool2d_backward
        avg_pool3d_backward binary_cross_entropy_backward cummaxmin_backward cumprod_backward
        fractional_max_pool2d_backward fractional_max_pool3d_backward glu_backward
        huber_loss_backward infinitely_differentiable_gelu_backward log_sigmoid_backward
        masked_select_backward matrix_exp_backward max_pool2d_backward
        max_pool2d_with_indices_backward max_pool3d_with_indices_backward mse_loss_backward
        multi_margin_loss_backward multilabel_margin_loss_backward nll_loss2d_backward
        nll_loss_backward reflection_pad1d_backward reflection_pad2d_backward
        reflection_pad3d_backward replication_pad1d_backward replication_pad2d_backward
        replication_pad3d_backward smooth_l1_loss_backward soft_margin_loss_backward""",
    "gradients:softmax": "_log_softmax_backward_data _softmax_backward_data",
    "gradients:layer_norm": "native_layer_norm_backward",
    "gradients:group_norm": "native_group_norm_backward",
    "gradients:batch_norm": "native_batch_norm_backward",
    "gradients:rms_norm": "_fused_rms_norm_backward",
    "gradients:embedding": "embedding_dense_backward",
    "gradients:select": "diagonal_backward index_select_backward select_backward slice_backward",
    "gradients:sizes": "masked_scatter_backward trace_backward value_selecting_reduction_backward",
    "gradients:convolution": "convolution_backward",
    "gradients:unfold": "unfold_backward",
    "gradients:upsample": """
        _upsample_bicubic2d_aa_backward _upsample_bilinear2d_aa_backward
        _upsample_lanczos2d_aa_backward _upsample_nearest_exact1d_backward
        _upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward
        upsample_bicubic2d_backward upsample_bilinear2d_backward upsample_linear1d_backward
        upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward
        upsample_trilinear3d_backward""",
    "gradients:grid_sample": """
        _grid_sampler_2d_cpu_fallback_backward grid_sampler_2d_backward grid_sampler_3d_backward""",
    "gradients:query_key_value": "_scaled_dot_product_flash_attention_for_cpu_backward",
    "gradients:data": "_segment_reduce_backward",
    "gradients:of_x": "glu_backward_jvp",
    "gradients:of_glu": "glu_jvp",
    "gradients:output": "_masked_softmax_backward",
    "gradients:learned_grid": """
        _fake_quantize_learnable_per_channel_affine_backward
        _fake_quantize_learnable_per_tensor_affine_backward""",
    "gradients:direction_and_length": "_weight_norm_differentiable_backward",
    "gradients:time_batch_channels": "conv_tbc_backward",
    "gradients:slow_convolution": "_slow_conv2d_backward.output_mask",
    "gradients:bags": "_embedding_bag_backward _embedding_bag_dense_backward",
    "gradients:bag_weights": "_embedding_bag_per_sample_weights_backward",
    "gradients:lstm_cell": "_thnn_differentiable_lstm_cell_backward",
    "gradients:gru_cell": "_thnn_differentiable_gru_cell_backward",
    "gradients:linear_combination": "_compute_linear_combination",
    "gradients:prelu": "_prelu_kernel_backward",
    "gradients:elementwise": """
        elu_backward gelu_backward hardshrink_backward hardsigmoid_backward hardswish_backward
        hardtanh_backward leaky_relu_backward logit_backward mish_backward
        rrelu_with_noise_backward sigmoid_backward silu_backward softplus_backward
        softshrink_backward tanh_backward threshold_backward""",
    "gradients:dropout": "native_dropout_backward",
    "queries:integer": """
        _version dense_dim dim get_device numel output_nr sparse_dim storage_offset sym_numel
        sym_storage_offset""",
    "queries:integer_of_dim": "size.int stride.int sym_size.int sym_stride.int",
    "queries:truth": """
        allclose equal is_complex is_conj is_contiguous is_contiguous.memory_format
        is_floating_point is_inference is_leaf is_neg is_nonzero is_pinned is_same_size
        is_set_to is_signed sym_is_contiguous""",
    "queries:nothing": """
        _assert_async _assert_async.msg _assert_scalar _assert_tensor_metadata
        _linalg_check_errors _print sym_constrain_range sym_constrain_range_for_size""",
}

_PRIMS: dict[str, str] = {
    "prims:elementwise": """
        acos acosh add asin asinh atan atan2 atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e
        bessel_j0 bessel_j1 bitwise_and bitwise_not bitwise_or bitwise_xor cbrt ceil
        conj_physical cos cosh digamma div erf erf_inv erfc erfcx exp exp2 expm1 floor fmax fmin
        fmod gcd hypot igamma igammac lgamma log log10 log1p log2 maximum minimum mul ndtri neg
        nextafter pow reciprocal remainder round rsqrt shift_left shift_right_arithmetic
        shift_right_logical sigmoid sign sin sinh spherical_bessel_j0 sqrt sub tan tanh trunc zeta
        airy_ai bessel_y0 bessel_y1 modified_bessel_k0 modified_bessel_k1
        scaled_modified_bessel_k0 scaled_modified_bessel_k1 chebyshev_polynomial_t
        chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
        hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p""",
    "prims:comparison": "eq ge gt isfinite le lt ne signbit",
    "prims:real_elementwise": "abs",
    "prims:frexp": "frexp",
    "prims:where": "where",
    "prims:same": "clone conj device_put fft_c2c fill view_of",
    "prims:convert": "convert_element_type",
    "prims:view_of_dtype": "view_of_dtype",
    "prims:complex_part": "real imag",
    "prims_extensions:complex_of_parts": "complex",
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
    "prims_extensions:put": "put",
    "prims_extensions:scatter": "scatter",
    "prims_extensions:sort": "sort",
    "prims_extensions:scan_extreme": "scan_extreme",
    "prims_extensions:searchsorted": "searchsorted",
    "prims_extensions:window_index": "window_index",
    "prims_extensions:philox": "philox",
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
