"""One sample of each op and module of torch's databases in f32 and i64: no failure, no crash.

What is refused stands in `refused.tsv`: a new refusal fails, and so does a row that is no longer
needed. `python test/conformance --quick --write-refused` writes the file anew.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The run; its processes are apart, so that no crash reaches pytest."""
    output = tmp_path_factory.mktemp("conformance") / "quick.jsonl"
    return subprocess.run(
        [sys.executable, str(HERE), "--quick", "--failures", "--check", "--output", str(output)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def test_nothing_fails_and_refusals_are_listed(report: subprocess.CompletedProcess[str]) -> None:
    assert report.returncode == 0, report.stdout + report.stderr
