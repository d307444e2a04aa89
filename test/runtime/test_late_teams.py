"""When teams of threads are left out: those that are late, and those that gain nothing.

Against a clock and a fork of the test's own."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from lamina.codegen.jit import compile_object, load_object
from lamina.codegen.target import Target
from lamina.runtime.dispatch.native import _functions
from lamina.runtime.dispatch.records import (
    ENTRIES,
    FIRST_RUNS,
    HELD,
    LATE,
    LONG_RUN,
    MOST_PATIENCE,
    PROBE_SHARE,
    PROBES,
    native_source,
)

_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_FORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32)
_FORGET = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64)
_MOST = ctypes.CFUNCTYPE(ctypes.c_int32)
_CLOCK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)

SERIAL, TEAM = 100_000, 60_000
"""Nanoseconds of a run on one thread and by a team in time."""


class Machine:
    """Native code with a clock that stands still but while `lamina_parallel` forks."""

    def __init__(self, code: bytes, threads: int = 2) -> None:
        self.time, self.team, self.serial = 10**9, TEAM, SERIAL
        self.asked: list[int] = []
        self._kept: list[Any] = [_CLOCK(self._clock), _FORK(self._fork), _MOST(lambda: threads)]
        clock, fork, most = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._kept)
        provided = {**_functions(), "clock_gettime": clock}
        self._loaded = load_object(code, ENTRIES, Target.host(), False, provided)
        addresses = self._loaded.addresses
        ctypes.c_void_p.from_address(addresses["lamina_fork"]).value = fork
        ctypes.c_void_p.from_address(addresses["lamina_most_threads"]).value = most
        self._parallel = _FORK(addresses["lamina_parallel"])
        self._forget = _FORGET(addresses["lamina_forget"])
        self.works = [_WORK(lambda _: None) for _ in range(3)]

    def _clock(self, _: int, where: int) -> int:
        pair = (ctypes.c_int64 * 2).from_address(where)
        pair[0], pair[1] = divmod(self.time, 10**9)
        return 0

    def _fork(self, function: int, data: int, threads: int, _: int) -> None:
        self.asked.append(threads)
        self.time += self.serial if threads == 1 else self.team

    def run(self, count: int = 1, work: int = 0) -> list[int]:
        """The sizes of the teams that so many runs asked for; 0 is as many threads as there are."""
        self.asked = []
        for _ in range(count):
            self._parallel(ctypes.cast(self.works[work], ctypes.c_void_p), None, 0, 0)
        return self.asked

    def load_in_place_of(self, work: int) -> None:
        """Says that other code was loaded where a function was."""
        where = ctypes.cast(self.works[work], ctypes.c_void_p).value or 0
        self._forget(where, where + 1)


@pytest.fixture(scope="module")
def make() -> Callable[..., Machine]:
    code = compile_object(native_source(), Target.host(), level=0)
    return lambda **options: Machine(code, **options)


def test_teams_in_time_run_but_for_a_run_that_is_measured_and_probes(
    make: Callable[..., Machine],
) -> None:
    usual = [0] * FIRST_RUNS
    assert make().run(3 + FIRST_RUNS + PROBES) == [0, 1, *usual, *[1] * PROBES, 0]


MANY = 8192
"""Runs after which probes are as rare as they become."""


def test_probes_lose_a_small_part_of_the_time(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.serial = 5 * TEAM
    machine.run(MANY)
    asked = machine.run(MANY)
    lost = (machine.serial - machine.team) * asked.count(1)
    assert 0 < lost <= sum(machine.serial if a else machine.team for a in asked) / PROBE_SHARE


def test_probes_of_teams_lose_no_more(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.team = SERIAL + LATE  # not late yet
    machine.run(MANY)
    asked = machine.run(MANY)
    lost = (machine.team - machine.serial) * asked.count(0)
    assert 0 < lost <= sum(machine.serial if a else machine.team for a in asked) / PROBE_SHARE * 1.2


def test_no_decision_outlasts_what_it_rests_on(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.team = SERIAL * 5 // 4  # other work takes a part of the cores
    assert machine.run(20 * MANY).count(0) <= 20 * MANY // 40
    machine.team = TEAM
    back = machine.run(2 * HELD // SERIAL).index(0)
    assert back <= HELD // SERIAL
    assert machine.run(FIRST_RUNS) == [0] * FIRST_RUNS


def test_teams_that_gain_nothing_are_left_out(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.team = SERIAL * 5 // 4
    assert machine.run(2 + FIRST_RUNS + PROBES)[2:] == [0] * FIRST_RUNS + [1] * PROBES
    assert machine.run(FIRST_RUNS + PROBES) == [1] * FIRST_RUNS + [0] * PROBES
    assert machine.run(20 * FIRST_RUNS).count(0) <= 5 * PROBES


def test_teams_come_back_when_they_gain_again(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.team = SERIAL * 5 // 4
    machine.run(100)
    machine.team = TEAM
    machine.run(MANY)
    assert machine.run(1000).count(1) <= 5 * PROBES


def test_what_is_as_fast_either_way_stays(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.team = SERIAL
    machine.run(MANY)
    asked = machine.run(10 * HELD // SERIAL)
    assert 0 < asked.count(1) <= 11 * PROBES


def test_one_slow_run_changes_nothing(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.run(2 + FIRST_RUNS - 1)
    machine.team = SERIAL + LATE  # not late yet
    machine.run(1)
    machine.team = TEAM
    assert machine.run(PROBES + 10) == [1] * PROBES + [0] * 10


def test_long_runs_are_not_probed(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.serial, machine.team = 3 * LONG_RUN, 2 * LONG_RUN
    assert machine.run(10 * FIRST_RUNS) == [0, 1] + [0] * (10 * FIRST_RUNS - 2)


def test_one_thread_that_runs_for_long_is_probed(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.serial, machine.team = LONG_RUN * 3 // 4, LONG_RUN * 9 // 10
    machine.run(2 + FIRST_RUNS + PROBES)
    assert machine.run() == [1]
    machine.serial, machine.team = 2 * LONG_RUN, LONG_RUN * 9 // 10
    machine.run(MANY)
    assert machine.run(100).count(0) >= 95


def test_code_in_the_place_of_other_code_is_measured_anew(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.team = SERIAL * 5 // 4
    machine.run(1000)
    machine.run(3, 1)
    machine.team = TEAM
    assert machine.run(2) == [1, 1]
    machine.load_in_place_of(0)
    assert machine.run(3) == [0, 1, 0]
    assert machine.run(1, 1) == [0]


def test_each_function_has_times_of_its_own(make: Callable[..., Machine]) -> None:
    machine = make()
    assert [machine.run(3, work) for work in range(3)] == [[0, 1, 0]] * 3


def test_one_thread_is_never_measured(make: Callable[..., Machine]) -> None:
    assert make(threads=1).run(5) == [0] * 5


def test_a_late_team_is_followed_by_one_thread_for_as_long(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.run(3)
    machine.team = 4_000_000
    assert machine.run() == [0]
    machine.team = TEAM
    pause = (4_000_000 - SERIAL) // SERIAL
    assert machine.run(pause + 20) == [1] * pause + [0] * 20


def test_a_team_is_late_only_if_that_much_is_lost(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.run(3)
    machine.team = SERIAL + LATE
    assert machine.run(20) == [0] * 20
    machine.team += 1_000
    assert machine.run(3) == [0, 1, 1]


def test_where_teams_are_always_late_trying_them_costs_little(
    make: Callable[..., Machine],
) -> None:
    machine = make()
    machine.run(3)
    machine.team = 4_000_000
    machine.run(5_000)
    begin = machine.time
    asked = machine.run(20_000)
    late = asked.count(0)
    assert late >= 1
    assert late * machine.team <= (machine.time - begin) / MOST_PATIENCE * 1.5


def test_teams_that_are_late_now_and_then_are_left_out_too(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.run(3)
    for number in range(20_000):
        machine.team = 4_000_000 if number % 3 == 0 else TEAM
        machine.run()
    assert sum(len([a for a in machine.run(1) if a == 0]) for _ in range(100)) < 10


def test_teams_come_back_when_the_cores_are_free(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.run(3)
    machine.team = 4_000_000
    machine.run(5_000)
    machine.team = TEAM
    machine.run(2 * MOST_PATIENCE * 4_000_000 // SERIAL)
    assert machine.run(100) == [0] * 100


def test_where_one_thread_is_slow_as_well_teams_stay(make: Callable[..., Machine]) -> None:
    machine = make()
    machine.serial, machine.team = 20_000_000, 10_000_000
    machine.run(10)
    machine.serial, machine.team = 40_000_000, 30_000_000  # half of each core is somebody else's
    machine.run(100)
    assert machine.run(100).count(0) >= 95
