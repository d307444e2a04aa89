"""Rules of linear algebra, layers, indexing, losses and queries: what `rule_table` puts together.

Each `module:function`, and the overloads whose results it gives.
"""

from __future__ import annotations

LIBRARY: dict[str, str] = {
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
    "recurrent:one_layer": "mkldnn_rnn_layer",
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
        _efficientzerotensor empty.memory_format empty_permuted empty_strided normal.float_float
        ones rand rand.generator randn randn.generator zeros""",
    "creation:integers": """
        randint randint.generator randint.low randint.low_generator randperm randperm.generator""",
    "creation:full": "full",
    "creation:scalar_tensor": "scalar_tensor",
    "creation:like": """
        empty_like full_like ones_like rand_like rand_like.generator randint_like
        randint_like.low_dtype randn_like randn_like.generator zeros_like""",
    "creation:new": "new_empty new_empty_strided new_full new_ones new_zeros",
    "creation:zeros_like_batched": "_new_zeros_with_same_feature_meta",
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
    "losses:cdist": "_cdist_forward _euclidean_dist cdist",
    "losses:pdist": "_pdist_forward pdist",
    "losses:ctc": "ctc_loss.IntList ctc_loss.Tensor",
    "losses:ctc_forward": "_ctc_loss _ctc_loss.Tensor",
    "losses:multilabel_margin_forward": "multilabel_margin_loss_forward",
    "gradients:like_input": """
        _fake_quantize_learnable_per_channel_affine
        _fake_quantize_learnable_per_tensor_affine _masked_softmax _pdist_backward
        binary_cross_entropy_backward cummaxmin_backward cumprod_backward glu_backward
        huber_loss_backward infinitely_differentiable_gelu_backward log_sigmoid_backward
        masked_select_backward matrix_exp_backward mse_loss_backward
        multi_margin_loss_backward multilabel_margin_loss_backward nll_loss2d_backward
        nll_loss_backward smooth_l1_loss_backward soft_margin_loss_backward""",
    "gradients:like_images_1d": "reflection_pad1d_backward replication_pad1d_backward",
    "gradients:like_images_2d": """
        _adaptive_avg_pool2d_backward adaptive_max_pool2d_backward avg_pool2d_backward
        fractional_max_pool2d_backward max_pool2d_backward max_pool2d_with_indices_backward
        reflection_pad2d_backward replication_pad2d_backward""",
    "gradients:like_images_3d": """
        _adaptive_avg_pool3d_backward adaptive_max_pool3d_backward avg_pool3d_backward
        fractional_max_pool3d_backward max_pool3d_with_indices_backward
        reflection_pad3d_backward replication_pad3d_backward""",
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
