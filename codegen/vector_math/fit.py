"""Near-minimax polynomials, for the tables in this folder.

`python -m lamina.codegen.vector_math.fit NAME` prints the coefficients of one table entry; needs
mpmath, which the compiler itself does not.
"""

import struct
import sys
from collections.abc import Callable
from typing import Any

Function = Callable[[Any], Any]


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


def _table() -> dict[str, tuple[Any, ...]]:
    """name -> (function, weight, low, high, powers, single)."""
    import mpmath as mp

    half_ln2 = 0.3466 + 1e-4
    return {
        # (exp(x) - 1 - x) / x^2, error relative to exp
        "exp32": (
            lambda x: (mp.expm1(x) - x) / x**2 if x else mp.mpf(1) / 2,
            lambda x: x**2 / mp.exp(x) + mp.mpf(10) ** -6,
            -half_ln2,
            half_ln2,
            list(range(5)),
            True,
        ),
        "exp64": (
            lambda x: (mp.expm1(x) - x) / x**2 if x else mp.mpf(1) / 2,
            lambda x: x**2 / mp.exp(x) + mp.mpf(10) ** -12,
            -half_ln2,
            half_ln2,
            list(range(11)),
            False,
        ),
        # (expm1(x) - x) / x^2, error relative to expm1
        "expm132": (
            lambda x: (mp.expm1(x) - x) / x**2 if x else mp.mpf(1) / 2,
            lambda x: x**2 / mp.expm1(x) if x else mp.mpf(10) ** -6,
            -half_ln2,
            half_ln2,
            list(range(6)),
            True,
        ),
        "expm164": (
            lambda x: (mp.expm1(x) - x) / x**2 if x else mp.mpf(1) / 2,
            lambda x: x**2 / mp.expm1(x) if x else mp.mpf(10) ** -12,
            -half_ln2,
            half_ln2,
            list(range(12)),
            False,
        ),
        # 2^x - 1 over x, error relative to 2^x
        "exp2_32": (
            lambda x: (2**x - 1) / x if x else mp.log(2),
            lambda x: abs(x) / 2**x + mp.mpf(10) ** -6,
            -0.5,
            0.5,
            list(range(6)),
            True,
        ),
        "exp2_64": (
            lambda x: (mp.power(2, x) - 1) / x if x else mp.log(2),
            lambda x: abs(x) / 2**x + mp.mpf(10) ** -12,
            -0.5,
            0.5,
            list(range(12)),
            False,
        ),
        # (log1p(x) - x + x^2/2) / x^3
        "log32": (
            lambda x: (mp.log1p(x) - x + x**2 / 2) / x**3 if abs(x) > 1e-12 else mp.mpf(1) / 3,
            lambda x: abs(x**3 / mp.log1p(x)) if x else mp.mpf(10) ** -9,
            2**-0.5 - 1,
            2**0.5 - 1,
            list(range(8)),
            True,
        ),
        # erf(x)/x in x^2, |x| <= 1
        "erf32_small": (
            lambda s: mp.erf(mp.sqrt(s)) / mp.sqrt(s) if s else 2 / mp.sqrt(mp.pi),
            lambda s: mp.sqrt(s) / mp.erf(mp.sqrt(s)) if s else mp.sqrt(mp.pi) / 2,
            0.0,
            1.0,
            list(range(7)),
            True,
        ),
        # log2(erfc(x)), weighted by erfc
        "erf32_large": (
            lambda x: mp.log(mp.erfc(x), 2),
            lambda x: mp.erfc(x),
            0.98,
            3.95,
            list(range(8)),
            True,
        ),
    }


def main(names: list[str]) -> None:
    table = _table()
    for name in names or list(table):
        coefficients, worst = rounded(*table[name])
        print(f"{name}: largest error {worst:.3g} = 2^{_log2(worst):.1f}")
        for c in reversed(coefficients):
            print(f"    {c!r},")


def _log2(x: float) -> float:
    from math import log2

    return log2(x) if x else float("-inf")


if __name__ == "__main__":
    main(sys.argv[1:])
