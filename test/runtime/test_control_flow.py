"""Branches and loops in compiled programs: from text, threads, the ledger, extern kernels."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

from lamina.dialects.errors import ExecutionError, UnsupportedError
from lamina.runtime.compile import compile_module
from lamina.runtime.compiled import Compiled
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import parse

SCAN = """
func.func @main(%h: tensor<4xf32>, %xs: tensor<Nx4xf32>) -> (tensor<4xf32>, tensor<Nx4xf32>) {
  %r, %ys = control.scan from(%h) over(%xs) : (tensor<4xf32>, tensor<Nx4xf32>) -> (tensor<4xf32>, tensor<Nx4xf32>) do {
  ^bb0(%s: tensor<4xf32>, %x: tensor<4xf32>):
    %t = aten.mul.Tensor(%s, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %u = aten.sum.default(%t) : (tensor<4xf32>) -> tensor<f32>
    %v = aten.add.Tensor(%s, %u) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    control.yield %v, %s : tensor<4xf32>, tensor<4xf32>
  }
  func.return %r, %ys : tensor<4xf32>, tensor<Nx4xf32>
}
"""  # noqa: E501 - an op on one line

COUNT = """
func.func @main(%n: tensor<i64>) -> tensor<i64> {
  %zero = aten.zeros.default(size = [], dtype = i64) : () -> tensor<i64>
  %k, %r = control.while from(%n, %zero) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>) test {
  ^bb0(%k: tensor<i64>, %s: tensor<i64>):
    %p = aten.gt.Scalar(%k, other = 0) : (tensor<i64>) -> tensor<i1>
    control.yield %p : tensor<i1>
  } do {
  ^bb0(%k: tensor<i64>, %s: tensor<i64>):
    %m = aten.sub.Scalar(%k, other = 1) : (tensor<i64>) -> tensor<i64>
    %t = aten.add.Tensor(%s, %k) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    control.yield %m, %t : tensor<i64>, tensor<i64>
  }
  func.return %r : tensor<i64>
}
"""  # noqa: E501 - an op on one line

LOOKUP = """
func.func @main(%p: tensor<i1>, %t: tensor<4xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  %r = control.cond if(%p) with(%t, %i) : (tensor<i1>, tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32> then {
  ^bb0(%a: tensor<4xf32>, %b: tensor<2xi64>):
    %c = aten.index_select.default(%a, dim = 0, index = %b) : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
    control.yield %c : tensor<2xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %b: tensor<2xi64>):
    %c = aten.zeros.default(size = [2]) : () -> tensor<2xf32>
    control.yield %c : tensor<2xf32>
  }
  func.return %r : tensor<2xf32>
}
"""  # noqa: E501 - an op on one line

WALK = """
func.func @main(%next: tensor<4xi64>, %at: tensor<1xi64>) -> tensor<1xi64> {
  %r = control.while from(%at) with(%next) : (tensor<1xi64>, tensor<4xi64>) -> tensor<1xi64> test {
  ^bb0(%i: tensor<1xi64>, %n: tensor<4xi64>):
    %p = aten.ne.Scalar(%i, other = 3) : (tensor<1xi64>) -> tensor<1xi1>
    control.yield %p : tensor<1xi1>
  } do {
  ^bb0(%i: tensor<1xi64>, %n: tensor<4xi64>):
    %j = aten.index_select.default(%n, dim = 0, index = %i) : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
    control.yield %j : tensor<1xi64>
  }
  func.return %r : tensor<1xi64>
}
"""  # noqa: E501 - an op on one line

SOLVE = """
func.func @main(%p: tensor<1xi1>, %a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %r = control.cond if(%p) with(%a) : (tensor<1xi1>, tensor<3x3xf64>) -> tensor<3x3xf64> then {
  ^bb0(%x: tensor<3x3xf64>):
    %y = aten.linalg_inv.default(%x) : (tensor<3x3xf64>) -> tensor<3x3xf64>
    control.yield %y : tensor<3x3xf64>
  } else {
  ^bb0(%x: tensor<3x3xf64>):
    control.yield %x : tensor<3x3xf64>
  }
  func.return %r : tensor<3x3xf64>
}
"""

WRITES = """
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %y = aten.neg_.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
    control.yield %y : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    control.yield %a : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
"""


def compiled(text: str, length: int = 0) -> Compiled:
    return compile_module(parse(text.replace("Nx", f"{length}x")), cache=False)


@pytest.mark.parametrize("length", [0, 1, 7])
def test_scans_of_every_length(length: int) -> None:
    h = np.linspace(-1, 1, 4).astype(np.float32)
    xs = np.linspace(-1, 0.5, 4 * length).astype(np.float32).reshape(length, 4)
    wanted = run_module(parse(SCAN.replace("Nx", f"{length}x")), [h, xs])
    for made, value in zip(compiled(SCAN, length)(h, xs), wanted, strict=True):
        np.testing.assert_allclose(made, value, rtol=1e-5, atol=1e-6)


def test_the_ledger_counts_rounds_and_measures_in_loops() -> None:
    program = compiled(SCAN, 7)
    assert all(kernel.calls % 7 == 0 and not kernel.in_while for kernel in program.kernels)
    measured = program.measure(np.ones(4, np.float32), np.ones((7, 4), np.float32), repeats=2)
    assert all(kernel.measured_us is not None for kernel in measured)
    repeated = {op for kernel in compiled(COUNT).kernels if kernel.in_while for op in kernel.ops}
    assert repeated == {"prims.gt", "prims.sub", "prims.add"}


def test_a_loop_of_unknown_length_gives_up_the_lock() -> None:
    count = compiled(COUNT)
    rounds = 10_000_000
    ended: list[int] = []
    thread = threading.Thread(target=lambda: ended.append(int(count(np.array(rounds))[()])))
    thread.start()
    ticks = 0
    while thread.is_alive():
        time.sleep(0.0005)
        ticks += 1
    thread.join()
    assert ended == [rounds * (rounds + 1) // 2]
    assert ticks > 1


def test_checks_in_a_branch_hold_only_where_it_is_taken() -> None:
    lookup = compiled(LOOKUP)
    table, bad = np.arange(4, dtype=np.float32), np.array([1, 9])
    np.testing.assert_array_equal(lookup(np.array(True), table, np.array([3, 1])), [3, 1])
    np.testing.assert_array_equal(lookup(np.array(False), table, bad), [0, 0])
    with pytest.raises(ExecutionError, match="index out of range"):
        lookup(np.array(True), table, bad)


def test_a_loop_ends_when_a_check_fails() -> None:
    walk = compiled(WALK)
    np.testing.assert_array_equal(walk(np.array([2, 3, 3, 1]), np.array([0])), [3])
    with pytest.raises(ExecutionError, match="index out of range"):
        walk(np.array([1, 4, 0, 0]), np.array([0]))


def test_a_loop_without_end_can_be_interrupted() -> None:
    walk = compiled(WALK)

    def stop(number: int, frame: object) -> None:
        raise TimeoutError("stop")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(TimeoutError, match="stop"):
            walk(np.array([1, 2, 0, 0]), np.array([0]))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(walk(np.array([3, 3, 3, 3]), np.array([0])), [3])


def test_extern_kernels_in_a_branch() -> None:
    solve = compiled(SOLVE)
    a = np.array([[2.0, 1, 0], [0, 3, 1], [1, 0, 4]])
    np.testing.assert_allclose(solve(np.array([True]), a) @ a, np.eye(3), atol=1e-12)
    np.testing.assert_array_equal(solve(np.array([False]), a), a)
    np.testing.assert_array_equal(solve(np.array([False]), np.zeros((3, 3))), np.zeros((3, 3)))


def test_writes_to_what_a_region_takes_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="writes a tensor that it takes from outside"):
        compiled(WRITES)
