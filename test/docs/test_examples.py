"""Examples that need no downloads run, and say what they are there to show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("example", "shown"),
    [
        ("extern_kernel.py", "largest difference from NumPy: "),
        ("own_pass.py", "pow.Tensor_Scalar"),
    ],
)
def test_example(example: str, shown: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / example)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    assert shown in ran.stdout
