"""Figures of a target: as options, in its key, and from the file that `calibrate` writes."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import warnings
from dataclasses import fields, replace
from pathlib import Path

import pytest

from lamina.codegen import target as module
from lamina.codegen.calibration import (
    MEASURED,
    MOST_BYTES,
    calibration_path,
    cpu_name,
    measured,
    parse_figures,
)
from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.errors import InputError

BASE = Target.parse("x86-64-v4")
HERE = cpu_name(Target.host().cpu)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "target.toml"
    monkeypatch.setenv("LAMINA_TARGET_FILE", str(path))
    return path


def written(file: Path, text: str, cpu: str = HERE) -> None:
    file.write_text(f'cpu = "{cpu}"\n{text}\n')


@pytest.mark.parametrize("name", MEASURED)
def test_figures_are_options_and_part_of_the_key(name: str) -> None:
    value = 2 * getattr(BASE, name)
    made = Target.parse(f"x86-64-v4;{name}={value}")
    assert getattr(made, name) == value and made == replace(BASE, **{name: value})
    assert Target.parse(made.spelled) == made
    assert made.key() != BASE.key()


def test_numbers_have_exponents_and_whole_ones_are_taken() -> None:
    assert Target.parse("x86-64-v4;clock_hz=3e9").clock_hz == 3e9
    assert Target.parse("x86-64-v4;memory_bandwidth=1.25e+10").memory_bandwidth == 1.25e10
    made = Target.parse("x86-64-v4;arithmetic_ports=1")
    assert Roofline.of(made).peak_flops == Roofline.of(BASE).peak_flops / 2


@pytest.mark.parametrize("value", ["", "fast", "nan", "inf", "-1", "1_0", " 3e9", "0x10", "٣"])
def test_what_is_no_number_is_refused(value: str) -> None:
    with pytest.raises(InputError, match=r"clock_hz=.* is no float"):
        Target.parse(f"x86-64-v4;clock_hz={value}")


@pytest.mark.parametrize("name", MEASURED)
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, 1e300])
def test_what_no_machine_has_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"target x86-64-v4: {name}=.* is not from"):
        replace(BASE, **{name: value})


def test_every_figure_is_a_field_whose_default_fits() -> None:
    floats = {field.name for field in fields(Target) if field.type is float}
    assert floats == set(MEASURED)


def test_the_host_has_the_figures_of_its_file(file: Path) -> None:
    written(file, "clock_hz = 2_000_000_000\nmemory_bandwidth = 7.5e9  # bytes a second")
    host = module._host.__wrapped__()
    assert (host.clock_hz, host.memory_bandwidth) == (2e9, 7.5e9)
    assert host.fork_nanoseconds == BASE.fork_nanoseconds
    assert host.key() != Target.host().key() and host.name == "host"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("clock_hz = 0", "clock_hz=0 is not from 1e[+]07 to 1e[+]11"),
        ("clock_hz = 1" + 400 * "0", "clock_hz=1000.* is not from"),
        ("l2_bytes_per_cycle = nan", "l2_bytes_per_cycle=nan is not from"),
        ("memory_bandwidth = inf", "memory_bandwidth=inf is not from"),
        ("fork_nanoseconds = -5.0", "fork_nanoseconds=-5.0 is not from 0 to"),
        ('barrier_nanoseconds = "200"', "barrier_nanoseconds='200' is no number"),
        ("arithmetic_ports = true", "arithmetic_ports='True' is no number"),
        ("arithmetic_ports = [2]", "arithmetic_ports=.* is no number"),
        ("clock = 3e9", "there is no field 'clock'"),
        ("cores = 4", "there is no field 'cores'"),
        ("clock_hz = ", "line 2"),
        ("clock_hz = 3e9\nclock_hz = 3e9", "line 3"),
    ],
)
def test_bad_files_are_told_by_file_and_field_and_not_used(
    file: Path, text: str, reason: str
) -> None:
    written(file, f"{text}\nl3_bytes_per_cycle = 1.0")
    with pytest.warns(UserWarning, match=reason) as said:
        assert measured(Target.host().cpu) == {}
    assert len(said) == 1 and str(file) in str(said[0].message)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "cpu is missing"),
        (b"clock_hz = 3e9", "cpu is missing"),
        (b"cpu = 3", "cpu='3' is where it was measured"),
        (b"\xff\xfe", "utf-8"),
        (b"#" * (MOST_BYTES + 1), "more than"),
        (b"cpu = " + b"[" * 20_000, "line 1|nested"),
    ],
)
def test_what_is_no_such_file_is_a_value_error(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_figures(data, "any")


def test_figures_of_another_cpu_are_not_used(file: Path) -> None:
    written(file, "clock_hz = 2e9", "z80, Zilog")
    with pytest.warns(UserWarning, match="cpu='z80, Zilog' is where it was measured, and this is"):
        assert measured(Target.host().cpu) == {}


def test_a_file_that_is_named_must_be_there_the_usual_one_need_not(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.warns(UserWarning, match="there is no such file"):
        assert measured("any") == {}
    monkeypatch.setenv("LAMINA_TARGET_FILE", str(file.parent))
    with pytest.warns(UserWarning, match="directory"):
        assert measured("any") == {}
    monkeypatch.delenv("LAMINA_TARGET_FILE")
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(file.parent / "cache"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert measured("any") == {}


def test_where_the_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_TARGET_FILE", "/somewhere/my.toml")
    assert calibration_path() == Path("/somewhere/my.toml")
    monkeypatch.setenv("LAMINA_TARGET_FILE", "")
    assert calibration_path() is None
    monkeypatch.delenv("LAMINA_TARGET_FILE")
    monkeypatch.setenv("LAMINA_CACHE_DIR", "/elsewhere")
    assert calibration_path() == Path("/elsewhere/target.toml")
    for name in ("LAMINA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "")
    assert calibration_path() is None


SCRIPT = """
import lamina
from lamina.codegen.target import Target
text = '''func.func @main(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %0 = aten.tanh.default(%x) : (tensor<65536xf32>) -> tensor<65536xf32>
  func.return %0 : tensor<65536xf32>
}'''
for _ in range(2):
    print("loop.team" in lamina.compile(text).ir("scheduled"), Target.host().fork_nanoseconds)
"""


def run(file: Path) -> subprocess.CompletedProcess[str]:
    """A process that compiles twice with `file`, and a disk cache beside it."""
    environment = {
        **os.environ,
        "LAMINA_TARGET_FILE": str(file),
        "LAMINA_CACHE_DIR": str(file.parent / "cache"),
    }
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )


def test_programs_are_planned_by_the_file_and_told_apart_by_it(tmp_path: Path) -> None:
    slow, bad = tmp_path / "slow.toml", tmp_path / "bad.toml"
    written(slow, "fork_nanoseconds = 1e8")
    written(bad, "fork_nanoseconds = 1e99")
    assert run(slow).stdout.split() == 2 * ["False", "100000000.0"]
    ended = run(bad)
    assert ended.stdout.split() == 2 * ["True", "1200.0"]
    assert ended.stderr.count("UserWarning: lamina: calibration") == 1
    assert str(bad) in ended.stderr and "fork_nanoseconds=1e+99" in ended.stderr
