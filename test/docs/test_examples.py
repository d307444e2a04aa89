"""Examples that need no downloads run, and say what they are there to show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXTS = (".py", ".mlir", ".c")


def test_an_op_of_ones_own_takes_few_lines() -> None:
    assert len((ROOT / "examples" / "own_op.py").read_text().splitlines()) <= 60


def test_the_examples_are_short() -> None:
    files = [path for path in (ROOT / "examples").rglob("*") if path.suffix in TEXTS]
    lines = {path.name: len(path.read_text().splitlines()) for path in files}
    assert sum(lines.values()) <= 400, lines


@pytest.mark.parametrize(
    ("example", "shown"),
    [
        ("extern_kernel.py", "largest difference from NumPy: "),
        ("own_op.py", "equal to torch"),
        ("own_pass.py", "pow.Tensor_Scalar"),
    ],
)
def test_example(example: str, shown: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / example)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    assert shown in ran.stdout
