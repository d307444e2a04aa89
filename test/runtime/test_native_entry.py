"""Compiled programs as C functions: called by address, with tables of pointers."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lamina

GATHER = """
func.func @main(%x: tensor<5x40xf32>, %w: tensor<40x300xf32> {lamina.name = "w",
                lamina.kind = "parameter"}, %i: tensor<3xi64>) -> (tensor<3x300xf32>) {
  %0 = aten.index_select.default(%x, 0, %i) : (tensor<5x40xf32>, tensor<3xi64>) -> tensor<3x40xf32>
  %1 = aten.mm.default(%0, %w) : (tensor<3x40xf32>, tensor<40x300xf32>) -> tensor<3x300xf32>
  %2 = aten._softmax.default(%1, 1, false) : (tensor<3x300xf32>) -> tensor<3x300xf32>
  func.return %2 : tensor<3x300xf32>
}
"""
COUNTING = """
func.func @main(%n: tensor<4xf32> {lamina.name = "n", lamina.kind = "buffer"},
                %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.add_.Tensor(%n, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
RANDOM = np.random.default_rng(0)
W = RANDOM.standard_normal((40, 300), np.float32)


def _table(
    entry: lamina.NativeEntry, arrays: dict[str, np.ndarray]
) -> tuple[ctypes.Array[ctypes.c_void_p], list[np.ndarray]]:
    table = entry.pointers()
    results: list[np.ndarray] = []
    for number, slot in enumerate(entry.slots):
        if slot.kind == "input":
            table[number] = arrays[slot.name].ctypes.data
        elif slot.kind == "output":
            results.append(np.empty(slot.shape, slot.numpy_dtype))
            table[number] = results[-1].ctypes.data
    return table, results


def test_threads_call_with_tables_of_their_own() -> None:
    compiled = lamina.compile(GATHER, constants={"w": W})
    entry = compiled.native
    inputs = [
        (RANDOM.standard_normal((5, 40), np.float32), RANDOM.integers(0, 5, 3)) for _ in range(16)
    ]

    def run(given: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        table, results = _table(entry, {"arg0": given[0], "arg1": given[1]})
        for _ in range(20):
            results[0].fill(np.nan)
            assert entry.function(table) == 0
        return results[0]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, inputs))
    for given, result in zip(inputs, found, strict=True):
        np.testing.assert_array_equal(result, compiled(*given))


def test_a_table_outlives_the_program() -> None:
    x, i = RANDOM.standard_normal((5, 40), np.float32), np.array([4, 0, 1])
    compiled = lamina.compile(GATHER, constants={"w": W.copy()})
    expected = compiled(x, i)
    entry = compiled.native
    del compiled
    table, results = _table(entry, {"arg0": x, "arg1": i})
    assert entry.function(table) == 0
    np.testing.assert_array_equal(results[0], expected)


def test_a_check_that_fails_has_a_message() -> None:
    entry = lamina.compile(GATHER, constants={"w": W}).native
    x, i = np.zeros((5, 40), np.float32), np.array([0, 7, 0])
    table, _ = _table(entry, {"arg0": x, "arg1": i})
    status = entry.function(table)
    assert "index" in entry.message(status) and entry.message(0) == "success"
    for other in (-1, 99):
        with pytest.raises(ValueError, match=f"status {other}: the program has no such check"):
            entry.message(other)


def test_what_a_call_left_is_not_in_a_new_table() -> None:
    compiled = lamina.compile(GATHER, constants={"w": W})
    compiled(np.zeros((5, 40), np.float32), np.zeros(3, np.int64))
    entry = compiled.native
    first, second = entry.pointers(), entry.pointers()
    for number, slot in enumerate(entry.slots):
        if slot.kind in ("input", "output"):
            assert first[number] is None
        elif slot.kind == "arena" and slot.size:
            assert first[number] != second[number]
        elif slot.kind in ("prepared", "parameter"):
            assert first[number] == second[number]


def test_new_values_of_buffers_are_for_the_caller_to_copy() -> None:
    n, x = np.ones(4, np.float32), np.arange(4, dtype=np.float32)
    entry = lamina.compile(COUNTING, constants={"n": n}).native
    table, results = _table(entry, {"arg0": x})
    assert entry.function(table) == 0
    np.testing.assert_array_equal(results[0], n + x)
    (number,) = (k for k, slot in enumerate(entry.slots) if slot.kind == "mutation")
    slot = entry.slots[number]
    made = (ctypes.c_float * slot.elements).from_address(table[number] or 0)
    assert slot.target == "n"
    np.testing.assert_array_equal(np.array(made), n + x)
    np.testing.assert_array_equal(n, np.ones(4))


def test_a_program_for_another_machine_has_none() -> None:
    other = lamina.compile(GATHER, target="riscv64")
    with pytest.raises(lamina.ExecutionError, match="another machine"):
        _ = other.native
