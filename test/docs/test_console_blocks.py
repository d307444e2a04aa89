"""Every `console` block of the documentation is run, and must print what it shows.

In a block, a line with `$ ` is a shell command, run from the root of the project; what follows is
its output, standard error included. A line of only `...` stands for any lines, `...` elsewhere for
the rest of its line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.M | re.S)


def steps() -> list[tuple[str, str, str]]:
    """Page, command and expected output of each command."""
    found = []
    for page in PAGES:
        for block in BLOCK.findall(page.read_text()):
            for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, output = step.partition("\n")
                found.append((page.name, command, output))
    return found


def matches(expected: str, actual: str) -> bool:
    """Equal up to blank ends, with `...` for what may differ."""
    pieces = re.split(r"^ *\.\.\.\n", expected.strip() + "\n", flags=re.M)
    pattern = "(?:.*\n)*?".join(re.escape(piece) for piece in pieces)
    pattern = re.sub(r"(?:\\\.){3}\\?\n", ".*\n", pattern)
    return re.fullmatch(pattern, actual.strip() + "\n") is not None


@pytest.mark.parametrize(("page", "command", "expected"), steps())
def test_command_prints_what_the_page_says(page: str, command: str, expected: str) -> None:
    tools = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": tools + os.pathsep + os.environ["PATH"]}
    run = subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert matches(expected, run.stdout), f"{page}: $ {command}\n{run.stdout}"


def test_there_are_commands() -> None:
    assert {page for page, _, _ in steps()} >= {"README.md"}


@pytest.mark.parametrize(
    ("expected", "actual", "equal"),
    [
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...\nd", "a\nd", True),
        ("a\nd", "a\nb\nd", False),
        ("...\nd", "a\nd\ne", False),
        ("ab...\nd", "abc\nd", True),
        ("ab...\nd", "abc\nx\nd", False),
    ],
)
def test_matching(expected: str, actual: str, equal: bool) -> None:
    assert matches(expected, actual) is equal
