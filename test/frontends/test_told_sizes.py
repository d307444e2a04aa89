"""Sizes that follow from others because there are as many elements, called with many numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamina

_DIMS = "lamina.dims = [#lamina.size<n in [0, 6]>, #lamina.size<d in [0, 64]>]"

PAIRS = f"""
func.func @main(%x: tensor<?x?xf32> {{{_DIMS}}}) -> tensor<?x?x2xf32> {{
  %n = aten.sym_size.int(%x, 0) : (tensor<?x?xf32>) -> i64
  %d = aten.sym_size.int(%x, 1) : (tensor<?x?xf32>) -> i64
  %two = arith.constant 2 : i64
  %pairs = arith.floordivsi %d, %two : i64
  %0 = aten.view.default(%x, [%n, %pairs, 2]) : (tensor<?x?xf32>, i64, i64) -> tensor<?x?x2xf32>
  %1 = aten.sum.dim_IntList(%0, [1], true) : (tensor<?x?x2xf32>) -> tensor<?x1x2xf32>
  %2 = aten.sub.Tensor(%0, %1) : (tensor<?x?x2xf32>, tensor<?x1x2xf32>) -> tensor<?x?x2xf32>
  func.return %2 : tensor<?x?x2xf32>
}}
"""

HALVES = PAIRS.replace("[%n, %pairs, 2]", "[%n, 2, %pairs]").replace("?x?x2", "?x2x?")
HALVES = HALVES.replace("?x1x2", "?x1x?")


@pytest.mark.parametrize("text", [PAIRS, HALVES], ids=["pairs", "halves"])
def test_a_split_size_follows(text: str) -> None:
    compiled = lamina.compile(text, versions="padded")
    random = np.random.default_rng(0)
    for n, d in ((3, 8), (1, 2), (6, 64), (5, 6), (0, 4), (2, 0)):
        x = random.standard_normal((n, d)).astype(np.float32)
        apart = x.reshape((n, d // 2, 2) if text is PAIRS else (n, 2, d // 2))
        found: Any = compiled(x)
        wanted = apart - apart.sum(1, keepdims=True)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(lamina.ExecutionError, match="another number of elements"):
        compiled(np.zeros((2, 7), np.float32))
    assert len(compiled.sizes) == 1


NUMBER = f"""
func.func @main(%x: tensor<?x?xf32> {{{_DIMS}}}, %y: tensor<4x2xf32>) -> tensor<?x?xf32> {{
  %n = aten.sym_size.int(%x, 0) : (tensor<?x?xf32>) -> i64
  %d = aten.sym_size.int(%x, 1) : (tensor<?x?xf32>) -> i64
  %two = arith.constant 2 : i64
  %pairs = arith.floordivsi %d, %two : i64
  %0 = aten.view.default(%x, [%n, %pairs, 2]) : (tensor<?x?xf32>, i64, i64) -> tensor<?x?x2xf32>
  %1 = aten.mul.Tensor(%0, %y) : (tensor<?x?x2xf32>, tensor<4x2xf32>) -> tensor<?x4x2xf32>
  %both = arith.muli %pairs, %two : i64
  %2 = aten.view.default(%1, [%n, %both]) : (tensor<?x4x2xf32>, i64, i64) -> tensor<?x?xf32>
  %3 = aten.add.Tensor(%2, %x) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %3 : tensor<?x?xf32>
}}
"""


def test_a_size_is_told_to_be_a_number() -> None:
    compiled = lamina.compile(NUMBER, versions="padded")
    random = np.random.default_rng(0)
    y = random.standard_normal((4, 2)).astype(np.float32)
    for n in (3, 6, 0):
        x = random.standard_normal((n, 8)).astype(np.float32)
        wanted = (x.reshape(n, 4, 2) * y).reshape(n, 8) + x
        np.testing.assert_allclose(compiled(x, y), wanted, rtol=1e-5, atol=1e-5)
    for wrong in ((3, 10), (3, 9), (3, 4)):
        with pytest.raises(lamina.ExecutionError, match=r"number of elements|is not 4"):
            compiled(np.zeros(wrong, np.float32), y)
    assert len(compiled.sizes) == 1


JOINED = f"""
func.func @main(%x: tensor<?x?xf32> {{{_DIMS}}}) -> tensor<?x8xf32> {{
  %n = aten.sym_size.int(%x, 0) : (tensor<?x?xf32>) -> i64
  %d = aten.sym_size.int(%x, 1) : (tensor<?x?xf32>) -> i64
  %two = arith.constant 2 : i64
  %pairs = arith.floordivsi %d, %two : i64
  %0 = aten.view.default(%x, [%n, %pairs, 2]) : (tensor<?x?xf32>, i64, i64) -> tensor<?x?x2xf32>
  %1 = aten.exp.default(%0) : (tensor<?x?x2xf32>) -> tensor<?x?x2xf32>
  %2 = aten.view.default(%1, [%n, 8]) : (tensor<?x?x2xf32>, i64) -> tensor<?x8xf32>
  func.return %2 : tensor<?x8xf32>
}}
"""


def test_a_padded_size_is_told_to_be_a_number() -> None:
    compiled = lamina.compile(JOINED, versions="padded")
    random = np.random.default_rng(0)
    for n in (3, 6, 0):
        x = random.standard_normal((n, 8)).astype(np.float32)
        np.testing.assert_allclose(compiled(x), np.exp(x), rtol=1e-5, atol=1e-5)
    for wrong in ((3, 10), (3, 9), (3, 4)):
        with pytest.raises(lamina.ExecutionError, match="another number of elements"):
            compiled(np.zeros(wrong, np.float32))
    assert len(compiled.sizes) == 1
