"""The elementwise functions: a row for each."""

from __future__ import annotations

from typing import Any

from lamina.dialects.elementwise.record import SPECIAL_OP, Elementwise

_NUMBERS = ("Tensor", "Scalar")
"""Overloads of two operands, the second of which may be a number."""


def _elementary(name: str, vector: str, **more: Any) -> Elementwise:
    """A function of one float with an op of `math`; names that are not given are `name`."""
    given: dict[str, Any] = {
        "aten": name,
        "promotion": "floating",
        "loop": f"math.{name}",
        "numpy": name,
        "complex": True,
        "cost": "function",
    }
    return Elementwise(name=name, vector=vector, **given | more)


def _special(name: str, vector: str, aten: str, *aliases: str, **more: Any) -> Elementwise:
    """A function of floats without an op of `math`, called in machine code."""
    given: dict[str, Any] = {
        "promotion": "floating",
        "loop": SPECIAL_OP,
        "outlined": True,
        "cost": "special",
    }
    return Elementwise(name=name, vector=vector, aten=aten, aliases=aliases, **given | more)


def _polynomial(name: str) -> Elementwise:
    """A function of an argument and a degree."""
    return _special(name, "orthogonal_polynomials", f"special_{name}", operands=2)


def _rounding(name: str, **more: Any) -> Elementwise:
    """A function to whole numbers."""
    given: dict[str, Any] = {"loop": f"math.{name}", "intrinsic": name, "cost": "function"}
    return Elementwise(name=name, aten=name, numpy=name, rounds=True, **given | more)


def _arithmetic(name: str, numpy: str, **more: Any) -> Elementwise:
    """A function of two operands of one type."""
    given: dict[str, Any] = {"aten": name, "overloads": _NUMBERS, "numpy": numpy}
    return Elementwise(name=name, operands=2, **given | more)


def _bits(name: str, **more: Any) -> Elementwise:
    """A function of the bits of two integers, or of two truths."""
    return _arithmetic(name, name, promotion="integral", bools=True, **more)


def _comparison(name: str, numpy: str, *aliases: str, **more: Any) -> Elementwise:
    """A relation of two operands of one type; the `arith` op has the relation as its predicate."""
    return _arithmetic(name, numpy, aliases=aliases, promotion="boolean", **more)


def _logic(name: str, **more: Any) -> Elementwise:
    """A function of truths, that of numbers being that they are not 0."""
    return Elementwise(
        name=name, aten=name, numpy=name, prims=False, composed=True, promotion="boolean", **more
    )


def _question(name: str, **more: Any) -> Elementwise:
    """What is asked of one number."""
    given: dict[str, Any] = {"numpy": name, "promotion": "boolean", "core": False}
    return Elementwise(name=name, aten=name, composed=True, **given | more)


ROWS: tuple[Elementwise, ...] = (
    # Of one float.
    _elementary("acos", "inverse_trigonometric", numpy="arccos", aliases=("arccos",)),
    _elementary("acosh", "hyperbolic", numpy="arccosh", aliases=("arccosh",)),
    _elementary("asin", "inverse_trigonometric", numpy="arcsin", aliases=("arcsin",)),
    _elementary("asinh", "hyperbolic", numpy="arcsinh", aliases=("arcsinh",)),
    _elementary("atan", "inverse_trigonometric", numpy="arctan", aliases=("arctan",)),
    _elementary("atanh", "hyperbolic", numpy="arctanh", aliases=("arctanh",)),
    _elementary("cbrt", "power", aten="", complex=False),
    _elementary("cos", "trigonometric"),
    _elementary("cosh", "hyperbolic"),
    _elementary("erf", "error_function", numpy="", aliases=("special_erf",), complex=False),
    _elementary("exp", "exponential"),
    _elementary("exp2", "exponential", aliases=("special_exp2",), core=False, composed=True),
    _elementary("expm1", "exponential", aliases=("special_expm1",)),
    _elementary("log", "logarithm", cost="curve"),
    _elementary("log10", "logarithm", cost="curve"),
    _elementary("log1p", "logarithm", cost="curve", aliases=("special_log1p",)),
    _elementary("log2", "logarithm", cost="curve"),
    _elementary("rsqrt", "power", numpy="", cost="root"),
    _elementary("sin", "trigonometric"),
    _elementary("sinh", "hyperbolic"),
    _elementary("sqrt", "", intrinsic="sqrt", cost="root"),
    _elementary("tan", "trigonometric"),
    _elementary("tanh", "hyperbolic", cost="curve"),
    # To whole numbers.
    _rounding("ceil"),
    _rounding("floor", cost="add"),
    _rounding("round", loop="math.roundeven", intrinsic="roundeven"),
    _rounding("trunc", aliases=("fix",)),
    Elementwise(
        name="round_half_away", prims=False, loop="math.round", intrinsic="round", cost="function"
    ),
    # Of one number.
    Elementwise(
        name="abs",
        promotion="real",
        aten="abs",
        aliases=("absolute",),
        composed=True,
        loop="math.absf",
        integer="math.absi",
        intrinsic="fabs",
        complex=True,
        numpy="abs",
    ),
    Elementwise(
        name="neg",
        promotion="number_like",
        aten="neg",
        aliases=("negative",),
        loop="arith.negf",
        complex=True,
        numpy="negative",
    ),
    Elementwise(name="reciprocal", promotion="floating", aten="reciprocal", complex=True),
    Elementwise(name="sign", aten="sign", complex=True),
    Elementwise(name="bitwise_not", promotion="integral", aten="bitwise_not", numpy="invert"),
    Elementwise(name="conj_physical", complex=True, numpy="conjugate"),
    Elementwise(
        name="sinc",
        promotion="floating",
        aten="sinc",
        aliases=("special_sinc",),
        prims=False,
        core=False,
    ),
    Elementwise(
        name="logit",
        promotion="floating",
        aten="logit",
        aliases=("special_logit",),
        prims=False,
        core=False,
    ),
    Elementwise(
        name="clamp",
        aten="clamp",
        overloads=("default", "Tensor"),
        aliases=("clip",),
        prims=False,
        composed=True,
    ),
    # Questions and logic.
    _question("isfinite", complex=True),
    _question("isinf", prims=False, core=True),
    _question("isnan", prims=False, core=True),
    _question("isneginf", prims=False),
    _question("isposinf", prims=False),
    _question("signbit", numpy=""),
    _logic("logical_not"),
    _logic("logical_and", operands=2),
    _logic("logical_or", operands=2),
    _logic("logical_xor", operands=2),
    # Relations.
    _comparison("eq", "equal", complex=True),
    _comparison("ge", "greater_equal", "greater_equal"),
    _comparison("gt", "greater", "greater"),
    _comparison("le", "less_equal", "less_equal"),
    _comparison("lt", "less", "less"),
    _comparison("ne", "not_equal", "not_equal", complex=True),
    # Of two numbers.
    _arithmetic("add", "add", composed=True, loop="arith.addf", integer="arith.addi", complex=True),
    _arithmetic(
        "sub",
        "subtract",
        promotion="subtraction",
        aliases=("subtract",),
        composed=True,
        loop="arith.subf",
        integer="arith.subi",
        complex=True,
    ),
    _arithmetic(
        "mul",
        "multiply",
        aliases=("multiply",),
        loop="arith.mulf",
        integer="arith.muli",
        complex=True,
    ),
    _arithmetic(
        "div",
        "",
        promotion="floating",
        aliases=("divide", "true_divide"),
        loop="arith.divf",
        integer="arith.divsi",
        unsigned="arith.divui",
        complex=True,
    ),
    _arithmetic(
        "div_mode",
        "",
        promotion="division_with_mode",
        aten="div",
        overloads=("Tensor_mode", "Scalar_mode"),
        aliases=("divide",),
        prims=False,
        composed=True,
    ),
    _arithmetic(
        "fmod",
        "fmod",
        loop=SPECIAL_OP,
        integer="arith.remsi",
        unsigned="arith.remui",
        vector="remainder",
        outlined=True,
        cost="function",
    ),
    _arithmetic("remainder", ""),
    _arithmetic(
        "maximum",
        "maximum",
        overloads=("default",),
        loop="arith.maximumf",
        integer="arith.maxsi",
        unsigned="arith.maxui",
        bools=True,
    ),
    _arithmetic(
        "minimum",
        "minimum",
        overloads=("default",),
        loop="arith.minimumf",
        integer="arith.minsi",
        unsigned="arith.minui",
        bools=True,
    ),
    _arithmetic("fmax", "fmax", overloads=("default",), core=False),
    _arithmetic("fmin", "fmin", overloads=("default",), core=False),
    _bits("bitwise_and", aliases=("__and__",), integer="arith.andi"),
    _bits("bitwise_or", aliases=("__or__",), integer="arith.ori"),
    _bits("bitwise_xor", aliases=("__xor__",), integer="arith.xori"),
    _arithmetic("shift_left", "", aten="bitwise_left_shift", overloads=("Tensor",)),
    _arithmetic("shift_right_arithmetic", "", aten="bitwise_right_shift", overloads=("Tensor",)),
    _arithmetic(
        "atan2",
        "arctan2",
        promotion="floating",
        overloads=("default",),
        aliases=("arctan2",),
        loop="math.atan2",
        vector="inverse_trigonometric",
        cost="function",
    ),
    _arithmetic("hypot", "hypot", overloads=("default",)),
    _arithmetic(
        "pow",
        "",
        overloads=("Tensor_Tensor", "Tensor_Scalar", "Scalar"),
        composed=True,
        loop="math.powf",
        vector="power",
        cost="function",
        complex=True,
    ),
    _arithmetic(
        "copysign",
        "copysign",
        promotion="floating",
        prims=False,
        core=False,
        loop="math.copysign",
        intrinsic="copysign",
    ),
    _arithmetic("logaddexp", "", overloads=("default",), prims=False, core=False),
    _arithmetic("nextafter", "", overloads=("default",)),
    _arithmetic(
        "gcd",
        "gcd",
        promotion="integral",
        overloads=("default",),
        integer=SPECIAL_OP,
        vector="integer",
        outlined=True,
        cost="special",
    ),
    # Special functions.
    _special("airy_ai", "airy", "special_airy_ai"),
    _special("bessel_i0", "modified_bessel", "i0", "special_i0", "special_modified_bessel_i0"),
    _special("bessel_i0e", "modified_bessel", "special_i0e"),
    _special("bessel_i1", "modified_bessel", "special_i1", "special_modified_bessel_i1"),
    _special("bessel_i1e", "modified_bessel", "special_i1e"),
    _special("bessel_j0", "bessel", "special_bessel_j0"),
    _special("bessel_j1", "bessel", "special_bessel_j1"),
    _special("bessel_y0", "bessel", "special_bessel_y0"),
    _special("bessel_y1", "bessel", "special_bessel_y1"),
    _polynomial("chebyshev_polynomial_t"),
    _polynomial("chebyshev_polynomial_u"),
    _polynomial("chebyshev_polynomial_v"),
    _polynomial("chebyshev_polynomial_w"),
    _special("digamma", "gamma", "digamma", "special_digamma", "special_psi"),
    _special("erf_inv", "inverse_error_function", "erfinv", "special_erfinv"),
    _special("erfc", "error_function", "erfc", "special_erfc", outlined=False, cost="function"),
    _special("erfcx", "error_function", "special_erfcx"),
    _polynomial("hermite_polynomial_h"),
    _polynomial("hermite_polynomial_he"),
    _special("igamma", "incomplete_gamma", "igamma", "special_gammainc", operands=2),
    _special("igammac", "incomplete_gamma", "igammac", "special_gammaincc", operands=2),
    _polynomial("laguerre_polynomial_l"),
    _polynomial("legendre_polynomial_p"),
    _special("lgamma", "gamma", "lgamma", "special_gammaln"),
    _special("modified_bessel_k0", "modified_bessel", "special_modified_bessel_k0"),
    _special("modified_bessel_k1", "modified_bessel", "special_modified_bessel_k1"),
    _special("ndtri", "inverse_error_function", "special_ndtri"),
    _special("scaled_modified_bessel_k0", "modified_bessel", "special_scaled_modified_bessel_k0"),
    _special("scaled_modified_bessel_k1", "modified_bessel", "special_scaled_modified_bessel_k1"),
    _special(
        "sigmoid",
        "logistic",
        "sigmoid",
        "special_expit",
        composed=True,
        outlined=False,
        cost="curve",
    ),
    _special("spherical_bessel_j0", "bessel", "special_spherical_bessel_j0"),
    _special("zeta", "zeta", "special_zeta", operands=2),
)
