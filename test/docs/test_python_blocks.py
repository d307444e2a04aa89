"""The Python blocks of pages that say so are run, in order, each page in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAID = "Every Python block of this page is run"
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if SAID in page.read_text()]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def program_of(page: Path) -> str:
    """The page's blocks, at the lines where they stand in it."""
    text = page.read_text()
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        for number, line in enumerate(block[1].splitlines()):
            lines[first + number] = line
    return "\n".join(lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_runs(page: Path, tmp_path: Path) -> None:
    program = tmp_path / f"{page.stem}.py"
    program.write_text(program_of(page))
    run = subprocess.run(
        [sys.executable, str(program)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]


def test_there_are_pages() -> None:
    assert [page.name for page in PAGES] == ["embedding.md", "open_sizes.md"]
