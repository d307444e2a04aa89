"""Programs with open sizes between pages that may not be touched: arguments, results, scratch.

A child process has our memory, and that of arguments, each end where such a page begins. A write
or read behind it ends the process, at once and not when the heap is next looked at.
"""

import subprocess
import sys
from pathlib import Path

import pytest

GUARDED = Path(__file__).with_name("guarded_sizes.py")


def outcome(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The end of a process that runs programs between guard pages."""
    return subprocess.run(
        [sys.executable, str(GUARDED), *arguments],
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )


@pytest.fixture(scope="module")
def short_run() -> subprocess.CompletedProcess[str]:
    """The end of one process for all that the short run has: imports are a third of its time."""
    return outcome("threads", "batches", "rows", "sums", "groups", "--some")


@pytest.mark.parametrize("how", ["threads", "batches", "rows", "sums", "groups"])
def test_nothing_beyond_buffers_is_touched(
    how: str, short_run: subprocess.CompletedProcess[str]
) -> None:
    said = short_run.stdout, short_run.returncode, short_run.stderr[-2000:]
    assert f"{how} ran" in short_run.stdout.splitlines(), said


@pytest.mark.long
@pytest.mark.parametrize("how", ["threads", "batches", "compile"])
def test_all_programs(how: str) -> None:
    done = outcome(how)
    said = done.stdout, done.returncode, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1:] == [f"{how} ran"], said


def test_what_is_beyond_ends_the_process() -> None:
    """Blocks for results that are one cache line short are noticed."""
    done = outcome("export", "--short")
    assert done.returncode < 0, done.stdout
