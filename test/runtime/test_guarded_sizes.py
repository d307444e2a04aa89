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


@pytest.mark.parametrize(
    "arguments",
    [
        ("threads", "--some"),
        ("batches",),
        ("rows",),
        pytest.param(("threads",), marks=pytest.mark.long),
        pytest.param(("compile",), marks=pytest.mark.long),
    ],
    ids=" ".join,
)
def test_nothing_beyond_buffers_is_touched(arguments: tuple[str, ...]) -> None:
    done = outcome(*arguments)
    assert done.stdout.endswith("all ran\n"), (done.returncode, done.stdout, done.stderr[-2000:])


def test_what_is_beyond_ends_the_process() -> None:
    """Blocks for results that are one cache line short are noticed."""
    done = outcome("export", "--short")
    assert done.returncode < 0, done.stdout
