"""The fuzzer finds what is wrong and makes it small; a few of its programs, which nothing fails."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from fuzzing.drawing import draw
from fuzzing.oracle import Oracle, run
from fuzzing.program import Line, Program, same_layout
from fuzzing.shrinking import shrunk
from fuzzing.values import LAYOUTS, laid_out

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def _lines(*texts: str) -> list[Line]:
    """Lines that define v0, v1, ..., each of the one before."""
    names = ["x", *(f"v{n}" for n in range(len(texts)))]
    return [Line(text.format(names[n]), names[n + 1], (names[n],)) for n, text in enumerate(texts)]


def test_programs_are_those_of_their_seed() -> None:
    for seed in range(5):
        assert draw(seed).repro() == draw(seed).repro()


def test_results_of_eager_mode_are_right() -> None:
    program = draw(11)
    assert Oracle(program).complaint(run(program, program.tensors())) is None


def test_a_wrong_element_is_seen() -> None:
    program = Program({"x": torch.linspace(-1, 1, 9)}, _lines("torch.exp({})"), ["v0"])
    actual = run(program, program.tensors())
    actual[0][4] *= 1 + 1e-4
    complaint = Oracle(program).complaint(actual)
    assert complaint is not None and complaint.startswith("v0: element [4] is 1.0001")


def test_a_lost_write_is_seen() -> None:
    lines = [Line("x.add_(1)", None, ("x",)), *_lines("{} * 2")]
    program = Program({"x": torch.ones(3)}, lines, ["v0"])
    result, _ = run(program, program.tensors())
    complaint = Oracle(program).complaint([result, torch.ones(3)])
    assert complaint is not None and complaint.startswith("x afterwards: element [0] is 1.0")


def test_lost_digits_are_no_mistake() -> None:
    """The sum of 1e8, 1 and -1e8 in f32 is 0 or 1, by order; a thousand is neither."""
    program = Program({"x": torch.tensor([1e8, 1.1, -1e8])}, _lines("{}.sum()"), ["v0"])
    oracle = Oracle(program)
    kept = program.tensors()
    assert oracle.complaint([torch.tensor(0.0), *kept]) is None
    assert oracle.complaint([torch.tensor(1.1), *kept]) is None
    assert oracle.complaint([torch.tensor(1000.0), *kept]) is not None


def test_what_is_made_of_nothing_is_as_wide_as_arguments() -> None:
    """exp(-110) is 0 in f32, and in f64 it is not."""
    lines = _lines(
        "torch.nn.functional.bilinear(torch.eye(1), {0}, torch.ones_like({0})[None])",
        "torch.nn.functional.mish({})",
        "{} == 0",
    )
    program = Program({"x": torch.tensor([[-110.0]])}, lines, ["v2"])
    oracle = Oracle(program)
    kept = program.tensors()
    assert oracle.complaint([torch.tensor([[True]]), *kept]) is None
    assert oracle.complaint([torch.tensor([[False]]), *kept]) is None


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_norm_whose_squares_overflow_may_be_its_bias(dtype: torch.dtype) -> None:
    """Eager mode has no number there, or the bias, by the lane that the largest element is in."""
    x = torch.linspace(-1, 1, 32, dtype=dtype).view(2, 16)
    x[1, 4] = torch.finfo(dtype).max
    lines = _lines("torch.nn.functional.layer_norm({}, [16], None, bias)")
    program = Program({"bias": torch.full((16,), 2.0, dtype=dtype), "x": x}, lines, ["v0"])
    oracle = Oracle(program)
    (made, *kept), other = run(program, program.tensors()), x.clone()
    other[0] = made[0]
    for value in (2.0, torch.nan):
        other[1] = value
        assert oracle.complaint([other, *kept]) is None
    other[0, 3] += 1
    assert oracle.complaint([other, *kept]) is not None


def test_a_pole_may_be_anything() -> None:
    """sqrt(2) squared is 2 but for its last digit, which decides size and sign of 1 / 0."""
    lines = _lines("torch.sqrt({})", "torch.square({})", "1 / ({} - 2)")
    program = Program({"x": torch.full((2,), 2.0)}, lines, ["v2"])
    oracle = Oracle(program)
    kept = program.tensors()
    assert oracle.complaint([torch.full((2,), -1e25), *kept]) is None
    assert oracle.complaint([torch.full((2,), torch.nan), *kept]) is not None


def test_a_remainder_is_that_of_a_number_in_double_precision() -> None:
    """Eager mode's vectors have none where the quotient overflows; 0.1 of f32 has another one."""
    program = Program(
        {"x": torch.full((9,), -1e308, dtype=torch.float64)}, _lines("{} % 0.1"), ["v0"]
    )
    actual = math.fmod(-1e308, 0.1) + 0.1
    oracle = Oracle(program)
    kept = program.tensors()
    assert oracle.complaint([torch.full((9,), actual).double(), *kept]) is None
    assert oracle.complaint([torch.full((9,), actual / 2).double(), *kept]) is not None


def test_an_element_that_is_the_mean_may_have_no_distance_from_it() -> None:
    """Eager mode has the difference of two roundings there, which is not counted as a zero."""
    x = torch.tensor([[5.0, 3, 1, 5, 3, 8, 7, -3, -1, -2, 6, 2, 1, -8, 4, 2, 1]]).bfloat16()
    lines = _lines("F.group_norm({}, 1)", "torch.count_nonzero({}, dim=1)")
    program = Program({"x": x[:, None]}, lines, ["v1"])
    oracle = Oracle(program)
    eager, kept = run(program, program.tensors())
    exact = torch.ones_like(eager)
    exact[0, 11] = exact[0, 15] = 0
    assert oracle.complaint([exact, kept]) is None
    exact[0, 0] = 0
    assert oracle.complaint([exact, kept]) is not None


def test_neighbours_may_be_equal() -> None:
    """exp of numbers that are a unit apart: their deviation is about a unit, or nothing."""
    x = torch.full((8,), 0.7)
    x[3] = torch.nextafter(x[3], torch.tensor(1.0))
    program = Program({"x": x}, _lines("torch.exp({})", "{}.std()", "v1 / {}"), ["v2"])
    oracle = Oracle(program)
    kept = program.tensors()
    assert oracle.complaint([torch.tensor(torch.nan), *kept]) is None
    assert oracle.complaint([torch.tensor(2.0), *kept]) is not None


def test_arguments_grow_where_the_program_takes_it() -> None:
    program = Program({"x": torch.arange(6.0).view(2, 3)}, _lines("{}.sum(0)"), ["v0"])
    grown = program.grown(1)  # the second size, 3, by the second growth, 2
    assert grown is not None
    assert grown.arguments["x"].tolist() == [[0, 1, 2, 0, 1], [3, 4, 5, 3, 4]]
    fixed = Program(program.arguments, _lines("{}.view(3, 2)"), ["v0"])
    assert fixed.grown(1) is None


def test_failures_become_small() -> None:
    lines = _lines("{} + 1", "torch.exp({})", "{}.t()", "torch.sinh({})", "{} * 3")
    program = Program({"x": torch.randn(3, 4)}, lines, ["v4", "v1"])
    small = shrunk(program, lambda p: "sinh" in p.source(), lambda: False)
    assert small.source() == "def program(v2):\n    v3 = torch.sinh(v2)\n    return (v3,)\n"
    assert bool((small.arguments["v2"] == 1).all())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_keep_strides(layout: str) -> None:
    value = laid_out(torch.randn(3, 5), layout)
    copy = same_layout(value)
    assert copy.stride() == value.stride() and torch.equal(copy, value)


def _fuzz(cases: int, seed: int, output: Path) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, str(HERE / "fuzz.py"), "--output", str(output)]
    return subprocess.run(
        [*script, "--cases", str(cases), "--seed", str(seed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )


def test_no_program_fails(tmp_path: Path) -> None:
    done = _fuzz(16, 0, tmp_path / "fuzz.jsonl")
    assert "failed" not in done.stdout and "crashed" not in done.stdout, done.stdout + done.stderr


@pytest.mark.long
def test_no_program_of_many_fails(tmp_path: Path) -> None:
    done = _fuzz(10_000, 1, tmp_path / "fuzz.jsonl")
    assert done.returncode == 0, done.stdout + done.stderr
