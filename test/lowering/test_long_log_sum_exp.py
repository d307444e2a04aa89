"""Sums of exponentials below a maximum, of rows so long that they are split."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, f64

import lamina
from lamina.passes.loop.join_softmaxes import softmax_monoid
from lamina.runtime.interpreters.monoid_laws import verify_laws

torch = pytest.importorskip("torch")
LENGTH = 1 << 17
LINE = f"tensor<{LENGTH}xf32>"
RANDOM = np.random.default_rng(9)


def log_sum_exp(kind: str) -> str:
    return f"""func.func @main(%x: tensor<2x{LENGTH}x{kind}>) -> tensor<2x{kind}> {{
      %r = aten.logsumexp.default(%x, [1]) : (tensor<2x{LENGTH}x{kind}>) -> tensor<2x{kind}>
      func.return %r : tensor<2x{kind}>
    }}"""


SUM_BELOW = f"""func.func @main(%x: {LINE}) -> (tensor<f32>, tensor<f32>) {{
  %m = loop.generic (i) in [{LENGTH}] reads(%x[i] : {LINE}) writes([] max : tensor<f32>) {{
  ^bb0(%p: f32):
    loop.yield %p : f32
  }}
  %s = loop.generic (i) in [{LENGTH}] reads(%x[i] : {LINE}, %m[] : tensor<f32>)
      writes([] add : tensor<f32>) {{
  ^bb0(%p: f32, %q: f32):
    %d = arith.subf %p, %q : f32
    %e = math.exp %d : f32
    loop.yield %e : f32
  }}
  func.return %m, %s : tensor<f32>, tensor<f32>
}}"""

SPECIAL = {
    "none": lambda x: x,
    "far": lambda x: x * 100 - 3e4,
    "rising": lambda x: x + np.arange(LENGTH, dtype=x.dtype) / 50,
    "part of -inf": lambda x: np.where(np.arange(LENGTH) < 9000, -np.inf, x - 500).astype(x.dtype),
    "all but one": lambda x: np.where(np.arange(LENGTH) == 70000, x, -np.inf).astype(x.dtype),
    "-inf": lambda x: np.full_like(x, -np.inf),
    "inf": lambda x: np.where(np.arange(LENGTH) == 5, np.inf, x).astype(x.dtype),
    "both": lambda x: np.where(x > 1, np.inf, -np.inf).astype(x.dtype),
    "nan": lambda x: np.where(np.arange(LENGTH) == 99999, np.nan, x).astype(x.dtype),
}


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", SPECIAL)
def test_log_sum_exp(name: str, kind: str) -> None:
    dtype = np.float32 if kind == "f32" else np.float64
    x = SPECIAL[name](RANDOM.standard_normal((2, LENGTH)).astype(dtype))
    made = torch.from_numpy(np.asarray(lamina.compile(log_sum_exp(kind))(x)))
    torch.testing.assert_close(made, torch.from_numpy(x).logsumexp(1), equal_nan=True)


@pytest.mark.parametrize("name", SPECIAL)
def test_sum_below_the_maximum(name: str) -> None:
    """As it says: of nothing but -inf, or with an infinite element, it is NaN."""
    x = SPECIAL[name](RANDOM.standard_normal(LENGTH).astype(np.float32))
    largest, total = (torch.as_tensor(v) for v in lamina.compile(SUM_BELOW)(x))
    given = torch.from_numpy(x).double()
    torch.testing.assert_close(largest.double(), given.amax(), equal_nan=True)
    wanted = (given - given.amax()).exp().sum()
    torch.testing.assert_close(total.double(), wanted, rtol=1e-5, atol=0, equal_nan=True)


def test_laws() -> None:
    largest = RANDOM.integers(-9, 9, 60).astype(np.float64)
    total = RANDOM.random(60) + 1
    largest[::9], total[::9] = -np.inf, 0
    verify_laws(softmax_monoid(f64), [largest, total], 1e-12)
    verify_laws(softmax_monoid(f32), [largest.astype(np.float32), total.astype(np.float32)], 1e-5)
