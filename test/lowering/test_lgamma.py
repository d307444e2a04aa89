"""`lgamma` of f64 against 200 bits of mpmath, in units of the last place of the result."""

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
}


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
            assert error <= (5 if name == "between the zeros" else 3), at
