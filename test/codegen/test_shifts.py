"""Shifts by any amount: what MLIR leaves open is 0, or the sign, natively and when interpreted."""

import numpy as np
import pytest

import lamina
from lamina.runtime.interpreters import run_module

TEXT = """
func.func @main(%x: tensor<{n}x{t}>, %y: tensor<{n}x{t}>)
    -> (tensor<{n}x{t}>, tensor<{n}x{t}>, tensor<{n}x{t}>) {{
  %l, %s, %u = loop.generic (d0) in [{n}] reads(%x[d0] : tensor<{n}x{t}>, %y[d0] : tensor<{n}x{t}>)
      writes([d0] store : tensor<{n}x{t}>, [d0] store : tensor<{n}x{t}>,
             [d0] store : tensor<{n}x{t}>) {{
  ^bb0(%a: {t}, %b: {t}):
    %left = arith.shli %a, %b : {t}
    %signed = arith.shrsi %a, %b : {t}
    %unsigned = arith.shrui %a, %b : {t}
    loop.yield %left, %signed, %unsigned : {t}, {t}, {t}
  }}
  func.return %l, %s, %u : tensor<{n}x{t}>, tensor<{n}x{t}>, tensor<{n}x{t}>
}}"""


def shifted(value: int, amount: int, bits: int) -> tuple[int, int, int]:
    """Python's integers have no width; amounts below 0 are beyond any."""
    amount = amount if 0 <= amount < bits else bits
    low = value % (1 << bits)
    return ((low << amount) % (1 << bits), value >> amount, low >> amount)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("constant", [False, True])
def test_any_amount(bits: int, constant: bool) -> None:
    kind = np.dtype(f"i{bits // 8}")
    values = [1, -1, 5, -100, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))]
    amounts = [0, 1, bits - 1, bits, bits + 1, 100, -1, -bits, -128]
    pairs = [(v, a) for v in values for a in amounts]
    x = np.array([v for v, _ in pairs], kind)
    y = np.array([a for _, a in pairs], kind)
    text = TEXT.format(n=len(pairs), t=f"i{bits}")
    if constant:
        y[:] = bits + 1
        text = text.replace("%left =", f"%c = arith.constant {bits + 1} : i{bits}\n    %left =")
        text = text.replace("%a, %b :", "%a, %c :")
    expected = [shifted(int(v), int(a), bits) for v, a in zip(x, y, strict=True)]
    native = lamina.compile(text)(x, y)
    interpreted = run_module(lamina.parse(text), [x, y])
    for number, (ours, theirs) in enumerate(zip(native, interpreted, strict=True)):
        wanted = np.array([e[number] % (1 << bits) for e in expected], np.uint64)
        np.testing.assert_array_equal(ours.view(f"u{bits // 8}"), wanted)
        np.testing.assert_array_equal(theirs.view(f"u{bits // 8}"), wanted)
