"""The ops of StableHLO 1.x, and of CHLO as far as front ends leave them in programs.

A row says how many operands, results and regions an op has (-1: any number), how its pretty form
is read (`forms.py`), and which words of that form are which attributes.
"""

from __future__ import annotations

from lamina.dialects.records import record

INTS, INT, BOOL, WORD, FORMAT, PAIRS, PRECISIONS, ALGORITHM = (
    "ints",
    "int",
    "bool",
    "word",
    "format",
    "pairs",
    "precisions",
    "algorithm",
)
"""Kinds of clauses: `= [1, 2]`, `= 1`, `= true`, `= DEFAULT`, `= e5m10`, `= [0] x [1]`, ..."""


@record
class Clause:
    """`word = value` in a pretty form: the attribute, and how its value is written."""

    attribute: str
    kind: str


@record
class Row:
    """An op. `clauses` by their words; `words` are attributes that are written by value alone."""

    form: str = "generic"
    operands: int = -1
    results: int = 1
    regions: int = 0
    clauses: tuple[tuple[str, Clause], ...] = ()
    words: tuple[str, ...] = ()
    elementwise: bool = False
    terminator: bool = False


def _elementwise(operands: int, names: str, form: str = "same") -> dict[str, Row]:
    row = Row(form, operands, elementwise=True)
    return {f"{name}": row for name in names.split()}


def _row(form: str, operands: int, **clauses: str) -> Row:
    """Clauses as `dims="permutation ints"`."""
    made = [(word, Clause(*text.split())) for word, text in clauses.items()]
    return Row(form, operands, clauses=tuple(made))


STABLEHLO: dict[str, Row] = {
    **_elementwise(
        1,
        "abs cbrt ceil cosine count_leading_zeros exponential exponential_minus_one floor log "
        "log_plus_one logistic negate not popcnt round_nearest_afz round_nearest_even rsqrt sign "
        "sine sqrt tan tanh",
    ),
    **_elementwise(
        2,
        "add and atan2 divide maximum minimum multiply or power remainder shift_left "
        "shift_right_arithmetic shift_right_logical subtract xor",
    ),
    **_elementwise(1, "convert imag is_finite real"),
    "bitcast_convert": Row("same", 1),
    "complex": Row("complex", 2, elementwise=True),
    "clamp": Row("same", 3),
    "reduce_precision": _row("same", 1, format="format format"),
    "compare": Row("function", 2, words=("comparison_direction", "compare_type"), elementwise=True),
    "select": Row("select", 3),
    "reshape": Row("function", 1),
    "broadcast_in_dim": _row("function", 1, dims="broadcast_dimensions ints"),
    "broadcast": _row("function", 1, sizes="broadcast_sizes ints"),
    "transpose": _row("function", 1, dims="permutation ints"),
    "reverse": _row("result", 1, dims="dimensions ints"),
    "iota": _row("result", 0, dim="iota_dimension int"),
    "pad": _row(
        "function",
        2,
        low="edge_padding_low ints",
        high="edge_padding_high ints",
        interior="interior_padding ints",
    ),
    "slice": Row("slice", 1),
    "dynamic_slice": _row("function", -1, sizes="slice_sizes ints"),
    "dynamic_update_slice": Row("function", -1),
    "concatenate": _row("function", -1, dim="dimension int"),
    "dot": _row("function", 2, precision="precision_config precisions"),
    "dot_general": _row(
        "function",
        2,
        batching_dims="batching pairs",
        contracting_dims="contracting pairs",
        precision="precision_config precisions",
        algorithm="algorithm algorithm",
    ),
    "convolution": Row("convolution", 2),
    "fft": _row("function", 1, type="fft_type word", length="fft_length ints"),
    "cholesky": _row("result", 1, lower="lower bool"),
    "triangular_solve": Row(operands=2),
    "gather": Row(operands=2),
    "dynamic_gather": Row(operands=3),
    "scatter": Row(results=-1, regions=1),
    "reduce": Row("reduce", results=-1, regions=1),
    "reduce_window": Row(results=-1, regions=1),
    "select_and_scatter": Row(operands=3, regions=2),
    "sort": Row(results=-1, regions=1),
    "map": Row(regions=1),
    "while": Row("while", results=-1, regions=2),
    "case": Row(operands=1, results=-1, regions=-1),
    "if": Row(operands=1, results=-1, regions=2),
    "return": Row("return", results=0, terminator=True),
    "constant": Row("constant", 0),
    "custom_call": Row("custom_call", results=-1),
    "composite": Row("composite", results=-1),
    "optimization_barrier": Row("list", results=-1),
    "tuple": Row("tuple"),
    "get_tuple_element": Row("element", 1),
    "rng": _row("function", 3, distribution="rng_distribution word"),
    "rng_bit_generator": Row(
        "function",
        1,
        2,
        clauses=(("algorithm", Clause("rng_algorithm", WORD)),),
    ),
    "batch_norm_inference": Row(operands=5),
    "batch_norm_training": Row(operands=3, results=3),
    "batch_norm_grad": Row(operands=5, results=3),
    "after_all": Row("list"),
    "all_gather": Row(results=-1),
    "all_reduce": Row(results=-1, regions=1),
    "all_to_all": Row(results=-1),
    "collective_broadcast": Row(),
    "collective_permute": Row(),
    "create_token": Row("list", 0),
    "cross-replica-sum": Row(),
    "dynamic_broadcast_in_dim": _row("function", 2, dims="broadcast_dimensions ints"),
    "dynamic_conv": Row(operands=3),
    "dynamic_iota": _row("function", 1, dim="iota_dimension int"),
    "dynamic_pad": Row("function", 5),
    "dynamic_reshape": Row("function", 2),
    "get_dimension_size": _row("function", 1, dim="dimension int"),
    "infeed": Row(results=-1),
    "outfeed": Row(),
    "partition_id": Row("result", 0),
    "real_dynamic_slice": Row("function", 4),
    "recv": Row(results=-1),
    "reduce_scatter": Row(regions=1),
    "replica_id": Row("result", 0),
    "send": Row(),
    "set_dimension_size": _row("function", 2, dim="dimension int"),
    "uniform_dequantize": Row("function", 1),
    "uniform_quantize": Row("function", 1),
}
"""By name without the dialect."""

CHLO: dict[str, Row] = {
    **_elementwise(
        1,
        "acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc lgamma "
        "sinh square tan",
        "arrow",
    ),
    **_elementwise(1, "is_inf is_neg_inf is_pos_inf", "arrow"),
    **_elementwise(2, "next_after polygamma zeta", "arrow"),
    "top_k": Row("top_k", 1, 2),
    "ragged_dot": Row(operands=3),
}
"""By name without the dialect. Others that CHLO has do not outlive front ends."""
