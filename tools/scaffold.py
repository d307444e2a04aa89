"""Templates and tables of source text, for the commands that scaffold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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


def append_name(source: str, table: str, name: str) -> str:
    """`source` with a string added to the tuple of strings called `table`, one on each line."""
    found = re.search(rf"^( *){table}=\(([^()]*)\)", source, re.M)
    if found is None:
        raise InputError(f"new: error: no tuple {table} found to add a name to")
    indent = found[1]
    names = [*re.findall(r'"([^"]*)"', found[2]), name]
    rows = "".join(f'{indent}    "{row}",\n' for row in names)
    return f"{source[: found.start()]}{indent}{table}=(\n{rows}{indent}){source[found.end() :]}"


def with_imports(source: str, wanted: Mapping[str, Sequence[str]]) -> str:
    """`source` with `from module import names` for what it does not import by name yet."""
    for module, names in wanted.items():
        line = re.search(
            rf"^from {re.escape(module)} import (\(.*?\)|[^(\n]*)\n", source, re.M | re.S
        )
        have = re.findall(r"\w+", line[1]) if line else []
        missing = [name for name in names if name not in have]
        if not missing:
            continue
        both = ", ".join(sorted({*have, *missing}, key=lambda name: (name.islower(), name)))
        added = f"from {module} import {both}\n"
        if line is not None:
            source = source[: line.start()] + added + source[line.end() :]
        else:
            source = _insert_import(source, module, added)
    return source


def _insert_import(source: str, module: str, added: str) -> str:
    """Put an import where sorted imports would have it: xDSL's before Lamina's, both by name."""
    ours = module.startswith("lamina.")
    before = [
        line
        for line in re.finditer(r"^from (\S+) import (?:\(.*?\)|[^(\n]*)\n", source, re.M | re.S)
        if (line[1].startswith("lamina."), line[1]) < (ours, module)
    ]
    end = before[-1].end() if before else 0
    last = before[-1][1] if before else ""
    gap = "\n" if last == "__future__" or last.startswith("lamina.") != ours else ""
    return source[:end] + gap + added + source[end:]
