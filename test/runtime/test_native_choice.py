"""Calls of programs with open sizes that native code takes: it chooses, pads and cuts."""

from __future__ import annotations

import threading
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

import lamina
from lamina.runtime.dispatch.native import output_memory
from lamina.runtime.sized import SizedCompiled

PAIR = """
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch in [1, 128]>]},
                %y: tensor<?x8xf32> {lamina.dims = [#lamina.size<2 * batch + 1>]})
    -> (tensor<?x8xf32>, tensor<8x?xf32>) {
  %0 = aten.cat.default([%x, %y]) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = aten.exp.default(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = aten.transpose.int(%1, 0, 1) : (tensor<?x8xf32>) -> tensor<8x?xf32>
  func.return %0, %2 : tensor<?x8xf32>, tensor<8x?xf32>
}
"""

STEPS = """
func.func @main(%x: tensor<3x?x?xf32>
    {lamina.dims = [#lamina.size<h in [16, 64] step 16>, #lamina.size<w in [0, 40]>]})
    -> tensor<3x?x?xf32> {
  %0 = aten.exp.default(%x) : (tensor<3x?x?xf32>) -> tensor<3x?x?xf32>
  func.return %0 : tensor<3x?x?xf32>
}
"""

NUMBER = """
func.func @main(%n: i64 {lamina.dims = [#lamina.size<n in [0, 100]>]},
                %x: tensor<?x4xf32> {lamina.dims = [#lamina.size<b>]}) -> tensor<?x4xf32> {
  %0 = aten.zeros.default([%n, 4]) : (i64) -> tensor<?x4xf32>
  %1 = aten.cat.default([%0, %x]) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %1 : tensor<?x4xf32>
}
"""


class SlowError(Exception):
    """A call has left native code."""


def only_native(compiled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on calls that native code does not take are an error."""

    def refuse(*_: Any) -> None:
        raise SlowError

    monkeypatch.setattr(SizedCompiled, "_called", refuse)


def pair(batch: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(batch)
    shapes = ((batch, 8), (2 * batch + 1, 8))
    x, y = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
    return x, y


def check_pair(compiled: Any, batch: int, make: Any) -> None:
    x, y = pair(batch)
    joined, turned = compiled(make(x), make(y))
    np.testing.assert_array_equal(np.asarray(joined), np.concatenate([x, y]))
    np.testing.assert_allclose(np.asarray(turned), np.exp(x).T, rtol=1e-6)
    assert type(joined) is type(make(x))


MAKE = [np.asarray, torch.from_numpy]


@pytest.mark.parametrize("make", MAKE, ids=["numpy", "torch"])
@pytest.mark.parametrize("versions", ["auto", "padded", "exact"])
def test_sizes_that_came_before_are_native(
    make: Any, versions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = lamina.compile(PAIR, versions=versions)
    sizes = (5, 7, 1, 128, 64, 65)
    for batch in sizes:
        check_pair(compiled, batch, make)
    only_native(compiled, monkeypatch)
    for batch in (*sizes, *sizes[::-1]):
        check_pair(compiled, batch, make)
    assert sum(version.calls for version in compiled.sizes) == 3 * len(sizes)


def test_a_range_of_sizes_is_native_from_its_first_call_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = lamina.compile(PAIR, versions="padded")
    check_pair(compiled, 3, np.asarray)
    only_native(compiled, monkeypatch)
    for batch in range(1, 129):
        check_pair(compiled, batch, MAKE[batch % 2])


@pytest.mark.parametrize("make", MAKE, ids=["numpy", "torch"])
def test_inner_dimensions_and_steps(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = lamina.compile(STEPS, versions="padded")
    shapes = list(product((16, 32, 64), (0, 1, 7, 39, 40)))
    arrays = [np.random.rand(3, *shape).astype(np.float32) for shape in shapes]
    for array in arrays:
        compiled(make(array))
    only_native(compiled, monkeypatch)
    for array in arrays:
        if array.size or make is np.asarray:  # torch has no memory where there are no elements
            np.testing.assert_allclose(np.asarray(compiled(make(array))), np.exp(array), rtol=1e-6)
    for shape in ((3, 24, 7), (3, 80, 7), (3, 16, 41), (2, 16, 7)):
        with pytest.raises(SlowError):
            compiled(make(np.zeros(shape, np.float32)))
    monkeypatch.undo()
    with pytest.raises(lamina.ArgumentError, match=r"is 24: 'h' is in \[16, 64\] step 16"):
        compiled(make(np.zeros((3, 24, 7), np.float32)))


def test_strided_arguments_and_contradictions_leave_native_code() -> None:
    compiled = lamina.compile(PAIR, versions="padded")
    x, y = pair(9)
    for make in MAKE:
        wide = make(np.repeat(x, 2, axis=1))
        joined, _ = compiled(wide[:, ::2], make(y))
        np.testing.assert_array_equal(np.asarray(joined), np.concatenate([x, y]))
        with pytest.raises(lamina.ArgumentError, match="no integer makes it 2"):
            compiled(make(x), make(y[:-1]))
        with pytest.raises(lamina.ArgumentError, match="'batch' 9"):
            compiled(make(x), make(y[:-2]))
        with pytest.raises(lamina.ArgumentError, match="expected dtype"):
            compiled(make(x.astype(np.float64)), make(y))
    with pytest.raises(lamina.ArgumentError, match="requires a gradient"):
        compiled(torch.from_numpy(x).requires_grad_(), torch.from_numpy(y))


@pytest.mark.parametrize("make", MAKE, ids=["numpy", "torch"])
@pytest.mark.parametrize("versions", ["exact", "padded"])
def test_integers_that_are_sizes(make: Any, versions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = lamina.compile(NUMBER, versions=versions)
    for native in (False, True):
        if native:
            only_native(compiled, monkeypatch)
        for count, rows in ((3, 4), (0, 7), (100, 1), (3, 9)):
            x = np.random.rand(rows, 4).astype(np.float32)
            made = compiled(count, make(x))
            wanted = np.concatenate([np.zeros((count, 4), np.float32), x])
            np.testing.assert_array_equal(np.asarray(made), wanted)
    for other in (101, -1, 2**70, True, np.int64(3)):
        with pytest.raises(SlowError):
            compiled(other, make(x))


@pytest.mark.parametrize("make", MAKE, ids=["numpy", "torch"])
def test_memory_of_padded_calls_comes_back(make: Any) -> None:
    compiled = lamina.compile(PAIR, versions="padded")
    x, y = map(make, pair(37))
    for _ in range(3):
        compiled(x, y)
    before = output_memory()
    for _ in range(50):
        compiled(x, y)
    after = output_memory()
    assert (after.block_bytes, after.kept_bytes) == (before.block_bytes, before.kept_bytes)
    held = compiled(x, y)
    assert output_memory().kept_bytes <= before.kept_bytes
    del held


def test_results_outlive_the_program_and_other_calls() -> None:
    compiled = lamina.compile(PAIR, versions="padded")
    made = {n: compiled(*map(torch.from_numpy, pair(n))) for n in (128, 3, 90)}
    del compiled
    for batch, (joined, turned) in made.items():
        x, y = pair(batch)
        np.testing.assert_array_equal(joined.numpy(), np.concatenate([x, y]))
        np.testing.assert_allclose(turned.numpy(), np.exp(x).T, rtol=1e-6)


def test_threads_and_two_programs() -> None:
    programs = [lamina.compile(PAIR, versions=v) for v in ("padded", "auto")]
    failures: list[BaseException] = []

    def work(start: int) -> None:
        try:
            for batch in range(start, 129, 3):
                check_pair(programs[batch % 2], batch, MAKE[batch % 2])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(1 + n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_check_that_fails_is_an_error_with_its_message() -> None:
    compiled = lamina.compile(
        """
        func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [1, 64]>]},
                        %i: tensor<i64>) -> tensor<?xf32> {
          %k = aten.item.default(%i) : (tensor<i64>) -> i64
          %0 = arith.constant 0 : i64
          %ok = arith.cmpi sge, %k, %0 : i64
          aten._assert_scalar.default(%ok, "k is negative") : (i1) -> ()
          %1 = aten.exp.default(%x) : (tensor<?xf32>) -> tensor<?xf32>
          func.return %1 : tensor<?xf32>
        }
        """,
        versions="padded",
    )
    x = np.random.rand(7).astype(np.float32)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x, np.array(0)), np.exp(x), rtol=1e-6)
        with pytest.raises(lamina.ExecutionError, match="k is negative"):
            compiled(x, np.array(-1))
