"""Chebyshev series for the special functions of this folder.

`python -m lamina.codegen.vector_math.fit_chebyshev` writes `chebyshev_gamma.py` and its like,
one for each family; needs mpmath, which the compiler itself does not. Each row: a smooth function
and its interval.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Function = Callable[[Any], Any]
Entry = tuple[Function, float, float]

ZEROS = (
    (-2.457, -2.625, -2.3125),
    (-2.748, -2.8125, -2.625),
    (-3.1436, -3.21875, -3.078125),
    (-3.9553, -3.96875, -3.9375),
    (-4.0394, -4.0625, -4.015625),
)
"""Zeros of ln |gamma|, roughly, and intervals around them, whose middles are exact in f64."""
POINTS = 72
"""Where each function is sampled; the series are far shorter."""
CUT = 1e-17
"""Coefficients below this part of the largest are left out at the end."""


def series(function: Function, low: float, high: float) -> list[float]:
    """c with sum c[k] T_k(t) near function(x), x on low .. high and t on -1 .. 1."""
    import mpmath as mp

    with mp.workdps(45):
        middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
        angles = [mp.pi * (j + mp.mpf(1) / 2) / POINTS for j in range(POINTS)]
        values = [function(middle + half * mp.cos(angle)) for angle in angles]
        found: list[Any] = []
        for k in range(POINTS):
            terms = (v * mp.cos(k * a) for v, a in zip(values, angles, strict=True))
            found.append(2 * mp.fsum(terms) / POINTS)
        found[0] /= 2
    most = max(abs(c) for c in found)
    while abs(found[-1]) < CUT * most:
        found.pop()
    return [float(c) for c in found]


def _gamma_rows() -> dict[str, Entry]:
    import mpmath as mp

    def near(pole: int) -> Function:
        return lambda x: mp.loggamma(x).real / (x - pole) if x != pole else mp.psi(0, pole)

    def beside(guess: float, low: float, high: float) -> Entry:
        zero = mp.findroot(lambda x: mp.loggamma(x).real, guess)
        return lambda x: mp.loggamma(x).real / (x - zero), low, high

    def digamma_zero() -> Any:
        return mp.findroot(lambda x: mp.psi(0, x), 1.46)

    return {
        # ln gamma(x) / (x - 1), ln gamma(x) / (x - 2)
        "lgamma_one": (near(1), 0.5, 1.5),
        "lgamma_two": (near(2), 1.5, 3.0),
        # ln |gamma(x)| / (x - zero) beside its first zeros below -2
        **{f"lgamma_zero_{n}": beside(*row) for n, row in enumerate(ZEROS)},
        # digamma(x) / (x - zero)
        "digamma_one": (lambda x: mp.psi(0, x) / (x - digamma_zero()), 1.0, 2.0),
        # erf_inv(y) / y by s = y^2
        "erf_inv": (
            lambda s: mp.erfinv(mp.sqrt(s)) / mp.sqrt(s) if s else mp.sqrt(mp.pi) / 2,
            0.0,
            0.25,
        ),
    }


def _hankel(order: int, first: bool) -> Function:
    """P or Q x / 8 of Hankel's expansion by z = (8 / x)^2 (DLMF 10.17)."""
    import mpmath as mp

    def function(z: Any) -> Any:
        if z < mp.mpf(10) ** -9:
            return mp.mpf(1) if first else mp.mpf(4 * order**2 - 1) / 64
        x = 8 / mp.sqrt(z)
        angle = x - (2 * order + 1) * mp.pi / 4
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        scale = mp.sqrt(mp.pi * x / 2)
        if first:
            return scale * (j * mp.cos(angle) + y * mp.sin(angle))
        return scale * (y * mp.cos(angle) - j * mp.sin(angle)) * x / 8

    return function


def _bessel_rows() -> dict[str, Entry]:
    import mpmath as mp

    tiny = mp.mpf(10) ** -30

    def y0_rest(s: Any) -> Any:
        x = mp.sqrt(s + tiny)
        return mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)

    def y1_rest(s: Any) -> Any:
        x = mp.sqrt(s + mp.mpf(10) ** -20)
        return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x

    rows: dict[str, Entry] = {
        # by s = x^2 on 0 .. 64
        "j0": (lambda s: mp.besselj(0, mp.sqrt(s)), 0.0, 64.0),
        "j1": (lambda s: mp.besselj(1, mp.sqrt(s + tiny)) / mp.sqrt(s + tiny), 0.0, 64.0),
        "y0": (y0_rest, 0.0, 64.0),
        "y1": (y1_rest, 0.0, 64.0),
    }
    for order in (0, 1):
        rows[f"hankel_p{order}"] = (_hankel(order, True), 0.0, 1.0)
        rows[f"hankel_q{order}"] = (_hankel(order, False), 0.0, 1.0)
    return rows


def _modified_rows() -> dict[str, Entry]:
    import mpmath as mp

    tiny = mp.mpf(10) ** -25

    def scaled(order: int, inverse: bool) -> Function:
        def function(v: Any) -> Any:
            if not inverse:
                x = v + tiny
                return mp.besseli(order, x) * mp.exp(-x) / (x if order else 1)
            x = 8 / (v + tiny)
            if x > 200:
                return _asymptotic(order, x, -1) / mp.sqrt(2 * mp.pi)
            return mp.besseli(order, x) * mp.exp(-x) * mp.sqrt(x)

        return function

    def decaying(order: int) -> Function:
        def function(v: Any) -> Any:
            x = 2 / (v + tiny)
            if x > 200:
                return _asymptotic(order, x, 1) * mp.sqrt(mp.pi / 2)
            return mp.besselk(order, x) * mp.exp(x) * mp.sqrt(x)

        return function

    def k0_rest(s: Any) -> Any:
        x = mp.sqrt(s + tiny)
        return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)

    def k1_rest(s: Any) -> Any:
        x = mp.sqrt(s + tiny)
        return x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x))

    return {
        "i0_small": (scaled(0, False), 0.0, 8.0),
        "i0_large": (scaled(0, True), 0.0, 1.0),
        "i1_small": (scaled(1, False), 0.0, 8.0),
        "i1_large": (scaled(1, True), 0.0, 1.0),
        "k0_small": (k0_rest, 0.0, 4.0),
        "k0_large": (decaying(0), 0.0, 1.0),
        "k1_small": (k1_rest, 0.0, 4.0),
        "k1_large": (decaying(1), 0.0, 1.0),
    }


def _asymptotic(order: int, x: Any, sign: int) -> Any:
    """sum (sign)^k a_k(order) / x^k, without the factor in front (DLMF 10.40.1, 10.40.2)."""
    import mpmath as mp

    total = term = mp.mpf(1)
    for k in range(1, 40):
        term *= sign * mp.mpf(4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
        total += term
    return total


def _airy_rows() -> dict[str, Entry]:
    import mpmath as mp

    def growing(t: Any) -> Any:
        """By t = 2 / x^(3/2): 2 sqrt(pi) x^(1/4) e^z Ai(x), z = 2/3 x^(3/2) (DLMF 9.7.5)."""
        z = mp.mpf(4) / 3 / (t + mp.mpf(10) ** -20)
        if z > 150:
            total = term = mp.mpf(1)
            for k in range(1, 40):
                term *= -mp.mpf((6 * k - 5) * (6 * k - 1)) / (72 * k * z)
                total += term
            return total
        x = (3 * z / 2) ** (mp.mpf(2) / 3)
        return 2 * mp.sqrt(mp.pi) * x ** (mp.mpf(1) / 4) * mp.exp(z) * mp.airyai(x)

    def waving(first: bool) -> Function:
        """P, or Q z, by s = 1 / z^2 scaled to 1 at x = -6 (DLMF 9.7.9)."""

        def function(s: Any) -> Any:
            z = _airy_edge() / mp.sqrt(s + mp.mpf(10) ** -12)
            x = (3 * z / 2) ** (mp.mpf(2) / 3)
            scale = mp.sqrt(mp.pi) * x ** (mp.mpf(1) / 4)
            angle = z + mp.pi / 4
            a, b = mp.airyai(-x) * scale, mp.airybi(-x) * scale
            if first:
                return a * mp.sin(angle) + b * mp.cos(angle)
            return (b * mp.sin(angle) - a * mp.cos(angle)) * z

        return function

    return {
        "airy_middle": (lambda x: mp.airyai(x), -6.0, 2.0),
        "airy_large": (growing, 0.0, 0.70710678118654757),
        "airy_p": (waving(True), 0.0, 1.0),
        "airy_q": (waving(False), 0.0, 1.0),
    }


def _airy_edge() -> Any:
    import mpmath as mp

    return mp.mpf(2) / 3 * mp.mpf(6) ** (mp.mpf(3) / 2)


FAMILIES: dict[str, Callable[[], dict[str, Entry]]] = {
    "gamma": _gamma_rows,
    "bessel": _bessel_rows,
    "modified_bessel": _modified_rows,
    "airy": _airy_rows,
}
"""The rows of each file `chebyshev_FAMILY.py`."""


def main() -> None:
    """Writes the tables of all families."""
    import mpmath as mp

    mp.mp.dps = 45
    for family, rows in FAMILIES.items():
        parts = [
            '"""Chebyshev series, T_0 first; written by `fit_chebyshev.py`, not by hand."""',
            "",
        ]
        for name, (function, low, high) in rows().items():
            parts.append(f"#: on {low:.6g} .. {high:.6g}")
            parts.append(f"{name.upper()} = (")
            parts += [f"    {c!r}," for c in series(function, low, high)]
            parts += [")", ""]
        Path(__file__).with_name(f"chebyshev_{family}.py").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
