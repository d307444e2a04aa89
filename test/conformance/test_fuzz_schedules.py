"""Schedules that are given by hand: refused where they stand, or right, for every class."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "passes"))

from fuzz_schedules import TARGETS, failures, run
from schedules.perturbing import Entry, perturbed, text_of
from schedules.programs import PROGRAMS
from schedules.trial import Trial, trial

CASES = 16
"""Of a program in each run of the tests."""
LONG_RUN_EVERY = 41
"""Of the cases, each of 0.1 to 0.4 s: half an hour. A prime, so that all clauses come."""
SAMPLE = (
    "chain",
    "transpose",
    "softmax",
    "row sums",
    "column sums",
    "average pooling",
    "product",
    "short attention",
    "sort",
    "running sums of columns",
    "fourier",
)


@pytest.mark.parametrize("name", SAMPLE)
def test_some_schedules_of_a_program(name: str) -> None:
    judged = trial(name, "x86-64-v3")
    count = sum(1 for _ in judged.cases())
    verdicts = [
        judged.judge(case, in_text=number % 4 == 0)
        for number, case in enumerate(islice(judged.cases(), 0, None, -(-count // CASES)))
    ]
    assert not [verdict["reason"] for verdict in verdicts if verdict["status"] == "failed"]
    counts = Counter(verdict["status"] for verdict in verdicts)
    assert counts["refused"] and counts["passed"], counts


@pytest.mark.long
def test_many_schedules_of_all_programs() -> None:
    records = run(list(PROGRAMS), TARGETS, every=LONG_RUN_EVERY, jobs=2)
    assert not failures(records)


def test_each_clause_is_changed_and_left_out() -> None:
    rows = Entry("loop.rows", {"parallel": "parallel"})
    nest = Entry("loop.schedule", {"vectorize": "vectorize = d1 x 8"}, (37, 70))
    texts = [text_of(schedule) for schedule in perturbed((rows, nest), [], "seed")]
    for expected in (
        "[#loop.rows<>,\n#loop.schedule<vectorize = d1 x 8>]",
        "[#loop.rows<parallel>,\n#loop.schedule<>]",
        "[#loop.rows<parallel>,\n#loop.schedule<vectorize = d2 x 8>]",
        "[#loop.rows<parallel>,\n#loop.schedule<vectorize = d1 x 8, tile = d1 x 71>]",
        "[#loop.rows<parallel = false>,\n#loop.schedule<vectorize = d1 x 8>]",
        "[#loop.schedule<vectorize = d1 x 8>,\n#loop.rows<parallel>]",
        "[#loop.rows<parallel>]",
    ):
        assert expected in texts, expected


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = Trial("chain", "x86-64-v3")
    ((kernel, schedule),) = judged.schedules.items()
    assert judged.judge((kernel, schedule))["status"] == "passed"
    monkeypatch.setattr(judged, "wanted", [np.asarray(judged.wanted[0]) * 3])
    assert judged.judge((kernel, schedule))["reason"].startswith("wrong: ")


def test_a_clause_that_is_lost_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = Trial("chain", "x86-64-v3")
    ((kernel, schedule),) = judged.schedules.items()
    other = (schedule[0], schedule[1].changed("unroll", "unroll = 2"))
    monkeypatch.setattr("schedules.trial.schedule_text", lambda _: text_of(schedule))
    verdict = judged.judge((kernel, other), in_text=False)
    assert verdict["reason"] == "unroll = 2 has become unroll = 1"


def test_an_internal_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("x")

    judged = Trial("chain", "x86-64-v3")
    monkeypatch.setattr("schedules.trial.compile_module", broken)
    assert judged.judge(next(judged.cases()))["reason"].endswith("KeyError: 'x'")
