"""Near-minimax polynomials, for the tables in this folder.

`python -m lamina.codegen.vector_math.fit` writes `coefficients.py`; needs mpmath, which the
compiler itself does not.
"""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

Function = Callable[[Any], Any]
Entry = tuple[Function, Function, float, float, int, bool]


def least_squares(
    function: Function, weight: Function, low: float, high: float, powers: list[int]
) -> tuple[list[Any], Any]:
    """Coefficients c of sum c[i] x^powers[i] near `function`, with errors times `weight`.

    Least squares on points spread like Chebyshev's: within a small factor of minimax, and never
    ill-behaved. Gives (coefficients, largest weighted error), as mpmath numbers.
    """
    import mpmath as mp

    n = len(powers)
    middle, half = (mp.mpf(low) + mp.mpf(high)) / 2, (mp.mpf(high) - mp.mpf(low)) / 2
    count = 16 * n + 9
    grid = [middle + half * mp.cos(mp.pi * (k + mp.mpf(1) / 2) / count) for k in range(count)]
    rows: list[tuple[list[Any], Any]] = []
    for x in grid:
        w = abs(weight(x))
        rows.append(([w * x**p for p in powers], w * function(x)))
    normal = mp.matrix(n, n)
    right = mp.matrix(n, 1)
    for terms, value in rows:
        for i in range(n):
            right[i] += terms[i] * value
            for j in range(n):
                normal[i, j] += terms[i] * terms[j]
    solution = mp.lu_solve(normal, right)
    coefficients = [solution[i] for i in range(n)]
    errors = (abs(mp.fdot(terms, coefficients) - value) for terms, value in rows)
    return coefficients, max(errors)


def rounded(
    function: Function, weight: Function, low: float, high: float, powers: list[int], single: bool
) -> tuple[list[float], float]:
    """As `least_squares`, rounded to f32 or f64: lowest power first, the rest fitted again."""
    import mpmath as mp

    mp.mp.dps = 60
    fixed: dict[int, float] = {}
    for done in range(len(powers)):

        def remainder(x: Any) -> Any:
            return function(x) - sum(c * x**p for p, c in fixed.items())

        coefficients, _ = least_squares(remainder, weight, low, high, powers[done:])
        lowest = float(coefficients[0])
        fixed[powers[done]] = struct.unpack("f", struct.pack("f", lowest))[0] if single else lowest
    points = [mp.mpf(low) + (mp.mpf(high) - mp.mpf(low)) * k / 500 for k in range(501)]
    worst = max(
        abs(weight(x) * (sum(c * x**p for p, c in fixed.items()) - function(x))) for x in points
    )
    return [fixed[p] for p in powers], float(worst)


def _over_square(value: Function, limit: str) -> Function:
    """s -> (value(sqrt s) / sqrt s - 1) / s, with its limit at 0."""
    import mpmath as mp

    def function(s: Any) -> Any:
        if s < mp.mpf(10) ** -18:
            return mp.mpf(limit) if "/" not in limit else _fraction(limit)
        x = mp.sqrt(s)
        return (value(x) / x - 1) / s

    return function


def _fraction(text: str) -> Any:
    import mpmath as mp

    above, below = text.split("/")
    return mp.mpf(above) / mp.mpf(below)


def _table() -> dict[str, Entry]:
    """name -> (function, weight, low, high, number of coefficients, single)."""
    import mpmath as mp

    edge = 0.3466 + 1e-4  # ln2 / 2, and a little for the rounding of n
    tan_eighth = 0.41421357

    def exp_tail(x: Any) -> Any:
        return (mp.expm1(x) - x) / x**2 if x else mp.mpf(1) / 2

    def exp2_slope(x: Any) -> Any:
        return (mp.power(2, x) - 1) / x if x else mp.log(2)

    def log_tail(x: Any) -> Any:
        return (mp.log1p(x) - x + x**2 / 2) / x**3 if abs(x) > 1e-12 else mp.mpf(1) / 3

    def relative_square(s: Any) -> Any:
        return s

    def cos_tail(s: Any) -> Any:
        return (mp.cos(mp.sqrt(s)) - 1 + s / 2) / s**2 if s > 1e-15 else mp.mpf(1) / 24

    def scaled_erfc(t: Any) -> Any:
        x = 4 * (1 + t) / (1 - t)
        return (1 + 2 * x) * mp.erfc(x) * mp.exp(x * x)

    return {
        "exp32": (exp_tail, lambda x: x**2 / mp.exp(x) + mp.mpf(10) ** -6, -edge, edge, 5, True),
        # for remainders of at most half a sixteenth of ln2
        "exp32_short": (exp_tail, lambda x: x**2, -edge / 16, edge / 16, 2, True),
        "exp64": (exp_tail, lambda x: x**2 / mp.exp(x) + mp.mpf(10) ** -12, -edge, edge, 11, False),
        "expm1_32": (exp_tail, lambda x: abs(x) + mp.mpf(10) ** -6, -edge, edge, 5, True),
        "expm1_64": (exp_tail, lambda x: abs(x) + mp.mpf(10) ** -12, -edge, edge, 12, False),
        "exp2_32": (exp2_slope, lambda x: abs(x) + mp.mpf(10) ** -6, -0.5, 0.5, 6, True),
        "exp2_64": (exp2_slope, lambda x: abs(x) + mp.mpf(10) ** -12, -0.5, 0.5, 12, False),
        "log32": (log_tail, lambda x: x**2, 2**-0.5 - 1, 2**0.5 - 1, 8, True),
        # with s = f / (2 + f): (log(1 + f) / (2 s) - 1) / s^2 in s^2
        "log64": (
            _over_square(mp.atanh, "1/3"),
            relative_square,
            0.0,
            0.02945,
            9,
            False,
        ),
        "tanh32": (_over_square(mp.tanh, "-1/3"), relative_square, 0.0, 0.16, 4, True),
        "tanh64": (_over_square(mp.tanh, "-1/3"), relative_square, 0.0, 0.16, 9, False),
        "sinh64": (_over_square(mp.sinh, "1/6"), relative_square, 0.0, 1.0, 9, False),
        "sin64": (_over_square(mp.sin, "-1/6"), relative_square, 0.0, 0.617, 7, False),
        "cos64": (cos_tail, lambda s: s**2 + mp.mpf(10) ** -9, 0.0, 0.617, 7, False),
        "atan64": (
            _over_square(mp.atan, "-1/3"),
            relative_square,
            0.0,
            tan_eighth**2,
            13,
            False,
        ),
        "asin64": (_over_square(mp.asin, "1/6"), relative_square, 0.0, 0.2501, 13, False),
        "erf32_small": (
            lambda s: mp.erf(mp.sqrt(s)) / mp.sqrt(s) - 1 if s else 2 / mp.sqrt(mp.pi) - 1,
            lambda s: mp.mpf(1),
            0.0,
            1.0,
            7,
            True,
        ),
        "erf64_small": (
            lambda s: mp.erf(mp.sqrt(s)) / mp.sqrt(s) - 1 if s else 2 / mp.sqrt(mp.pi) - 1,
            lambda s: mp.mpf(1),
            0.0,
            1.0,
            15,
            False,
        ),
        "erf32_large": (lambda x: mp.log(mp.erfc(x), 2), mp.erfc, 0.98, 3.95, 7, True),
        # (1 + 2 x) erfc(x) e^(x^2) with t = (x - 4) / (x + 4)
        "erfcx64": (scaled_erfc, lambda t: mp.mpf(1), -1.0, 0.746, 25, False),
        "sinh32": (_over_square(mp.sinh, "1/6"), relative_square, 0.0, 1.0, 4, True),
        "sin32": (_over_square(mp.sin, "-1/6"), relative_square, 0.0, 2.48, 4, True),
        "atan32": (_over_square(mp.atan, "-1/3"), relative_square, 0.0, tan_eighth**2, 5, True),
        "asin32": (_over_square(mp.asin, "1/6"), relative_square, 0.0, 0.2501, 6, True),
        "atanh32": (_over_square(mp.atanh, "1/3"), relative_square, 0.0, 0.2501, 7, True),
        "erfcx32": (scaled_erfc, lambda t: mp.mpf(1), -0.8, 0.45, 13, True),
        # what is enough of f64 for a power in f32
        "log64_short": (_over_square(mp.atanh, "1/3"), relative_square, 0.0, 0.02945, 5, False),
        "exp2_64_short": (exp2_slope, lambda x: abs(x) + mp.mpf(10) ** -6, -0.5, 0.5, 7, False),
        "cbrt64": (mp.cbrt, lambda x: 1 / mp.cbrt(x), 0.35, 2.83, 7, False),
    }


def main() -> None:
    """Writes `coefficients.py`."""
    parts = [
        '"""Polynomial coefficients, highest power first; written by `fit.py`, not by hand."""',
        "",
    ]
    for name, (function, weight, low, high, count, single) in _table().items():
        found, worst = rounded(function, weight, low, high, list(range(count)), single)
        parts.append(f"#: largest weighted error 2^{_log2(worst):.1f} on {low:.6g} .. {high:.6g}")
        parts.append(f"{name.upper()} = (")
        parts += [f"    {c!r}," for c in reversed(found)]
        parts += [")", ""]
    Path(__file__).with_name("coefficients.py").write_text("\n".join(parts))


def _log2(x: float) -> float:
    from math import log2

    return log2(x) if x else float("-inf")


if __name__ == "__main__":
    main()
