"""Tuning: what is tried, what is kept, what is remembered. Times are made up: none is measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError, InputError
from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.schedules import NestSchedule, ProductTasks, RowTasks
from lamina.passes.schedule.alternatives import MOST_UNROLL, alternatives

PROGRAM = """
func.func @main(%x: tensor<37x70xf32>, %y: tensor<37x70xf32>) -> tensor<37x70xf32> {
  %0 = aten.mul.Tensor(%x, %y) : (tensor<37x70xf32>, tensor<37x70xf32>) -> tensor<37x70xf32>
  %1 = aten.sigmoid.default(%0) : (tensor<37x70xf32>) -> tensor<37x70xf32>
  func.return %1 : tensor<37x70xf32>
}"""


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, str]]:
    """The more vectors a step has, the faster; returns what was asked for."""
    asked: list[Mapping[str, str]] = []

    def measure(self: object, schedules: Mapping[str, str], repeats: int) -> dict[str, float]:
        asked.append(schedules)
        found = re.search(r"unroll = (\d+)", schedules.get("kernel_0", "unroll = 1"))
        return {"kernel_0": 1 / int(found[1]) if found else 1.0}

    monkeypatch.setattr("lamina.runtime.tuning._Trials.measure", measure)
    return asked


def test_the_fastest_is_kept_and_right(
    made_up: list[Mapping[str, str]], capfd: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 37, 70)).astype(np.float32)
    plain = lamina.compile(PROGRAM, cache=False)
    tuned = lamina.compile(PROGRAM, cache=False, tune=60)
    assert f"unroll = {MOST_UNROLL}" in tuned.kernels[0].schedule
    np.testing.assert_array_equal(tuned(x, y), plain(x, y))
    assert "trial 1: " in capfd.readouterr().err
    assert len(made_up) > 4


def test_what_was_found_is_remembered(
    made_up: list[Mapping[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    first = lamina.compile(PROGRAM, tune=60).kernels[0].schedule
    made_up.clear()
    assert lamina.compile(PROGRAM, tune=60).kernels[0].schedule == first
    assert made_up == []
    lamina.compile(PROGRAM, tune=90)
    assert made_up  # a longer search is another one
    assert lamina.compile(PROGRAM).kernels[0].schedule != first


def test_nothing_is_kept_that_does_not_win_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1.0, 0.5])

    def measure(self: object, schedules: Mapping[str, str], repeats: int) -> dict[str, float]:
        return {"kernel_0": next(times, 1.0)}

    monkeypatch.setattr("lamina.runtime.tuning._Trials.measure", measure)
    plain = lamina.compile(PROGRAM, cache=False)
    assert lamina.compile(PROGRAM, cache=False, tune=60).kernels[0] == plain.kernels[0]


def test_a_real_measurement_gives_a_right_program() -> None:
    x = np.linspace(-3, 3, 37 * 70, dtype=np.float32).reshape(37, 70)
    tuned = lamina.compile(PROGRAM, cache=False, tune=0.5)
    np.testing.assert_array_equal(tuned(x, x), lamina.compile(PROGRAM, cache=False)(x, x))


def test_no_budget_is_no_number() -> None:
    with pytest.raises(InputError, match="tune = nan: a budget of seconds is 0 or more"):
        lamina.compile(PROGRAM, cache=False, tune=float("nan"))


def test_bad_budgets_and_foreign_targets_are_refused() -> None:
    with pytest.raises(InputError, match="tune = -1: a budget of seconds is 0 or more"):
        lamina.compile(PROGRAM, cache=False, tune=-1)
    with pytest.raises(ExecutionError, match="compiled for another machine"):
        lamina.compile(PROGRAM, cache=False, tune=1, target=Target.parse("aarch64"))


def test_alternatives_change_one_clause() -> None:
    nest = NestSchedule(vectorize=By(1, 16), unroll=4, compute_with=True, nontemporal=(0,))
    found: list[Any] = list(alternatives(nest))
    assert nest not in found
    assert [s.unroll for s in found if s.unroll != 4] == [8, 2]
    assert {s.vectorize for s in found} == {By(1, 16), By(1, 32), By(1, 8), By(1, 12)}
    assert [s.nontemporal for s in found if s.nontemporal != (0,)] == [()]
    assert all(s.compute_with for s in found)
    assert RowTasks(parallel=False) in list(alternatives(RowTasks(parallel=True)))
    tasks = ProductTasks(compute_at="panel", order="columns")
    assert ProductTasks(compute_at="block", order="columns") in list(alternatives(tasks))
