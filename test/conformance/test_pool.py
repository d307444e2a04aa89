"""Runs survive crashes and hangs of a sample, and go on after they were ended."""

from __future__ import annotations

import json
from pathlib import Path

import pool
import pytest
import table
from pool import Record, Unit, run_units

WORKER = """
import json, os, signal, sys, time
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    unit = json.loads(line)
    for number in range(unit["start"], unit["stop"]):
        print(json.dumps({"begin": number}), flush=True)
        if unit["name"] == "crashes" and number == 1:
            print("out of luck", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        if unit["name"] == "hangs" and number == 1:
            time.sleep(600)
        print(json.dumps({"sample": number, "status": "passed"}), flush=True)
    print(json.dumps({"done": True}), flush=True)
"""
"""Takes units as the real worker does; sample 1 of two ops does not come back."""


@pytest.mark.parametrize("name", ["crashes", "hangs"])
def test_one_sample_is_lost(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    monkeypatch.setattr(pool, "WORKER", script)
    monkeypatch.setattr(pool, "SECONDS_PER_SAMPLE", 2.0)
    found: list[Record] = []
    units = [Unit(op, "f32", "export", 0, 3) for op in (name, "fine")]
    run_units(units, 1, lambda _, records: found.extend(records))
    assert [(r["op"], r["sample"], r["status"]) for r in found] == [
        (name, 0, "passed"),
        (name, 1, "crashed"),
        (name, 2, "passed"),
        ("fine", 0, "passed"),
        ("fine", 1, "passed"),
        ("fine", 2, "passed"),
    ]
    assert found[1]["reason"] in ("the process ended with -11: out of luck", "no answer in 2 s")


def _record(op: str, status: str) -> str:
    record = {"op": op, "dtype": "f32", "via": "export", "sample": 0, "status": status}
    return json.dumps(record) + "\n"


def _unit(op: str) -> str:
    return json.dumps({"unit": f"{op}/f32/export"}) + "\n"


def test_what_is_whole_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    whole = _record("abs", "passed") + _unit("abs") + _record("add", "failed") + _unit("add")
    file.write_text(whole + _record("all", "passed") + '{"op": "all", "dty')
    assert len(table.read(file)) == 3
    assert table.resume(file) == {"abs/f32/export", "add/f32/export"}
    assert file.read_text() == whole
    assert table.resume(file, ["failed"]) == {"abs/f32/export"}
    assert file.read_text() == _record("abs", "passed") + _unit("abs")
