"""The timer of the benchmarks."""

import time

import pytest

from bench.timing import Timing, format_seconds, interleave, print_table


def test_functions_take_turns() -> None:
    calls: list[str] = []

    def slow(name: str) -> None:
        calls.append(name)
        time.sleep(0.001)

    timings = interleave({"a": lambda: slow("a"), "b": lambda: slow("b")}, seconds=0, least=3)
    assert calls[:8] == ["a"] * 4 + ["b"] * 4
    rounds = ["".join(calls[place : place + 6]) for place in (8, 14, 20)]
    assert len(calls) == 26 and set(rounds) == {"aaabbb", "bbbaaa"}, "not always behind the same"
    for timing in timings.values():
        assert timing.samples == 9, "three in a turn: the first meets the other's caches"
        assert 0.001 <= timing.best <= timing.median


def test_what_fills_the_caches_anew_takes_one_sample_in_a_turn() -> None:
    timings = interleave({"a": lambda: time.sleep(0.012)}, seconds=0, least=2)
    assert timings["a"].samples == 2


def test_fast_functions_are_called_often_in_one_sample() -> None:
    calls: list[int] = []
    timings = interleave({"fast": lambda: calls.append(1)}, seconds=0, least=2)
    assert len(calls) > 20
    assert timings["fast"].best < 1e-4


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.5 s"), (0.0125, "12.5 ms"), (3.21e-6, "3.21 us"), (4e-8, "40 ns")],
)
def test_units(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_tables_show_the_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("title", {"ours": Timing(1.0, 2.0, 3), "base": Timing(2.0, 2.0, 3)}, "base")
    assert " 2.00 x base" in capsys.readouterr().out
