"""`calibrate`: figures from times that are made up, the file, and where it cannot be written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lamina.codegen.calibration import MEASURED, cpu_name, parse_figures
from lamina.codegen.target import Target
from lamina.dialects.errors import InputError
from lamina.tools import calibrate
from lamina.tools.calibrate import figures, file_text, footprints, main, table
from lamina.tools.machine_programs import (
    CHAIN_PAIRS,
    COPY_UNROLL,
    CYCLE_ROUNDS,
    TEAM_BODIES,
    TEAM_LANES,
    chain_text,
    compile_text,
    copy_text,
    team_text,
)

TIMES = {
    "cycle": 0.5e-9,
    "operation": 0.25e-9,
    "l2": 0.02e-9,
    "l3": 0.1e-9,
    "memory": 0.2e-9,
    "fork": 900e-9,
    "barrier": 150e-9,
}
FOUND = {
    "clock_hz": 2e9,
    "arithmetic_ports": 2.0,
    "l2_bytes_per_cycle": 25.0,
    "l3_bytes_per_cycle": 5.0,
    "memory_bandwidth": 5e9,
    "fork_nanoseconds": 900.0,
    "barrier_nanoseconds": 150.0,
}


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> list[Target]:
    """What `measure` would take; each target that it was asked for."""
    asked: list[Target] = []

    def measure(target: Target) -> Mapping[str, float]:
        asked.append(target)
        return TIMES

    monkeypatch.setattr(calibrate, "measure", measure)
    return asked


def test_figures_follow_from_times() -> None:
    assert figures(TIMES) == FOUND
    assert figures({"cycle": 0.5e-9, "l3": 0.1e-9}) == {"clock_hz": 2e9, "l3_bytes_per_cycle": 5.0}


def test_a_team_that_takes_less_than_none_takes_nothing() -> None:
    found = figures(TIMES | {"fork": -1e-9, "barrier": -1e-12})
    assert found["fork_nanoseconds"] == found["barrier_nanoseconds"] == 0


@pytest.mark.parametrize(
    ("times", "field"),
    [
        ({"cycle": 0.0}, "clock_hz=inf"),
        ({"cycle": 1.0}, "clock_hz=1.0"),
        ({"operation": 1e-3}, "arithmetic_ports"),
        ({"fork": 100.0}, "fork_nanoseconds"),
        ({"memory": float("nan")}, "memory_bandwidth|nan"),
    ],
)
def test_times_of_no_machine_are_refused(times: dict[str, float], field: str) -> None:
    with pytest.raises(InputError, match=f"measured ({field}).* is the machine busy"):
        figures(TIMES | times)


def test_the_file_is_what_targets_read() -> None:
    text = file_text(FOUND, 'a "CPU" \\ é')
    assert parse_figures(text.encode(), 'a "CPU" \\ é') == FOUND
    assert parse_figures(file_text({"clock_hz": 1e9}, "a").encode(), "a") == {"clock_hz": 1e9}


def test_figures_stand_beside_the_defaults_with_their_units() -> None:
    lines = table({"clock_hz": 2e9}).splitlines()
    assert len(lines) == 1 + len(MEASURED)
    assert lines[1].split() == ["clock_hz", "2e+09", "3.5e+09", "cycles", "a", "second"]
    assert lines[2].split()[:3] == ["arithmetic_ports", "-", "2"]


def test_the_file_is_written_whole_and_replaced(
    tmp_path: Path, times: list[Target], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("old and not TOML")
    assert main(["--output", str(path)]) == 0
    assert parse_figures(path.read_bytes(), cpu_name(times[0].cpu)) == FOUND
    assert os.listdir(tmp_path) == ["mine.toml"]
    assert f"written to {path}" in capsys.readouterr().out


@pytest.mark.usefixtures("times")
def test_the_usual_place_is_where_targets_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAMINA_TARGET_FILE")
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path / "not" / "yet"))
    assert main([]) == 0
    assert (tmp_path / "not" / "yet" / "target.toml").is_file()
    assert "LAMINA_TARGET_FILE" not in os.environ
    monkeypatch.setenv("LAMINA_TARGET_FILE", str(tmp_path / "named.toml"))
    assert main([]) == 0
    assert (tmp_path / "named.toml").is_file()


@pytest.mark.usefixtures("times")
def test_print_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAMINA_TARGET_FILE", str(tmp_path / "named.toml"))
    assert main(["--print"]) == 0
    assert not os.listdir(tmp_path)
    assert "written to" not in capsys.readouterr().out


def test_places_that_cannot_be_written_are_told_in_a_line_before_measuring(
    tmp_path: Path, times: list[Target], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    for bad in ("none/target.toml", "file/target.toml", "", "/dev/null"):
        path = str(tmp_path / bad) if bad != "/dev/null" else bad
        assert main(["--output", path]) == 1
        message = capsys.readouterr().err
        assert len(message.splitlines()) == 1 and path in message
        assert message.startswith("calibrate: error:")
    assert main([]) == 1, "LAMINA_TARGET_FILE is empty: there is no place"
    assert "give --output" in capsys.readouterr().err
    assert not times


def test_unknown_options_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--fast"]) == 1
    assert "--fast" in capsys.readouterr().err


def test_copies_are_as_large_as_their_level_asks() -> None:
    sizes = {"l1d_bytes": 1 << 15, "l2_bytes": 1 << 21, "l3_bytes": 1 << 25}
    target = replace(Target.parse("x86-64-v3"), **sizes)
    assert footprints(target, 1 << 36) == {"l2": 1 << 18, "l3": 1 << 23, "memory": 1 << 27}
    assert footprints(target, 1 << 28) == {"l2": 1 << 18, "l3": 1 << 23}, "too little memory"
    flat = replace(target, l3_bytes=1 << 21)
    assert "l3" not in footprints(flat, 1 << 36)


def test_the_programs_compute_what_they_say() -> None:
    target = Target.host()
    numbers, state = np.array([7, 3], np.int64), np.array([1], np.int64)
    program = compile_text(chain_text(), 2, target, openmp=False)
    program.call("main", [numbers.ctypes.data, state.ctypes.data])
    expected = 1
    for _ in range(CYCLE_ROUNDS * CHAIN_PAIRS):
        expected = (expected ^ 7) + 3
    assert state[0] == expected
    count = 3 * COPY_UNROLL * target.lanes(32)
    a, b = np.arange(count, dtype=np.float32), np.zeros(count + 1, np.float32)
    program = compile_text(copy_text(target, count, 2), 2, target, openmp=False)
    program.call("main", [a.ctypes.data, b.ctypes.data])
    np.testing.assert_array_equal(b[:-1], a)
    assert b[-1] == 0
    for body in TEAM_BODIES.values():
        a, b = (np.full((2, TEAM_LANES), x, np.float32) for x in (1, 2))
        a[1] = 5
        program = compile_text(team_text(body), 2, target, openmp=False)
        program.call("main", [a.ctypes.data, b.ctypes.data])
        assert (b == a[::-1]).all() and set(a[:, 0]) == {1, 5}
