"""Templates and tables of source text, for the commands that scaffold."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from lamina.dialects.errors import InputError

TEMPLATES = Path(__file__).resolve().parent / "templates"


def project_root() -> Path:
    """The checkout this package runs from; `InputError` when it is installed elsewhere."""
    root = Path(__file__).resolve().parents[1]
    if not (root / "pyproject.toml").is_file() or not (root / "passes").is_dir():
        raise InputError("new: error: not a checkout of Lamina; install it with `pip install -e .`")
    return root


def fill(template: str, **values: str) -> str:
    """The text of a template file with its `$$names` replaced."""
    return Template((TEMPLATES / template).read_text()).substitute(values)


def write_new(path: Path, text: str) -> Path:
    """Write a file that does not exist yet; `InputError` when it does."""
    if path.exists():
        raise InputError(f"new: error: {path} exists")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def append_row(source: str, table: str, row: str) -> str:
    """`source` with `row` as the last of the dict, list or tuple literal called `table`."""
    found = re.search(rf"^( *){table}\b[^=\n]*=\s*[\[({{]\n.*?^\1[\])}}]", source, re.S | re.M)
    if found is None:
        raise InputError(f"new: error: no table {table} found to add a row to")
    end = source.rindex("\n", found.start(), found.end()) + 1
    return source[:end] + row + source[end:]
