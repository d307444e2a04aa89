"""`lgamma` and `digamma` of f64 against 200 bits of mpmath, in units of the last place."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import lamina

rng = np.random.default_rng(0)
RANGES = {
    "up to the pole": np.concatenate(
        [rng.uniform(0, 0.5, 600), 10.0 ** rng.uniform(-300, -1, 100)]
    ),
    "between the zeros": rng.uniform(0.5, 3, 800),
    "at 1": 1 + rng.standard_normal(200) * 10.0 ** rng.uniform(-15, -2, 200),
    "at 2": 2 + rng.standard_normal(200) * 10.0 ** rng.uniform(-15, -2, 200),
    "recurrence": rng.uniform(3, 8, 800),
    "Stirling's series": 10.0 ** rng.uniform(0.9, 300, 300),
    "left of the pole": rng.uniform(-1, 0, 300),
    "zeros between poles": rng.uniform(-4, -2, 800),
    "zeros beside poles": -np.repeat(np.arange(3.0, 19), 40)
    + rng.standard_normal(640) * 10.0 ** rng.uniform(-13, -1, 640),
    "at the first zero below 0": -2.4570247382208006 + rng.standard_normal(100) * 1e-9,
}
MOST = {"between the zeros": 5, "zeros between poles": 4}
"""Units that are more than 3."""


@pytest.mark.parametrize("name", RANGES)
def test_lgamma(name: str) -> None:
    """Around 1.46, its least value, the series for the zero at 1 loses two bits."""
    x = RANGES[name]
    kind = f"tensor<{len(x)}xf64>"
    text = f"""func.func @main(%x: {kind}) -> {kind} {{
      %0 = aten.lgamma.default(%x) : ({kind}) -> {kind}
      func.return %0 : {kind}
    }}"""
    made = lamina.compile(text, cache=False)(x)
    with mpmath.workprec(200):
        for at, value in zip(x.tolist(), made.tolist(), strict=True):
            right = mpmath.re(mpmath.loggamma(at))
            error = abs(mpmath.mpf(value) - right) / float(np.spacing(abs(float(right))))
            assert error <= MOST.get(name, 3), at


DIGAMMA_RANGES = {
    "up to the pole": rng.uniform(0, 1, 300),
    "beside its zero": 1.4616321449683623
    + rng.standard_normal(200) * 10.0 ** rng.uniform(-14, -2, 200),
    "between 1 and 2": rng.uniform(1, 2, 300),
    "recurrence": rng.uniform(2, 12, 300),
    "beside poles": -np.repeat(np.arange(1.0, 11), 30)
    + rng.standard_normal(300) * 10.0 ** rng.uniform(-12, -3, 300),
}


@pytest.mark.parametrize("name", DIGAMMA_RANGES)
def test_digamma(name: str) -> None:
    x = DIGAMMA_RANGES[name]
    kind = f"tensor<{len(x)}xf64>"
    text = f"""func.func @main(%x: {kind}) -> {kind} {{
      %0 = aten.digamma.default(%x) : ({kind}) -> {kind}
      func.return %0 : {kind}
    }}"""
    made = lamina.compile(text, cache=False)(x)
    with mpmath.workprec(200):
        for at, value in zip(x.tolist(), made.tolist(), strict=True):
            right = mpmath.digamma(at)
            error = abs(mpmath.mpf(value) - right) / float(np.spacing(abs(float(right))))
            assert error <= (8 if name == "recurrence" else 4), at
