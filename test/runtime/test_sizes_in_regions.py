"""Sizes that are not known when compiling, of what goes into branches and loops and comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import InputError, UnsupportedError
from lamina.runtime.interpreters import run_module

HEAD = """
func.func @main(%p: tensor<i1>, %x: tensor<?x4xf32> {lamina.dims = [#lamina.size<n in [1, 40]>]})
"""

BRANCHES = (
    HEAD
    + """-> tensor<?x4xf32> {
  %r = control.cond if(%p) with(%x) : (tensor<i1>, tensor<?x4xf32>) -> tensor<?x4xf32> then {
  ^bb0(%a: tensor<?x4xf32>):
    %s = aten.softmax.int(%a, 0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    control.yield %s : tensor<?x4xf32>
  } else {
  ^bb0(%b: tensor<?x4xf32>):
    control.yield %b : tensor<?x4xf32>
  }
  func.return %r : tensor<?x4xf32>
}
"""
)

SIZES_OF_THEIR_OWN = (
    HEAD
    + """-> (tensor<?xf32>, i64) {
  %r = control.cond if(%p) with(%x) : (tensor<i1>, tensor<?x4xf32>) -> tensor<?xf32> then {
  ^bb0(%a: tensor<?x4xf32>):
    %m = aten.gt.Scalar(%a, 0) : (tensor<?x4xf32>) -> tensor<?x4xi1>
    %s = aten.masked_select.default(%a, %m) : (tensor<?x4xf32>, tensor<?x4xi1>) -> tensor<?xf32>
    control.yield %s : tensor<?xf32>
  } else {
  ^bb0(%b: tensor<?x4xf32>):
    %t = aten.sum.dim_IntList(%b, dim = [0]) : (tensor<?x4xf32>) -> tensor<4xf32>
    %u = aten.cat.default([%t, %t]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<?xf32>
    control.yield %u : tensor<?xf32>
  }
  %e = aten.exp.default(%r) : (tensor<?xf32>) -> tensor<?xf32>
  %k = aten.sym_size.int(%r, 0) : (tensor<?xf32>) -> i64
  func.return %e, %k : tensor<?xf32>, i64
}
"""
)

ROUNDS = (
    HEAD
    + """-> (tensor<?x4xf32>, i64) {
  %zero = arith.constant 0 : i64
  %n = aten.sym_size.int(%x, 0) : (tensor<?x4xf32>) -> i64
  %r, %i = control.while from(%x, %zero) with(%n) : (tensor<?x4xf32>, i64, i64)
      -> (tensor<?x4xf32>, i64) test {
  ^bb0(%a: tensor<?x4xf32>, %c: i64, %m: i64):
    %d = aten.scalar_tensor.default(%c, dtype = i64) : (i64) -> tensor<i64>
    %q = aten.lt.Scalar(%d, 3) : (tensor<i64>) -> tensor<i1>
    control.yield %q : tensor<i1>
  } do {
  ^bb0(%a: tensor<?x4xf32>, %c: i64, %m: i64):
    %one = arith.constant 1 : i64
    %next = arith.addi %c, %one : i64
    %s = aten.mean.dim(%a, [0], true) : (tensor<?x4xf32>) -> tensor<1x4xf32>
    %v = aten.sub.Tensor(%a, %s) : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>
    %w = aten.div.Scalar(%v, %m) : (tensor<?x4xf32>, i64) -> tensor<?x4xf32>
    control.yield %w, %next : tensor<?x4xf32>, i64
  }
  func.return %r, %i : tensor<?x4xf32>, i64
}
"""
)

STEPS = (
    HEAD
    + """-> (tensor<?x4xf32>, tensor<5x?x4xf32>) {
  %xs = aten.full.default([5], 2.0, dtype = f32) : () -> tensor<5xf32>
  %r, %ys = control.scan from(%x) over(%xs) : (tensor<?x4xf32>, tensor<5xf32>)
      -> (tensor<?x4xf32>, tensor<5x?x4xf32>) do {
  ^bb0(%a: tensor<?x4xf32>, %s: tensor<f32>):
    %v = aten.mul.Tensor(%a, %s) : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
    %c = aten.cumsum.default(%v, 0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    control.yield %v, %c : tensor<?x4xf32>, tensor<?x4xf32>
  }
  func.return %r, %ys : tensor<?x4xf32>, tensor<5x?x4xf32>
}
"""
)


MAPPED = (
    HEAD
    + """-> tensor<?xf32> {
  %r = control.scan over(%x) : (tensor<?x4xf32>) -> tensor<?xf32> do {
  ^bb0(%a: tensor<4xf32>):
    %s, %i = aten.sort.default(%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
    %v = aten.select.int(%s, 0, 1) : (tensor<4xf32>) -> tensor<f32>
    control.yield %v : tensor<f32>
  }
  func.return %r : tensor<?xf32>
}
"""
)


REPEATED = (
    HEAD
    + """-> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %y = aten.exp.default(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %r:3 = control.repeat from(%x) each(%x, %y) with(%p) : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<i1>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) attributes {times = 2 : i64} do {
  ^bb0(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %q: tensor<i1>):
    %s = aten.softmax.int(%b, 0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %t = aten.sub.Tensor(%a, %s) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %u = aten.mul.Tensor(%t, %q) : (tensor<?x4xf32>, tensor<i1>) -> tensor<?x4xf32>
    control.yield %t, %u : tensor<?x4xf32>, tensor<?x4xf32>
  }
  func.return %r#0, %r#1, %r#2 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}
"""  # noqa: E501 - an op on one line
)


def check(compiled: Any, text: str, rows: int, *, is_true: bool = True) -> None:
    x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
    wanted = run_module(lamina.parse(text), [np.array(is_true), x])
    made = compiled(np.array(is_true), x)
    for found, each in zip(made if isinstance(made, tuple) else (made,), wanted, strict=True):
        assert np.shape(found) == np.shape(each)
        np.testing.assert_allclose(found, each, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["auto", "exact", "padded"])
@pytest.mark.parametrize("text", [BRANCHES, SIZES_OF_THEIR_OWN, ROUNDS, STEPS, MAPPED, REPEATED])
def test_sizes_go_through(text: str, policy: str) -> None:
    compiled = lamina.compile(text, versions=policy)
    for rows in (5, 1, 33, 40):
        check(compiled, text, rows)
        check(compiled, text, rows, is_true=False)
    kinds = {version.is_exact for version in compiled.sizes}
    assert kinds == {"auto": {True, False}, "exact": {True}, "padded": {False}}[policy]


def test_sizes_of_data_go_in() -> None:
    text = """
    func.func @main(%p: tensor<i1>, %y: tensor<9x4xf32>) -> tensor<?xf32> {
      %m = aten.gt.Scalar(%y, 0) : (tensor<9x4xf32>) -> tensor<9x4xi1>
      %x = aten.masked_select.default(%y, %m) : (tensor<9x4xf32>, tensor<9x4xi1>) -> tensor<?xf32>
      %r = control.cond if(%p) with(%x) : (tensor<i1>, tensor<?xf32>) -> tensor<?xf32> then {
      ^bb0(%a: tensor<?xf32>):
        %s = aten.cumsum.default(%a, 0) : (tensor<?xf32>) -> tensor<?xf32>
        control.yield %s : tensor<?xf32>
      } else {
      ^bb0(%b: tensor<?xf32>):
        %t = aten.flip.default(%b, [0]) : (tensor<?xf32>) -> tensor<?xf32>
        control.yield %t : tensor<?xf32>
      }
      func.return %r : tensor<?xf32>
    }"""
    compiled = lamina.compile(text)
    assert len(compiled.stages) == 1
    check(compiled, text, 9)
    check(compiled, text, 9, is_true=False)


def test_a_loop_over_an_open_length_has_a_version_for_each() -> None:
    text = """
    func.func @main(%p: tensor<i1>, %x: tensor<?x4xf32> {lamina.dims = [#lamina.size<n>]})
        -> (tensor<4xf32>, tensor<?x4xf32>) {
      %z = aten.zeros.default([4], dtype = f32) : () -> tensor<4xf32>
      %r, %ys = control.scan from(%z) over(%x) : (tensor<4xf32>, tensor<?x4xf32>)
          -> (tensor<4xf32>, tensor<?x4xf32>) do {
      ^bb0(%a: tensor<4xf32>, %s: tensor<4xf32>):
        %v = aten.add.Tensor(%a, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        %t = aten.tanh.default(%v) : (tensor<4xf32>) -> tensor<4xf32>
        control.yield %t, %v : tensor<4xf32>, tensor<4xf32>
      }
      func.return %r, %ys : tensor<4xf32>, tensor<?x4xf32>
    }"""
    compiled = lamina.compile(text)
    for rows in (3, 5, 3):
        check(compiled, text, rows)
    assert [version.is_exact for version in compiled.sizes] == [True, True]
    assert "the number of steps is not known" in (compiled.sizes.reason or "")


def test_a_size_that_grows_is_refused() -> None:
    text = (
        HEAD
        + """-> tensor<?x4xf32> {
      %r = control.while from(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> test {
      ^bb0(%a: tensor<?x4xf32>):
        %s = aten.sum.default(%a) : (tensor<?x4xf32>) -> tensor<f32>
        %q = aten.lt.Scalar(%s, 3) : (tensor<f32>) -> tensor<i1>
        control.yield %q : tensor<i1>
      } do {
      ^bb0(%a: tensor<?x4xf32>):
        %v = aten.cat.default([%a, %a]) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
        control.yield %v : tensor<?x4xf32>
      }
      func.return %r : tensor<?x4xf32>
    }"""
    )
    compiled = lamina.compile(text, versions="padded")
    with pytest.raises(UnsupportedError, match="size of dimension 0 of what it carries changes"):
        compiled(np.array(True), np.zeros((3, 4), np.float32))


def test_sizes_inside_are_checked() -> None:
    text = BRANCHES.replace("aten.softmax.int(%a, 0)", "aten.mm.default(%a, %a)")
    text = text.replace(
        "mm.default(%a, %a) : (tensor<?x4xf32>)",
        "mm.default(%a, %a) : (tensor<?x4xf32>, tensor<?x4xf32>)",
    )
    with pytest.raises((InputError, UnsupportedError), match=r"aten\.mm"):
        lamina.compile(text)(np.array(True), np.zeros((3, 4), np.float32))
