"""Vector math at the points that are hard for it, against 200 bits of mpmath.

Every exponent, the neighbourhoods of where a function overflows, vanishes, has a zero or a pole or
changes its formula, multiples of pi / 2 and ln 2, and random numbers; few in every run, many in the
long one.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lamina.codegen.target import Target
from lamina.codegen.vector_math import FUNCTIONS

mp = pytest.importorskip("mpmath")

MOST_ULP = 2.0
BITS = 200
FEW, MANY = 1, 8
"""Numbers of each exponent; the other points grow alike."""

THRESHOLDS = [0.25, 0.4, 0.5, 1, 1.5, 2, 4, 5, 6, 10, 20, 22, 27, 0.7071067811865476, 2.718281828]

VectorFunction = Callable[..., Callable[..., np.ndarray]]


def asinh(x: Any) -> Any:
    """mpmath's own loses digits near 0."""
    square = x * x
    return mp.sign(x) * mp.log1p(abs(x) + square / (1 + mp.sqrt(1 + square)))


EXACT: dict[str, Callable[..., Any]] = {
    "acosh": lambda x: mp.log1p(x - 1 + mp.sqrt((x - 1) * (x + 1))),
    "asinh": asinh,
    "atanh": lambda x: (mp.log1p(x) - mp.log1p(-x)) / 2,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "exp2": lambda x: mp.mpf(2) ** x,
    "log10": lambda x: mp.log(x, 10),
    "log2": lambda x: mp.log(x, 2),
    "pow": mp.power,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
}
"""Where mpmath has no function of the name, or one that is not exact enough."""

WITHIN: dict[str, tuple[float, float]] = {
    "acos": (-1, 1),
    "acosh": (1, np.inf),
    "asin": (-1, 1),
    "atanh": (-1, 1),
    "erf": (-30, 30),
    "erfc": (-30, 30),
    "log": (0, np.inf),
    "log10": (0, np.inf),
    "log1p": (-1, np.inf),
    "log2": (0, np.inf),
    "rsqrt": (0, np.inf),
} | dict.fromkeys(("cosh", "exp", "exp2", "expm1", "sigmoid", "sinh", "tanh"), (-2000, 2000))
"""Where a function has a value that is worth the digits; beyond are special values, tested with
the others."""


def every_exponent(dtype: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of each exponent, subnormals included, with random, full and empty mantissas."""
    limits = np.finfo(dtype)
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    exponents = np.repeat(np.arange(2**limits.iexp - 1, dtype=unsigned), count)
    mantissas = rng.integers(0, 2**limits.nmant, exponents.size, dtype=unsigned)
    for start, step, value in ((0, 7, 0), (3, 11, 2**limits.nmant - 1), (5, 13, 1)):
        mantissas[start::step] = value
    signs = rng.integers(0, 2, exponents.size, dtype=unsigned)
    signs <<= unsigned.type(limits.nmant + limits.iexp)
    return (signs | (exponents << unsigned.type(limits.nmant)) | mantissas).view(dtype)


def around(values: Any, dtype: str, steps: int) -> np.ndarray:
    """The values and some numbers next to each."""
    low = high = np.asarray(values, dtype)
    found = [low]
    for _ in range(steps):
        low, high = np.nextafter(low, -np.inf, dtype=dtype), np.nextafter(high, np.inf, dtype=dtype)
        found += [low, high]
    return np.concatenate(found)


def hard_points(dtype: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """What the module says, for functions of one operand."""
    limits = np.finfo(dtype)
    ends = np.log([limits.max, limits.tiny, limits.smallest_subnormal])
    tiny = [limits.tiny, limits.eps, limits.epsneg]
    marked = [*THRESHOLDS, *ends, *ends / np.log(2), *tiny]
    whole = [*range(1, 60), *rng.integers(1, 2**20, 40 * count)]
    whole += [int(x) for x in 2 ** rng.uniform(20, 50, 40 * count)]
    turns = [float(mp.pi / 2 * int(k)) for k in whole]
    # The multiples of pi / 2 that are nearest to a number of the type (Muller and others).
    nearest = 6381956970095103 * 2.0**797 if dtype == "float64" else 16367173 * 2.0**72
    steps = np.arange(-150, 150) / 2 * np.log(2)
    near_one = 1 + rng.integers(-60, 60, 40 * count) * float(limits.eps)
    return np.concatenate(
        [
            every_exponent(dtype, count * (6 if dtype == "float32" else 1), rng),
            *(around(np.multiply(marked, sign), dtype, 3) for sign in (1, -1)),
            around(turns, dtype, 1),
            around(steps, dtype, 1),
            np.array([nearest, *near_one], dtype),
            *(rng.uniform(-r, r, 100 * count).astype(dtype) for r in (1, 30, ends[0], -ends[2])),
        ]
    )


def hard_powers(dtype: str, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Bases and exponents: any result, the ends of the range, whole exponents."""
    x = np.abs(hard_points(dtype, count, rng))
    limits = np.finfo(dtype)
    ends = np.log([limits.max, limits.tiny, limits.smallest_subnormal]).astype(float)
    wanted = rng.uniform(ends[2], ends[0], x.size)
    wanted[::5] = ends[rng.integers(0, 3, wanted[::5].size)]
    y = (wanted / np.log(x.astype(float))).astype(dtype)
    y[1::5] = rng.integers(-10, 10, y[1::5].size)
    return [x, y]


def hard_angles(dtype: str, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Pairs of any numbers, and of numbers of about one size."""
    y = hard_points(dtype, count, rng)
    x = rng.permutation(y)
    x[::3] = y[::3] * 2.0 ** rng.uniform(-4, 4, x[::3].size).astype(dtype)
    return [y, x]


def hard_arguments(stem: str, dtype: str, count: int) -> list[np.ndarray]:
    """Finite arguments whose results have digits, a multiple of 32 of them."""
    rng = np.random.default_rng(5)
    if stem == "pow":
        arrays = hard_powers(dtype, count, rng)
        keep = np.abs(arrays[1] * np.log(arrays[0].astype(float))) < 2000
    elif stem == "atan2":
        arrays = hard_angles(dtype, count, rng)
        keep = arrays[1] != 0
    else:
        arrays = [hard_points(dtype, count, rng)]
        low, high = WITHIN.get(stem, (-np.inf, np.inf))
        keep = (arrays[0] > low) & (arrays[0] < high)
    for array in arrays:
        keep &= np.isfinite(array)
    arrays = [array[keep] for array in arrays]
    return [np.resize(array, -(-array.size // 32) * 32) for array in arrays]


def ulps(got: float, exact: Any, limits: np.finfo) -> float:
    """Distance in units in the last place of the exact value; overflow counts from 2^maxexp."""
    if exact == 0:
        return 0.0 if got == 0 else np.inf
    exponent = min(max(mp.mag(exact) - 1, limits.minexp), limits.maxexp - 1)
    unit = mp.mpf(2) ** (exponent - limits.nmant)
    if np.isinf(got):
        got = mp.sign(got) * mp.mpf(2) ** limits.maxexp
        exact = mp.sign(exact) * min(abs(exact), abs(got)) if exact * got > 0 else exact
    return float(abs(mp.mpf(got) - exact) / unit) if not mp.isnan(got) else np.inf


def assert_within(stem: str, got: np.ndarray, arrays: list[np.ndarray]) -> None:
    """All results within `MOST_ULP` of the reference."""
    exact = EXACT.get(stem) or getattr(mp, stem)
    limits = np.finfo(got.dtype)
    with mp.workprec(BITS):
        for value, *arguments in zip(got, *arrays, strict=True):
            wanted = exact(*(mp.mpf(float(a)) for a in arguments))
            distance = ulps(float(value), wanted, limits)
            assert distance <= MOST_ULP, f"{stem}{tuple(arguments)} = {value!r}, not {wanted}"


def check(stem: str, dtype: str, target: Target, build: VectorFunction, count: int) -> None:
    """One function in one dtype."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        arrays = hard_arguments(stem, dtype, count)
        lanes = target.lanes(8 * np.dtype(dtype).itemsize)
        assert_within(stem, build(stem, dtype, lanes, target)(*arrays), arrays)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stem", FUNCTIONS)
def test_hard_points(stem: str, dtype: str, vector_function: VectorFunction) -> None:
    check(stem, dtype, Target.host(), vector_function, FEW)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stem", FUNCTIONS)
def test_many_hard_points(
    stem: str, dtype: str, target: Target, vector_function: VectorFunction
) -> None:
    check(stem, dtype, target, vector_function, MANY)
