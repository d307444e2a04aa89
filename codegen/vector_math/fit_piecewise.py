"""Polynomials for `piecewise.py`, interval by interval.

`python -m lamina.codegen.vector_math.fit_piecewise` writes `piecewise_erf.py` and its like, one for
each function; needs mpmath, which the compiler itself does not.
"""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lamina.codegen.vector_math.fit import least_squares

INTERVALS = 16


def _single(value: Any) -> float:
    return struct.unpack("f", struct.pack("f", float(value)))[0]


def pieces(
    function: Callable[[Any], Any], step: float, degree: int
) -> tuple[list[list[float]], float]:
    """Rows (high, low, slopes by falling power) and the largest relative error.

    `function` is the quotient f(x) / x, its limit at 0.
    """
    import mpmath as mp

    rows: list[list[float]] = [[] for _ in range(degree + 2)]
    worst = mp.mpf(0)
    for interval in range(INTERVALS):
        center = mp.mpf(interval) * step
        low = mp.mpf(0) if interval == 0 else -mp.mpf(step) / 2

        def near(t: Any, center: Any = center) -> Any:
            return function(center + t)

        found, error = least_squares(
            near, lambda t, c=center: 1 / function(c + t), low, step / 2, list(range(degree + 1))
        )
        worst = max(worst, error)
        high = _single(found[0])
        for row, value in zip(rows, [high, found[0] - high, *found[:0:-1]], strict=True):
            row.append(_single(value))
    return rows, float(worst)


def _functions() -> dict[str, tuple[Callable[[Any], Any], float, float, int]]:
    """Name: quotient, step, limit and degree. At the limit the result is 1 in f32.

    But for atan: larger arguments go through their inverse.
    """
    import mpmath as mp

    def quotient(value: Callable[[Any], Any], slope: Any) -> Callable[[Any], Any]:
        return lambda x: value(x) / x if x > 1e-15 else slope

    return {
        "erf": (quotient(mp.erf, 2 / mp.sqrt(mp.pi)), 0.2578125, 3.99, 5),
        "atan": (quotient(mp.atan, mp.mpf(1)), 0.06640625, 1.0, 4),
        "tanh": (quotient(mp.tanh, mp.mpf(1)), 0.59375, 9.2, 7),
    }


def main() -> None:
    """Writes the tables."""
    import mpmath as mp

    mp.mp.dps = 50
    head = '"""Polynomials by pieces; written by `fit_piecewise.py`, not by hand."""\n\n'
    head += "from lamina.codegen.vector_math.piecewise import Pieces\n\n"
    for name, (function, step, limit, degree) in _functions().items():
        (high, low, *slopes), worst = pieces(function, step, degree)
        body = "".join(f"        {_row(row)},\n" for row in slopes)
        text = (
            f"#: largest relative error 2^{float(mp.log(worst, 2)):.1f}\n"
            f"{name.upper()} = Pieces(\n"
            f"    step={step},\n    limit={limit},\n    high={_row(high)},\n    low={_row(low)},\n"
            f"    slopes=(\n{body}    ),\n)\n"
        )
        Path(__file__).with_name(f"piecewise_{name}.py").write_text(head + text)


def _row(numbers: list[float]) -> str:
    return "(" + ", ".join(repr(number) for number in numbers) + ")"


if __name__ == "__main__":
    main()
