"""Rules of primitives: `module:function`, and the overloads whose results it gives."""

from __future__ import annotations

PRIMS: dict[str, str] = {
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
    "prims_extensions:segment_sum": "segment_sum",
    "prims_extensions:segment_max": "segment_max",
    "prims_extensions:sort": "sort",
    "prims_extensions:topk": "topk",
    "prims_extensions:kthvalue": "kthvalue",
    "prims_extensions:scan_extreme": "scan_extreme",
    "prims_extensions:searchsorted": "searchsorted",
    "prims_extensions:window_index": "window_index",
    "prims_extensions:philox": "philox",
}
