"""Size, docstrings and names of the project's files."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = ("codegen", "dialects", "frontends", "lowering", "passes", "runtime", "tools")
OTHER = ("test", "bench", "examples")
LINES_AT_MOST = 400
LINES_EVER = 800
TABLE = re.compile(r"(^|_)(table|tables|schemas|ops_table)(_|\.py$)")
"""Files that are tables and not code may be long."""

LONGER_FOR_A_REASON: dict[str, str] = {}
"""Path to the reason why it is over the limit; `LINES_EVER` holds for it as well."""

SOURCES = sorted(p for folder in CODE for p in (ROOT / folder).rglob("*.py"))
EVERYTHING = SOURCES + sorted(p for folder in OTHER for p in (ROOT / folder).rglob("*.py"))


def identify(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", EVERYTHING, ids=identify)
def test_file_is_short(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    if TABLE.search(path.name):
        return
    assert lines <= LINES_EVER
    assert lines <= LINES_AT_MOST or identify(path) in LONGER_FOR_A_REASON, "split it by family"


def test_recorded_long_files_exist() -> None:
    for name in LONGER_FOR_A_REASON:
        assert len((ROOT / name).read_text().splitlines()) > LINES_AT_MOST, f"{name}: drop the row"


def undocumented(tree: ast.Module) -> Iterator[str]:
    """Public classes and functions without a docstring, and methods of classes without bases
    (an override is documented where it is first declared)."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name.startswith("_"):
            continue
        if ast.get_docstring(node) is None:
            yield node.name
        if isinstance(node, ast.ClassDef) and not node.bases:
            for method in node.body:
                if (
                    isinstance(method, ast.FunctionDef)
                    and not method.name.startswith("_")
                    and ast.get_docstring(method) is None
                    and not any(getattr(d, "id", "") == "overload" for d in method.decorator_list)
                ):
                    yield f"{node.name}.{method.name}"


@pytest.mark.parametrize("path", SOURCES, ids=identify)
def test_public_names_have_docstrings(path: Path, syntax_of: Callable[[Path], ast.Module]) -> None:
    tree = syntax_of(path)
    if path.name != "__init__.py" or tree.body:
        assert ast.get_docstring(tree), "the module says what it is for"
    assert list(undocumented(tree)) == []


@pytest.mark.parametrize("path", SOURCES, ids=identify)
def test_signatures_have_types(path: Path, syntax_of: Callable[[Path], ast.Module]) -> None:
    for node in ast.walk(syntax_of(path)):
        if not isinstance(node, ast.FunctionDef):
            continue
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        bare = [a.arg for a in arguments if a.annotation is None and a.arg not in ("self", "cls")]
        assert not bare, f"line {node.lineno}: {node.name}({', '.join(bare)})"
        assert node.returns is not None, f"line {node.lineno}: {node.name} has no result type"


@pytest.mark.parametrize("path", SOURCES, ids=identify)
def test_names_say_what_is_inside(path: Path) -> None:
    assert path.stem not in ("utils", "util", "helpers", "misc", "common")
    assert path.stem == "__init__" or re.fullmatch(r"[a-z][a-z0-9_]*", path.stem)


def test_folders_of_tests_are_no_packages() -> None:
    """A `test` package would hide the standard library's."""
    assert not list((ROOT / "test").rglob("__init__.py"))


def test_tests_mirror_the_source_folders() -> None:
    allowed = {*CODE, *OTHER, "meta", "interpreters", "end_to_end", "docs", "data", "conformance"}
    assert {path.name for path in (ROOT / "test").iterdir() if path.is_dir()} - {
        "__pycache__",
        "Output",
    } <= allowed


@pytest.mark.parametrize(
    "path", sorted((ROOT / "test").rglob("*.mlir")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_lit_file_runs_something(path: Path) -> None:
    """A FileCheck file without a RUN line would pass unseen; one without CHECK checks nothing."""
    text = path.read_text()
    assert "RUN:" in text
    assert re.search(r"CHECK[A-Z_-]*:|--check-prefix|%roundtrip|%invalid|expected-error@", text)


@pytest.mark.parametrize("layer", CODE)
def test_every_source_folder_is_a_package(layer: str) -> None:
    """A folder without `__init__.py` would be missing from the wheel."""
    for folder in {path.parent for path in (ROOT / layer).rglob("*.py")}:
        assert (folder / "__init__.py").is_file(), identify(folder)
